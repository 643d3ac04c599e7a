// The language of --filter, as on the command line; one table of cases is run against both.
// Words that are not terms are searched for in the whole text of a row, which the command line does not do.

const LANGUAGE = JSON.parse(document.getElementById("language").textContent);
const WORD = /\s*(?:([,!])|((?:"(?:[^"\\]|\\.)*"|[^\s,!"])(?:"(?:[^"\\]|\\.)*"|[^\s,"])*))/suy;
const QUOTED = /"((?:[^"\\]|\\.)*)"/gsu;
const KEY = /^([a-z]+)=/;
const NUMBER = /^(?:[0-9]{1,30}|0[xX][0-9a-fA-F]{1,30})$/;
const DUP = 8, RETAIN = 1;

class BadFilter extends Error {}

function wrong(place, message) {
  return new BadFilter(`character ${place + 1}: ${message}`);
}

// A value as Python's repr shows it, because the command line prints that.
function named(value) {
  const mark = value.includes("'") && !value.includes('"') ? '"' : "'";
  const inner = value.replace(UNSEEN_OR_QUOTED, (each) => (each === '"' ? each : visible(each)));
  return `${mark}${mark === "'" ? inner.replaceAll("'", "\\'") : inner}${mark}`;
}

// The words and marks of a query, each with its start, in characters as Python counts them.
function wordsOf(text) {
  const stop = text.trimEnd();
  const words = [];
  for (let start = 0; start < stop.length; start = WORD.lastIndex) {
    WORD.lastIndex = start;
    const found = WORD.exec(stop);
    const begin = found ? WORD.lastIndex - (found[1] ?? found[2]).length : start + stop.slice(start).search(/\S/);
    const place = [...text.slice(0, begin)].length;
    if (!found) throw wrong(place, "a quotation mark is not closed");
    words.push({ word: found[1] ?? found[2], place, begin, stop: WORD.lastIndex });
  }
  return words;
}

function unquoted(value) {
  return value.replace(QUOTED, (_, inner) => inner.replace(/\\(.)/gsu, "$1"));
}

class Parser {
  constructor(text, search) {
    this.words = wordsOf(text);
    this.search = search;
    this.end = [...text].length;
    this.at = 0;
  }

  get next() {
    return this.words[this.at]?.word ?? "";
  }

  get place() {
    return this.words[this.at]?.place ?? this.end;
  }

  take() {
    const word = this.next;
    this.at += 1;
    return word;
  }

  // Lists of tests: one test of each list must be true.
  groups() {
    const groups = [];
    while (this.next) {
      const tests = [this.term()];
      while (this.next === ",") {
        this.take();
        tests.push(this.term());
      }
      groups.push(tests);
    }
    return groups;
  }

  term() {
    let turned = false;
    while (this.next === "!") {
      this.take();
      turned = !turned;
    }
    const { place } = this;
    const word = this.take();
    if (word === "" || word === ",") throw wrong(place, "a term is missing");
    const test = KEY.test(word) ? this.valued(word, place) : FLAGS.get(word) ?? this.search(word, unquoted(word));
    return turned ? (row) => !test(row) : test;
  }

  valued(word, place) {
    const key = KEY.exec(word)[1];
    if (!TERMS.has(key)) throw wrong(place, `${named(`${key}=`)} is not a term (${TERM_NAMES.join(", ")})`);
    const tests = [made(key, word.slice(key.length + 1), place + key.length + 1)];
    while (this.next === "," && this.isValue()) {
      this.take();
      const at = this.place;
      tests.push(made(key, this.take(), at));
    }
    return tests.length === 1 ? tests[0] : (row) => tests.some((test) => test(row));
  }

  // Whether the comma is followed by another value, not by another term.
  isValue() {
    const after = this.words[this.at + 1]?.word ?? "";
    return !["", ",", "!"].includes(after) && !FLAGS.has(after) && !KEY.test(after);
  }
}

function made(key, value, place) {
  try {
    return TERMS.get(key)(unquoted(value));
  } catch (error) {
    if (error instanceof BadFilter) throw wrong(place, error.message);
    throw error;
  }
}

function typed(value) {
  const event = LANGUAGE.events.indexOf(value.toLowerCase());
  if (event >= 0) return (row) => row.kind === event + 1;
  const type = value.toUpperCase();
  if (!LANGUAGE.types.includes(type)) throw new BadFilter(`${named(value)} is not a packet type (${[...LANGUAGE.types, ...LANGUAGE.events].join(", ")})`);
  return (row) => row.kind === PACKET && row.word === type;
}

// Text from peers is shown with escapes, so a search term gets the same escapes.
function escaped(text) {
  return text.replace(UNSEEN_OR_QUOTED, (each) => (each === '"' ? each : visible(each)));
}

function topical(value) {
  const bad = value.split("/").some((level, at, all) => (level === "#" && at < all.length - 1) || (level.length > 1 && /[#+]/.test(level)));
  if (bad || !value) throw new BadFilter(`${named(value)} is not a Topic Filter`);
  const pattern = escaped(value).split("/");
  return (row) => (row.topic !== null && row.word === "PUBLISH" ? [row.topic] : row.traits.topics).some((topic) => covers(pattern, topic.split("/")));
}

function covers(pattern, topic) {
  if (topic[0].startsWith("$") && (pattern[0] === "+" || pattern[0] === "#")) return false;
  for (let at = 0; at < pattern.length; at += 1) {
    if (pattern[at] === "#") return true;
    if (at === topic.length || (pattern[at] !== "+" && pattern[at] !== topic[at])) return false;
  }
  return pattern.length === topic.length;
}

// Bytes as characters up to 255, so that a string can be searched for in them.
function binary(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return text;
}

function payloadTest(value) {
  const parts = value.startsWith("hex:") ? [pairs(value.slice(4))] : value.split("*").map((part) => binary(new TextEncoder().encode(part)));
  if (parts.includes(null) || (parts.length === 1 && !parts[0])) throw new BadFilter(`${named(value)} is not a payload (text, or hex: and two digits for each byte)`);
  return (row) => row.payload !== null && inTurn(parts, row.payload());
}

function pairs(digits) {
  const found = digits.trim().match(/^(?:[0-9a-f]{2}\s*)+$/i);
  return found ? digits.replace(/\s/g, "").replace(/../g, (pair) => String.fromCharCode(parseInt(pair, 16))) : null;
}

function inTurn(parts, text) {
  let at = 0;
  for (const part of parts) {
    at = text.indexOf(part, at);
    if (at < 0) return false;
    at += part.length;
  }
  return true;
}

function client(value) {
  const parts = escaped(value).split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const pattern = new RegExp(`^(?:${parts.join(".*")})$`, "s");
  return ({ connection }) => pattern.test(caller(connection)) || pattern.test(connection.client);
}

function number(value, name, most) {
  const found = NUMBER.test(value) ? Number(value) : -1;
  if (found < 0 || found > most) throw new BadFilter(`${named(value)} is not a ${name} (0 to ${most})`);
  return found;
}

function whole(name, most, test) {
  return (value) => {
    const wanted = number(value, name, most);
    return (row) => test(row, wanted);
  };
}

function sender(value) {
  const direction = ["", "client", "server"].indexOf(value || "-");
  if (direction < 0) throw new BadFilter(`${named(value)} is not a direction (client, server)`);
  return (row) => row.direction === direction;
}

function version(value) {
  const level = Object.hasOwn(LANGUAGE.versions, value.toLowerCase()) ? LANGUAGE.versions[value.toLowerCase()] : 0;
  if (!level) throw new BadFilter(`${named(value)} is not an MQTT version (3.1, 3.1.1, 5)`);
  return (row) => row.traits.version === level;
}

function statement(value) {
  const wanted = value.trim().replace(/^\[/, "").replace(/\]$/, "").toLowerCase().replace(/^mqtt-/, "");
  const cited = new Set(LANGUAGE.statements.filter((id) => [id, id.slice(id.indexOf("-") + 1)].some((each) => cites(wanted, each.toLowerCase()))));
  if (!cited.size) throw new BadFilter(`no statement is called ${named(value)}`);
  return (row) => row.findings.some((each) => cited.has(each.statement));
}

function cites(wanted, id) {
  if (/[*?]/.test(wanted)) {
    const pattern = wanted.replace(/[\\^$.+()[\]{}|]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".");
    return new RegExp(`^(?:${pattern})$`, "s").test(id);
  }
  return id === wanted || (id.startsWith(wanted) && ".-/".includes(id[wanted.length]));
}

function severity(value) {
  if (!LANGUAGE.severities.includes(value)) throw new BadFilter(`${named(value)} is not a severity (${LANGUAGE.severities.join(", ")})`);
  return (row) => row.findings.some((each) => SEVERITIES[each.severity] === value);
}

const LARGEST = 2n ** 62n;
const TERMS = new Map([
  ["type", typed],
  ["topic", topical],
  ["payload", payloadTest],
  ["client", client],
  ["connection", whole("connection", LARGEST, (row, wanted) => row.connection.number === wanted)],
  ["direction", sender],
  ["id", whole("Packet Identifier", 0xffff, (row, wanted) => row.id === wanted)],
  ["qos", whole("QoS", 3, (row, wanted) => row.traits.flags >= 0 && ((row.traits.flags >> 1) & 3) === wanted)],
  ["alias", whole("Topic Alias", 0xffff, (row, wanted) => row.traits.alias === wanted)],
  ["reason", whole("Reason Code", 0xff, (row, wanted) => row.traits.reasons.includes(wanted))],
  ["version", version],
  ["finding", statement],
  ["severity", severity],
  ["record", whole("record", LARGEST, (row, wanted) => row.record() === wanted)],
]);
const FLAGS = new Map([
  ["dup", (row) => row.traits.flags >= 0 && Boolean(row.traits.flags & DUP)],
  ["retain", (row) => row.traits.flags >= 0 && Boolean(row.traits.flags & RETAIN)],
  ["finding", (row) => row.worst > 0],
]);
const TERM_NAMES = [...[...TERMS.keys()].map((key) => `${key}=`), ...FLAGS.keys()];
