// One row of the packet list, and one rung of the ladder.

const ARROWS = ["\u00b7", "\u2192", "\u2190"];
const SIGNS = { [GAP]: "\u2260", [REMARK]: "i", [CLOSED]: "\u25a0" };
const LONGEST = 300; // characters of a topic in a row; the packet itself shows all of it
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

// All that a row says, for those who hear it.
function spoken(row) {
  const found = row.worst ? `, ${SEVERITIES[row.worst]}: ${row.findings.map((each) => each.message).join("; ")}` : "";
  const said = [row.word, subject(row), row.summary].filter(Boolean).join(", ");
  return `${row.number + 1}: ${said}, ${SENT_BY[row.direction] || "direction unknown"}, ${caller(row.connection)}${found}`;
}

function option(row, place, count, chosen, name) {
  return make("div", {
    class: `${name}${chosen ? " chosen" : ""}${row.worst ? ` has s${row.worst}` : ""}`,
    role: "option", id: `row-${row.number}`, "aria-selected": String(chosen), "aria-label": spoken(row),
    "aria-setsize": count, "aria-posinset": place + 1, data: { row: row.number, kind: row.kind },
  });
}

function listRow(row, place, count, chosen) {
  const element = option(row, place, count, chosen, "row");
  const topic = row.topic === null ? null : make("span", { class: "topic" }, subject(row));
  element.append(
    make("span", { class: "number" }, String(row.number + 1)),
    make("span", { class: "time" }, timeOf(row)),
    make("span", { class: `arrow d${row.direction}` }, SIGNS[row.kind] ?? ARROWS[row.direction]),
    make("span", { class: "word" }, row.word),
    make("span", { class: "about" }, topic, topic ? " " : null, make("span", { class: "facts" }, row.summary)),
    make("span", { class: "caller" }, caller(row.connection) === row.summary ? "" : caller(row.connection)),
    badge(row) ?? make("span"),
  );
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
