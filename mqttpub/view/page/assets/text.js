// DOM elements, and visible text from peers: nothing here ever parses markup.

const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", '"': '\\"' };
const UNSEEN = /[\p{C}\p{Z}]/gu;
const UNSEEN_OR_QUOTED = /[\p{C}\p{Z}\\"]/gu;

function make(tag, options = {}, ...children) {
  const { class: name, data = {}, ...attributes } = options;
  const element = document.createElement(tag);
  if (name) element.className = name;
  for (const [key, value] of Object.entries(data)) element.dataset[key] = value;
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function hex(value, digits) {
  return value.toString(16).padStart(digits, "0");
}

function visible(character) {
  if (character === " ") return character;
  if (SHORT[character]) return SHORT[character];
  const code = character.codePointAt(0);
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

// Invisible characters become escapes; a newline is shown and also breaks the line.
function quoted(text) {
  return text.replace(UNSEEN_OR_QUOTED, (each) => (each === "\n" ? "\\n\n" : visible(each)));
}

function remark(text) {
  return text.replace(UNSEEN, visible);
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decoded(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

// The text of bytes; those that are not UTF-8 appear as \xNN.
function readable(bytes) {
  const whole = decoded(bytes);
  if (whole !== null) return quoted(whole);
  let shown = "";
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at];
    const size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const piece = decoded(bytes.subarray(at, at + size));
    shown += piece === null ? `\\x${hex(lead, 2)}` : quoted(piece);
    at += piece === null ? 1 : size;
  }
  return shown;
}

const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const PREVIEWED = 120; // bytes of a payload in a row of the list

// Whether bytes are JSON, other text, or neither, as the terminal says it.
function classified(bytes) {
  const text = decoded(bytes);
  if (text === null || CONTROL.test(text)) return NONE;
  if (!/^[ \t\r\n]*[{["]/.test(text)) return TEXT;
  try {
    JSON.parse(text);
    return JSON_TEXT;
  } catch {
    return TEXT;
  }
}

// The start of a payload as quoted text, or as hex for binary data; dots stand for the rest.
function preview(payload) {
  const head = payload.subarray(0, PREVIEWED);
  let text = null;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(head, { stream: true }); // the cut may be in the middle of a character
  } catch {
    text = null;
  }
  const binary = text === null || CONTROL.test(text);
  const size = text === null ? head.length : new TextEncoder().encode(text).length;
  const end = size < payload.length ? "..." : "";
  return binary ? `${Array.from(head.subarray(0, size), (byte) => hex(byte, 2)).join(" ")}${end}` : `"${escaped(text)}${end || '"'}`;
}

// Text with an escape for every character that cannot be seen, as in the texts of the file.
function escaped(text) {
  return text.replace(UNSEEN_OR_QUOTED, (each) => (each === '"' ? each : visible(each)));
}

const DEEPEST = 20;

// JSON on several lines; tokens stay as they were sent, so that 1.0 does not become 1.
function indented(json) {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  const lines = [];
  let line = "";
  let depth = 0;
  const feed = () => {
    lines.push(line);
    line = "  ".repeat(Math.min(depth, DEEPEST));
  };
  tokens.forEach((token, index) => {
    const opens = token === "{" || token === "[";
    const closes = token === "}" || token === "]";
    const empty = closes && (tokens[index - 1] === "{" || tokens[index - 1] === "[");
    if (closes) depth -= 1;
    if (closes && !empty) feed();
    line += token === ":" ? ": " : remark(token);
    if (opens) depth += 1;
    const next = tokens[index + 1];
    if (token === "," || (opens && next !== "}" && next !== "]")) feed();
  });
  return [...lines, line].join("\n");
}

function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

// Times and durations are truncated to the digits shown, as on the terminal and in the tables.
function seconds(nanoseconds) {
  const size = Math.abs(nanoseconds);
  const micro = Math.floor((size % 1e9) / 1e3);
  return `${nanoseconds < 0 ? "-" : ""}${Math.floor(size / 1e9)}.${String(micro).padStart(6, "0")}`;
}

// Three significant digits: 0.821 ms, 12.3 ms, 1.50 s, 3,600 s.
function lasting(nanoseconds) {
  const size = Math.abs(nanoseconds);
  const [unit, name] = size < 1e9 ? [1e6, "ms"] : [1e9, "s"];
  const whole = Math.floor(size / unit);
  const places = whole ? Math.max(0, 3 - String(whole).length) : 3;
  const rest = Math.floor(((size % unit) * 10 ** places) / unit);
  const digits = places ? `.${String(rest).padStart(places, "0")}` : "";
  return `${nanoseconds < 0 ? "-" : ""}${whole.toLocaleString("en")}${digits} ${name}`;
}

// A time in UTC with nine digits after the second, within the range of a browser's dates.
function moment(nanoseconds) {
  const whole = nanoseconds / 1000000000n;
  const date = new Date(Number(whole) * 1000);
  if (Number.isNaN(date.getTime())) return `${whole} s`;
  const rest = String(nanoseconds % 1000000000n).padStart(9, "0");
  return `${date.toISOString().slice(0, 19).replace("T", " ")}.${rest.endsWith("000") ? rest.slice(0, 6) : rest} UTC`;
}
