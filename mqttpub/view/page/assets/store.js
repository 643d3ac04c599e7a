// The rows of the file. A block is two lines of JSON: the columns of the list are read at once, bytes and
// fields when a row of the block is first selected.

const PACKET = 0, GAP = 1, REMARK = 2, CLOSED = 3;
const SEVERITIES = ["", "note", "warning", "error"];
const MARKS = ["", "\u25cf", "\u25b2", "\u2716"];
const OPENERS = new Set(["PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE"]);
const ANSWERS = new Set(["PUBACK", "PUBREC", "PUBCOMP", "SUBACK", "UNSUBACK"]);
const LAST = new Set(["PUBACK", "PUBCOMP", "SUBACK", "UNSUBACK"]);
const BODIES_KEPT = 8;
const NO_TRAITS = { flags: -1, version: 0, alias: -1, reasons: [], topics: [] };
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

class Store {
  constructor() {
    this.blocks = [];
    this.count = 0;
    this.packets = 0;
    this.connections = new Map();
    this.types = new Map();
    this.findings = [];
    this.severities = [0, 0, 0, 0];
    this.statements = {};
    this.complete = false;
    this.first = null;
    this.before = [];
    this.after = [];
    this.open = new Map();
    this.bodies = new Map();
  }

  // Read a block, and keep only what its rows need.
  add(text) {
    const cut = text.indexOf("\n");
    const block = JSON.parse(text.slice(0, cut));
    block.start = this.count;
    block.rest = text.slice(cut + 1);
    block.traits = block.traits.map(([flags, version, alias, reasons, topics]) => ({ flags, version, alias, reasons, topics }));
    block.found = new Map();
    block.worst = new Uint8Array(block.kind.length);
    if (block.base !== null) {
      this.first ??= BigInt(block.base);
      block.since = Number(BigInt(block.base) - this.first);
    }
    this.blocks.push(block);
    for (const [number, client, server, name, file] of block.ends) {
      const known = this.connections.get(number);
      if (!known) this.connections.set(number, { number, client, server, name, file, rows: [] });
      else if (name) known.name = name;
    }
    this.#note(block);
    this.#judge(block);
    this.count += block.kind.length;
  }

  #note(block) {
    block.kind.forEach((kind, index) => {
      const word = block.strings[block.word[index]];
      const row = block.start + index;
      this.types.set(word, (this.types.get(word) ?? 0) + 1);
      this.connections.get(block.conn[index]).rows.push(row);
      if (kind !== PACKET) return;
      this.packets += 1;
      if (block.id[index] > 0 && block.dir[index]) this.#pair(row, block, index, word);
    });
  }

  // Link a packet to the one before it in the same exchange: PUBLISH, PUBREC, PUBREL, PUBCOMP and the like.
  #pair(row, block, index, word) {
    const opens = OPENERS.has(word);
    const side = ANSWERS.has(word) ? 3 - block.dir[index] : block.dir[index];
    const key = `${block.conn[index]} ${side} ${block.id[index]}`;
    const last = this.open.get(key);
    const goes = last && (!opens || (last.word === word && word === "PUBLISH"));
    if (goes) {
      this.before[row] = last.row;
      this.after[last.row] = row;
    }
    if (LAST.has(word)) this.open.delete(key);
    else if (goes || opens) this.open.set(key, { row, word });
  }

  #judge(block) {
    for (const [index, severity, start, length, mask, message, statement, path] of block.findings) {
      const text = (number) => block.strings[number];
      const finding = {
        row: block.start + index, number: this.findings.length, severity, start, length, mask,
        message: text(message), statement: text(statement), path: text(path),
      };
      this.findings.push(finding);
      if (!block.found.has(index)) block.found.set(index, []);
      block.found.get(index).push(finding);
      if (severity > block.worst[index]) block.worst[index] = severity;
      this.severities[severity] += 1;
    }
  }

  block(row) {
    let low = 0;
    let high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.blocks[middle].start <= row) low = middle;
      else high = middle - 1;
    }
    return this.blocks[low];
  }

  // The text of a row in the list.
  row(number) {
    const block = this.block(number);
    const index = number - block.start;
    const time = block.time[index];
    return {
      number, block, index,
      kind: block.kind[index],
      word: block.strings[block.word[index]],
      direction: block.dir[index],
      connection: this.connections.get(block.conn[index]),
      time: time === null ? null : block.since + time,
      id: block.id[index],
      length: block.length[index],
      topic: block.topic[index] < 0 ? null : block.strings[block.topic[index]],
      summary: block.strings[block.summary[index]],
      preview: block.preview[index] < 0 ? "" : block.strings[block.preview[index]],
      traits: block.trait[index] < 0 ? NO_TRAITS : block.traits[block.trait[index]],
      payload: block.payload[index] < 0 ? null : () => this.#payload(block, index),
      record: () => this.#body(block).rows[index][2],
      contents: () => (block.kind[index] === PACKET ? this.#contents(block, index) : ""),
      findings: block.found.get(index) ?? [],
      worst: block.worst[index],
    };
  }

  // The rows of a row's exchange, in order.
  exchange(row) {
    let first = row;
    while (this.before[first] !== undefined) first = this.before[first];
    const legs = [];
    for (let leg = first; leg !== undefined && legs.length < 64; leg = this.after[leg]) legs.push(leg);
    return legs;
  }

  #body(block) {
    let body = this.bodies.get(block);
    if (!body) {
      body = JSON.parse(block.rest);
      if (this.bodies.size >= BODIES_KEPT) this.bodies.delete(this.bodies.keys().next().value);
      this.bodies.set(block, body);
    }
    return body;
  }

  raw(row) {
    return this.#body(row.block).rows[row.index];
  }

  // The bytes of a payload as characters up to 255.
  #payload(block, index) {
    const start = block.payload[index];
    return atob(this.#body(block).rows[index][0]).slice(start, start + block.size[index]);
  }

  // The text of the payload and of the text fields, in lower case, without masked parts.
  #contents(block, index) {
    const body = this.#body(block);
    const [encoded, , , , , shape, lengths] = body.rows[index];
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    const found = [];
    let at = 0;
    let taken = 0;
    for (const [, , , , content, styles] of body.shapes[shape]) {
      for (const style of styles ? styles.split(" ") : []) {
        const stop = at + lengths[taken++];
        if (content && style !== "length" && style !== "property" && !style.endsWith("*")) found.push(lenient.decode(bytes.subarray(at, stop)));
        at = stop;
      }
    }
    return found.join("\n").toLowerCase();
  }

  // Bytes and fields of a row.
  detail(row) {
    const raw = this.raw(row);
    const [encoded, offset, record, version, guessed, shape, lengths, texts, total] = raw;
    const hidden = row.kind === GAP ? raw[3] : 0;
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    const body = this.#body(row.block);
    const fields = row.kind === PACKET ? fieldsOf(body.shapes[shape], lengths, texts, body.strings) : [];
    const time = row.time === null ? null : BigInt(row.block.base) + BigInt(row.block.time[row.index]);
    return { bytes, offset, record, version: row.kind === PACKET ? version : "", guessed, hidden, fields, time, total: total ?? bytes.length };
  }
}

function fieldsOf(shape, lengths, texts, strings) {
  let at = 0;
  let taken = 0;
  let octet = 0;
  return shape.map(([label, style, depth, mask, content, styles], index) => {
    const parts = [];
    for (const each of styles ? styles.split(" ") : []) {
      const masked = each.endsWith("*");
      const length = lengths[taken++];
      parts.push({ start: at, stop: at + length, style: masked ? each.slice(0, -1) : each, masked });
      at += length;
    }
    if (parts.length) octet = parts[0].start;
    const start = mask ? octet : parts.length ? parts[0].start : at;
    const stop = mask ? octet + 1 : parts.length ? parts[parts.length - 1].stop : at;
    return { index, label, style, depth, mask, content, parts, start, stop, text: strings[texts[index]] };
  });
}
