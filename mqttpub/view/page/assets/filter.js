// The language of --filter, as on the command line; one table of cases is run against both.
// Words that are not terms are searched for in the whole text of a row, which the command line does not do.
//
// A term becomes a function of a block, which returns a test of the index of a row in it. Whatever many rows share, such
// as their topic, is tested once in a block. Functions with `reads` need the bytes of the block.

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
    return turned ? turnedAround(test) : test;
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
    return tests.length === 1 ? tests[0] : anyOf(tests);
  }

  // Whether the comma is followed by another value, not by another term.
  isValue() {
    const after = this.words[this.at + 1]?.word ?? "";
    return !["", ",", "!"].includes(after) && !FLAGS.has(after) && !KEY.test(after);
  }
}

// Mark that a function of a block needs its bytes if one of others does.
function reading(test, others) {
  test.reads = others.some((each) => each.reads);
  return test;
}

function turnedAround(test) {
  const turned = (block, asked) => {
    const found = test(block, asked);
    return (index) => !found(index);
  };
  return reading(turned, [test]);
}

function anyOf(tests) {
  if (tests.length === 1) return tests[0];
  const any = (block, asked) => {
    const each = tests.map((test) => test(block, asked));
    return (index) => each.some((test) => test(index));
  };
  return reading(any, tests);
}

// All of the tests: those without `reads` first, then those for long words, which are rare. The next one is made only
// if a row of the block passed the last, and asked about such rows.
function allOf(tests) {
  if (tests.length === 1) return tests[0];
  const inTurn = [...tests].sort((one, two) => Boolean(one.reads) - Boolean(two.reads) || (two.letters ?? 0) - (one.letters ?? 0));
  const all = (block) => {
    const marks = new Uint8Array(block.count).fill(1);
    for (const test of inTurn) {
      const found = test(block, marks);
      let left = 0;
      for (let index = 0; index < marks.length; index += 1) if (marks[index]) left += marks[index] = found(index) ? 1 : 0;
      if (!left) break;
    }
    return (index) => marks[index] === 1;
  };
  return reading(all, tests);
}

function made(key, value, place) {
  try {
    return TERMS.get(key)(unquoted(value));
  } catch (error) {
    if (error instanceof BadFilter) throw wrong(place, error.message);
    throw error;
  }
}

// A test of the forms of rows.
function byForm(test) {
  return (block) => {
    const found = Uint8Array.from(block.forms, (form) => test(form, block));
    const { form } = block;
    return (index) => found[form[index]] === 1;
  };
}

// A test of what the search knows of rows besides the columns of the list.
function byTraits(test) {
  return (block) => {
    const found = block.traits.map(test);
    const forms = block.forms.map(({ trait }) => (trait < 0 ? test(NO_TRAITS) : found[trait]));
    const { trait, form } = block;
    return (index) => (trait[index] < 0 ? forms[form[index]] : found[trait[index]]);
  };
}

// A test of the connections of rows.
function byConnection(test) {
  const known = new Map();
  return ({ conn, connections }) => (index) => {
    const number = conn[index];
    let found = known.get(number);
    if (found === undefined) known.set(number, (found = test(connections.get(number))));
    return found;
  };
}

// A test of rows that have a finding.
function byFinding(test) {
  return ({ found }) => (index) => (found.get(index) ?? []).some(test);
}

function typed(value) {
  const event = LANGUAGE.events.indexOf(value.toLowerCase());
  if (event >= 0) return ({ kind }) => (index) => kind[index] === event + 1;
  const type = value.toUpperCase();
  if (!LANGUAGE.types.includes(type)) throw new BadFilter(`${named(value)} is not a packet type (${[...LANGUAGE.types, ...LANGUAGE.events].join(", ")})`);
  return byForm(({ word }, { strings }) => strings[word] === type);
}

function topical(value) {
  const bad = value.split("/").some((level, at, all) => (level === "#" && at < all.length - 1) || (level.length > 1 && /[#+]/.test(level)));
  if (bad || !value) throw new BadFilter(`${named(value)} is not a Topic Filter`);
  const pattern = escaped(value).split("/");
  const matches = (topic) => covers(pattern, topic.split("/"));
  const subscribed = byTraits(({ topics }) => topics.some(matches));
  return (block) => {
    const { topic, form, strings } = block;
    const known = new Int8Array(strings.length); // 0 is unknown, 1 yes, 2 no
    const published = block.forms.map(({ word }) => strings[word] === "PUBLISH");
    const others = subscribed(block);
    return (index) => {
      const at = topic[index];
      if (at < 0 || !published[form[index]]) return others(index);
      known[at] ||= matches(strings[at]) ? 1 : 2;
      return known[at] === 1;
    };
  };
}

function covers(pattern, topic) {
  if (topic[0].startsWith("$") && (pattern[0] === "+" || pattern[0] === "#")) return false;
  for (let at = 0; at < pattern.length; at += 1) {
    if (pattern[at] === "#") return true;
    if (at === topic.length || (pattern[at] !== "+" && pattern[at] !== topic[at])) return false;
  }
  return pattern.length === topic.length;
}

function payloadTest(value) {
  const parts = value.startsWith("hex:") ? [pairs(value.slice(4))] : value.split("*").map((part) => encoder.encode(part));
  if (parts.includes(null) || (parts.length === 1 && !parts[0].length)) throw new BadFilter(`${named(value)} is not a payload (text, or hex: and two digits for each byte)`);
  const patterns = parts.filter((part) => part.length).map((part) => new BytePattern(part));
  if (!patterns.length) return byForm(({ payload }) => payload >= 0);
  const test = (block) => {
    const marks = new Uint8Array(block.count);
    markPayload(block, patterns, marks);
    return (index) => marks[index] === 1;
  };
  test.reads = true;
  return test;
}

function pairs(digits) {
  const found = digits.trim().match(/^(?:[0-9a-f]{2}\s*)+$/i);
  return found ? Uint8Array.from(digits.replace(/\s/g, "").match(/../g), (pair) => parseInt(pair, 16)) : null;
}

function client(value) {
  const parts = escaped(value).split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const pattern = new RegExp(`^(?:${parts.join(".*")})$`, "s");
  return byConnection((connection) => pattern.test(caller(connection)) || pattern.test(connection.client));
}

function number(value, name, most) {
  const found = NUMBER.test(value) ? Number(value) : -1;
  if (found < 0 || found > most) throw new BadFilter(`${named(value)} is not a ${name} (0 to ${most})`);
  return found;
}

function whole(name, most, test) {
  return (value) => test(number(value, name, most));
}

function endOf(value, what) {
  const end = ["", "client", "server"].indexOf(value || "-");
  if (end < 0) throw new BadFilter(`${named(value)} is not ${what} (client, server)`);
  return end;
}

function sender(value) {
  const direction = endOf(value, "a direction");
  return ({ dir }) => (index) => dir[index] === direction;
}

function atFault(value) {
  const end = endOf(value, "an end");
  return byFinding((each) => each.fault === end);
}

function version(value) {
  const level = Object.hasOwn(LANGUAGE.versions, value.toLowerCase()) ? LANGUAGE.versions[value.toLowerCase()] : 0;
  if (!level) throw new BadFilter(`${named(value)} is not an MQTT version (3.1, 3.1.1, 5)`);
  return byTraits((traits) => traits.version === level);
}

function statement(value) {
  const wanted = value.trim().replace(/^\[/, "").replace(/\]$/, "").toLowerCase().replace(/^mqtt-/, "");
  const cited = new Set(LANGUAGE.statements.filter((id) => [id, id.slice(id.indexOf("-") + 1)].some((each) => cites(wanted, each.toLowerCase()))));
  if (!cited.size) throw new BadFilter(`no statement is called ${named(value)}`);
  return byFinding((each) => cited.has(each.statement));
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
  return byFinding((each) => SEVERITIES[each.severity] === value);
}

const LARGEST = 2n ** 62n;
const TERMS = new Map([
  ["type", typed],
  ["topic", topical],
  ["payload", payloadTest],
  ["client", client],
  ["connection", whole("connection", LARGEST, (wanted) => ({ conn }) => (index) => conn[index] === wanted)],
  ["direction", sender],
  ["fault", atFault],
  ["id", whole("Packet Identifier", 0xffff, (wanted) => ({ id }) => (index) => id[index] === wanted)],
  ["qos", whole("QoS", 3, (wanted) => byTraits(({ flags }) => flags >= 0 && ((flags >> 1) & 3) === wanted))],
  ["alias", whole("Topic Alias", 0xffff, (wanted) => byTraits(({ alias }) => alias === wanted))],
  ["reason", whole("Reason Code", 0xff, (wanted) => byTraits(({ reasons }) => reasons.includes(wanted)))],
  ["version", version],
  ["finding", statement],
  ["severity", severity],
  ["record", whole("record", LARGEST, (wanted) => ({ record }) => (index) => record[index] === wanted)],
]);
const FLAGS = new Map([
  ["dup", byTraits(({ flags }) => flags >= 0 && Boolean(flags & DUP))],
  ["retain", byTraits(({ flags }) => flags >= 0 && Boolean(flags & RETAIN))],
  ["finding", ({ worst }) => (index) => worst[index] > 0],
]);
const TERM_NAMES = [...[...TERMS.keys()].map((key) => `${key}=`), ...FLAGS.keys()];
