// One row of the packet list, and one rung of the ladder.

const ARROWS = ["\u00b7", "\u2192", "\u2190"];
const SIGNS = { [GAP]: "\u2260", [REMARK]: "i", [CLOSED]: "\u25a0" };
const LONGEST = 300; // characters of a topic in a row; the detail view shows all of it
const NAME_LENGTH = 9; // characters of a file name in a row
const ENDS = ["", "client", "server"];
const SENT_BY = ["", "client to server", "server to client"];

function badge(row) {
  if (!row.worst) return null;
  const count = row.findings.length > 1 ? ` ${row.findings.length}` : "";
  const title = `${SEVERITIES[row.worst]}: ${row.findings[0].message}`;
  return make("span", { class: `badge s${row.worst}`, title }, `${MARKS[row.worst]}${count}`);
}

function timeOf(row) {
  return row.time === null ? "" : seconds(row.time);
}

function caller(connection) {
  return connection.name || connection.client || `connection ${connection.number}`;
}

function subject(row) {
  if (row.topic === null) return null;
  return row.topic.length > LONGEST ? `${row.topic.slice(0, LONGEST)}\u2026` : row.topic || "(empty topic)";
}

// The facts of a PUBLISH besides its topic and payload, short enough for the list.
function marksOf({ flags }) {
  const marks = flags < 0 ? [] : [`QoS ${(flags >> 1) & 3}`, flags & RETAIN ? "RETAIN" : "", flags & DUP ? "DUP" : ""];
  return marks.filter(Boolean).join(" ");
}

// The text of a row for screen readers.
function spoken(row) {
  const found = row.worst ? `, ${SEVERITIES[row.worst]}: ${row.findings.map((each) => each.message).join("; ")}` : "";
  const said = [row.word, subject(row), row.summary, row.traits.flags & RETAIN && row.traits.flags > 0 ? "RETAIN" : "", row.preview].filter(Boolean).join(", ");
  return `${row.number + 1}: ${said}, ${SENT_BY[row.direction] || "direction unknown"}, ${caller(row.connection)}${found}`;
}

function option(row, place, count, chosen, name) {
  return make("div", {
    class: `${name}${chosen ? " chosen" : ""}${row.worst ? ` has s${row.worst}` : ""}`,
    role: "option", id: `row-${row.number}`, "aria-selected": String(chosen), "aria-label": spoken(row),
    "aria-setsize": count, "aria-posinset": place + 1, data: { row: row.number, kind: row.kind },
  });
}

// The end of a file name, which differs in a series of captures.
function ending(file) {
  const name = file.replace(/(?:\.(?:pcap|pcapng|cap|log|txt|gz|zst))+$/i, "") || file;
  return name.length > NAME_LENGTH ? `\u2026${name.slice(1 - NAME_LENGTH)}` : name;
}

function listRow(row, place, count, chosen) {
  const element = option(row, place, count, chosen, "row");
  const published = row.traits.flags >= 0;
  const topic = row.topic === null ? null : make("span", { class: "topic" }, subject(row));
  const { file } = row.connection;
  element.dataset.published = published;
  element.append(...[
    make("span", { class: "number" }, String(row.number + 1)),
    file ? make("span", { class: "file", title: file }, ending(file)) : null,
    make("span", { class: "time" }, timeOf(row)),
    make("span", { class: `arrow d${row.direction}` }, SIGNS[row.kind] ?? ARROWS[row.direction]),
    make("span", { class: "caller", title: caller(row.connection), data: file ? { file } : {} }, caller(row.connection)),
    make("span", { class: "word" }, row.word),
    make("span", { class: "about" }, topic, topic ? " " : null, make("span", { class: "facts" }, row.summary, published && row.traits.flags & RETAIN ? "  RETAIN" : ""), " ",
      published ? make("span", { class: "preview" }, row.preview ?? "") : null),
    make("span", { class: "marks" }, marksOf(row.traits)),
    make("span", { class: "size" }, row.kind === PACKET ? `${row.length.toLocaleString("en")} B` : ""),
    badge(row) ?? make("span", { class: "badge" }),
  ].filter(Boolean));
  return element;
}

function ladderRow(row, previous, place, count, chosen, kin) {
  const element = option(row, place, count, chosen, `rung d${row.direction}${kin ? " kin" : ""}`);
  const gap = previous && previous.time !== null && row.time !== null ? row.time - previous.time : null;
  const word = make("span", { class: "word" }, row.kind === PACKET ? row.word : "");
  const topic = row.topic === null ? null : make("span", { class: "topic" }, subject(row));
  const say = make("span", { class: "say" }, badge(row), word, topic, make("span", { class: "facts" }, row.summary));
  element.append(
    make("span", { class: "time" }, timeOf(row)),
    make("span", { class: "rails" }, say, make("span", { class: "line" })),
    make("span", { class: "later" }, gap === null || gap < 0 ? "" : `+${lasting(gap)}`),
  );
  return element;
}
