// Blocks of the file: two lines of base64, each of compressed bytes. The head has the columns of the list, the body
// the fields and the bytes of the rows; blocks.py describes both.

const COLUMNS = [
  ["time", Float64Array], ["offset", Float64Array], ["record", Float64Array], ["conn", Int32Array], ["topic", Int32Array],
  ["id", Int32Array], ["form", Int32Array], ["summary", Int32Array], ["trait", Int32Array], ["kind", Int8Array], ["dir", Int8Array],
];
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

async function unpacked(base64) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const { writable, readable } = new DecompressionStream("deflate");
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(bytes), writer.close()]);
  const [buffer] = await Promise.all([new Response(readable).arrayBuffer(), written]);
  return buffer;
}

// The columns of a block, and its JSON with the forms as objects.
function headOf(buffer) {
  const count = Number(new DataView(buffer).getBigInt64(0, true));
  const head = { count };
  let at = 8;
  for (const [name, type] of COLUMNS) {
    head[name] = new type(buffer, at, count);
    at += count * type.BYTES_PER_ELEMENT;
  }
  Object.assign(head, JSON.parse(lenient.decode(new Uint8Array(buffer, at))));
  head.forms = head.forms.map(([word, length, summary, payload, size, trait, shown]) => ({ word, length, summary, payload, size, trait, shown }));
  head.traits = head.traits.map(([flags, version, alias, reasons, topics]) => ({ flags, version, alias, reasons, topics }));
  return head;
}

// The fields of a block, its bytes, and where those of each row begin; also the texts of its list in lower case, one
// after the other, because a million texts are searched ten times as fast in one as one by one.
function bodyOf(buffer, block) {
  const size = new DataView(buffer).getInt32(0, true);
  const body = JSON.parse(lenient.decode(new Uint8Array(buffer, 4, size)));
  body.bytes = new Uint8Array(buffer, 4 + size);
  body.at = new Uint32Array(block.count + 1);
  for (let index = 0; index < block.count; index += 1) body.at[index + 1] = body.at[index] + block.forms[block.form[index]].shown;
  const small = block.strings.map((each) => each.toLowerCase());
  body.listed = small.join("\n");
  body.starts = new Uint32Array(small.length + 1);
  small.forEach((each, number) => { body.starts[number + 1] = body.starts[number] + each.length + 1; });
  body.ranges = []; // of each form, where its texts are; made when they are first searched
  return body;
}

// What stands for the body of a block that cannot be unpacked.
function emptyBody(block) {
  return { strings: [], shapes: [], forms: [], bytes: new Uint8Array(0), at: new Uint32Array(block.count + 1), listed: "", starts: new Uint32Array(1), ranges: [] };
}
