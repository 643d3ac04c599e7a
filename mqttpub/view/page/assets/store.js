// The rows of the file, block by block. The columns of the list are unpacked at once; fields and bytes when they are
// needed, and then as many as memory has room for.

const PACKET = 0, GAP = 1, REMARK = 2, CLOSED = 3;
const NONE = 0, TEXT = 1, JSON_TEXT = 2, PAYLOAD = 3, IDENTIFIER = 4;
const SEVERITIES = ["", "note", "warning", "error"];
const MARKS = ["", "\u25cf", "\u25b2", "\u2716"];
const OPENERS = new Set(["PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE"]);
const ANSWERS = new Set(["PUBACK", "PUBREC", "PUBCOMP", "SUBACK", "UNSUBACK"]);
const LAST = new Set(["PUBACK", "PUBCOMP", "SUBACK", "UNSUBACK"]);
const MOST_HELD = 512 << 20; // bytes of unpacked bodies
const NO_TRAITS = { flags: -1, version: 0, alias: -1, reasons: [], topics: [] };
const ID = "\0"; // stands for the Packet Identifier in a summary

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
    this.unseen = false; // whether rows that the file does not have have findings
    this.complete = false;
    this.damaged = false;
    this.first = null;
    this.bodies = new Map();
    this.bytes = 0;
  }

  // Add a block: its unpacked head, and its packed body.
  add(buffer, packed) {
    const block = headOf(buffer);
    block.start = this.count;
    block.packed = packed;
    block.connections = this.connections;
    block.held = null;
    block.found = new Map();
    block.worst = new Uint8Array(block.count);
    if (block.base !== null) {
      this.first ??= BigInt(block.base);
      block.since = Number(BigInt(block.base) - this.first);
    }
    this.blocks.push(block);
    for (const [number, client, server, name, file] of block.ends) {
      const known = this.connections.get(number);
      if (!known) this.connections.set(number, { number, client, server, name, file, count: 0, first: -1 });
      else if (name) known.name = name;
    }
    this.#note(block);
    this.#judge(block);
    this.count += block.count;
  }

  #note(block) {
    const counts = new Uint32Array(block.forms.length);
    let connection = { number: -1 };
    for (let index = 0; index < block.count; index += 1) {
      counts[block.form[index]] += 1;
      if (block.kind[index] === PACKET) this.packets += 1;
      if (block.conn[index] !== connection.number) {
        connection = this.connections.get(block.conn[index]);
        if (connection.first < 0) connection.first = block.start + index;
      }
      connection.count += 1;
    }
    counts.forEach((count, form) => {
      const word = block.strings[block.forms[form].word];
      this.types.set(word, (this.types.get(word) ?? 0) + count);
    });
  }

  #judge(block) {
    for (const [index, severity, start, length, mask, message, statement, path, fault] of block.findings) {
      const text = (number) => block.strings[number];
      const finding = {
        row: block.start + index, number: this.findings.length, severity, start, length, mask, fault,
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

  // Fields and bytes of a block, as block.held; those unpacked first make room.
  async body(block) {
    if (block.held) return block.held;
    block.coming ??= unpacked(block.packed).catch(() => null).then((buffer) => {
      this.damaged ||= buffer === null;
      block.held = buffer ? bodyOf(buffer, block) : emptyBody(block);
      block.coming = null;
      this.bodies.set(block, block.held.bytes.length);
      this.bytes += block.held.bytes.length;
      for (const [other, size] of this.bodies) {
        if (this.bytes <= MOST_HELD || other === block) break;
        other.held = null;
        this.bodies.delete(other);
        this.bytes -= size;
      }
      return block.held;
    });
    return block.coming;
  }

  worst(row) {
    const block = this.block(row);
    return block.worst[row - block.start];
  }

  // The text of a row in the list; the preview of a payload is null until the body of its block is there.
  row(number) {
    const block = this.block(number);
    const index = number - block.start;
    const form = block.forms[block.form[index]];
    const trait = block.trait[index] < 0 ? form.trait : block.trait[index];
    const traits = trait < 0 ? NO_TRAITS : block.traits[trait];
    const time = block.time[index];
    return {
      number, block, index, traits,
      kind: block.kind[index],
      word: block.strings[form.word],
      direction: block.dir[index],
      connection: this.connections.get(block.conn[index]),
      time: Number.isNaN(time) ? null : block.since + time,
      id: block.id[index],
      length: form.length,
      topic: block.topic[index] < 0 ? null : block.strings[block.topic[index]],
      summary: block.strings[block.summary[index] < 0 ? form.summary : block.summary[index]].replace(ID, block.id[index]),
      preview: traits.flags < 0 || form.payload < 0 || !form.size ? "" : block.held ? this.#preview(block, index, form) : null,
      findings: block.found.get(index) ?? [],
      worst: block.worst[index],
    };
  }

  #preview(block, index, { payload, size, length, shown }) {
    const { bytes, at } = block.held;
    const piece = bytes.subarray(at[index] + Math.min(payload, shown), Math.min(at[index] + payload + size, at[index + 1]));
    const text = preview(piece);
    return length > shown && !text.endsWith("...") ? `${text.replace(/"$/, "")}...` : text;
  }

  // The rows of a connection, found when they are first asked for.
  rowsOf(connection) {
    if (connection.rows?.length === connection.count) return connection.rows;
    const rows = [];
    for (const { start, conn, ends } of this.blocks) {
      if (!ends.some(([number]) => number === connection.number)) continue;
      for (let index = 0; index < conn.length; index += 1) if (conn[index] === connection.number) rows.push(start + index);
    }
    connection.rows = rows;
    return rows;
  }

  // The rows of a row's exchange, in order.
  exchange(row) {
    const block = this.block(row);
    const connection = this.connections.get(block.conn[row - block.start]);
    if (this.paired !== connection || this.pairs.count !== connection.count) this.#pair(connection);
    const { before, after } = this.pairs;
    let first = row;
    while (before.has(first)) first = before.get(first);
    const legs = [];
    for (let leg = first; leg !== undefined && legs.length < 64; leg = after.get(leg)) legs.push(leg);
    return legs;
  }

  // Link each packet of a connection to the one before it in the same exchange: PUBLISH, PUBREC, PUBREL, PUBCOMP and
  // the like.
  #pair(connection) {
    const before = new Map();
    const after = new Map();
    const open = new Map();
    let block = this.blocks[0];
    for (const row of this.rowsOf(connection)) {
      if (row >= block.start + block.count) block = this.block(row);
      const index = row - block.start;
      const id = block.id[index];
      if (block.kind[index] !== PACKET || id <= 0 || !block.dir[index]) continue;
      const word = block.strings[block.forms[block.form[index]].word];
      const opens = OPENERS.has(word);
      const side = ANSWERS.has(word) ? 3 - block.dir[index] : block.dir[index];
      const key = side * 0x10000 + id;
      const last = open.get(key);
      const goes = last && (!opens || (last.word === word && word === "PUBLISH"));
      if (goes) {
        before.set(row, last.row);
        after.set(last.row, row);
      }
      if (LAST.has(word)) open.delete(key);
      else if (goes || opens) open.set(key, { row, word });
    }
    this.paired = connection;
    this.pairs = { before, after, count: connection.count };
  }

  // Bytes and fields of a row whose block is held.
  detail(row) {
    const { block, index, kind } = row;
    const { held } = block;
    const packet = kind === PACKET;
    const raw = held.forms[block.form[index]] ?? ["", 0, 0, [], []];
    const bytes = held.bytes.subarray(held.at[index], held.at[index + 1]);
    const [version, guessed, shape, lengths, texts] = packet ? raw : ["", 0];
    const fields = packet ? fieldsOf(held.shapes[shape] ?? [], lengths, texts, held.strings) : [];
    for (const field of fields) speak(field, bytes);
    const time = row.time === null ? null : BigInt(block.base) + BigInt(block.time[index]);
    return {
      bytes, fields, version, guessed, time, offset: block.offset[index], record: block.record[index],
      hidden: packet ? 0 : raw[0], total: packet ? row.length : bytes.length,
    };
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

// Words for the fields whose words are not in the file: those of payloads and Packet Identifiers.
function speak(field, bytes) {
  const part = field.parts.at(-1);
  if (field.content === IDENTIFIER) {
    const id = bytes[part.start] * 256 + bytes[part.start + 1];
    field.text = `${id} (0x${hex(id, 4)})`;
    field.content = NONE;
  } else if (field.content === PAYLOAD) {
    const kind = classified(bytes.subarray(part.start, part.stop));
    const size = part.stop - part.start;
    field.text = `${kind === JSON_TEXT ? "JSON" : kind === TEXT ? "text" : "binary"}, ${size} byte${size === 1 ? "" : "s"}`;
    field.content = kind;
  }
}
