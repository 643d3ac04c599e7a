// Finding text in the bytes of all rows of a block at once.

const encoder = new TextEncoder();

// A sequence of bytes, each of which may be one of two, so that letters are found in either case.
class BytePattern {
  constructor(lower, upper = lower) {
    this.lower = lower;
    this.upper = upper;
    this.skip = new Int32Array(256).fill(lower.length);
    for (let at = 0; at < lower.length - 1; at += 1) this.skip[lower[at]] = this.skip[upper[at]] = lower.length - 1 - at;
  }

  get length() {
    return this.lower.length;
  }

  // The first place from `at` on that ends before `stop`, or -1. Horspool's way: a byte that the pattern does not
  // have moves it by its whole length, which reads 50 MB in 22 ms. indexOf of a text takes the same; making the texts takes
  // 290 ms, and they need the memory again. Signatures of the trigrams in a block find rare words at once, but with
  // common ones every block has to be unpacked, which takes 190 ms.
  find(bytes, at, stop) {
    const { lower, upper, skip } = this;
    const last = lower.length - 1;
    for (let place = at; place + last < stop; ) {
      const end = bytes[place + last];
      if (end === lower[last] || end === upper[last]) {
        let same = last - 1;
        while (same >= 0 && (bytes[place + same] === lower[same] || bytes[place + same] === upper[same])) same -= 1;
        if (same < 0) return place;
      }
      place += skip[end];
    }
    return -1;
  }
}

// A pattern for a word, in lower case, that also finds it in upper case.
function wordPattern(word) {
  const lower = [];
  const upper = [];
  for (const character of word) {
    const own = encoder.encode(character);
    const large = character.toUpperCase();
    const other = large.toLowerCase() === character ? encoder.encode(large) : own;
    lower.push(...own);
    upper.push(...(other.length === own.length ? other : own));
  }
  return new BytePattern(Uint8Array.from(lower), Uint8Array.from(upper));
}

// The parts of a packet that have text: where each begins and ends, by pairs.
function rangesOf(body, form) {
  const known = body.ranges[form];
  if (known) return known;
  const [, , shape, lengths] = body.forms[form];
  const ranges = [];
  let at = 0;
  let taken = 0;
  for (const [, , , , content, styles] of body.shapes[shape] ?? []) {
    for (const style of styles ? styles.split(" ") : []) {
      const stop = at + lengths[taken++];
      if (content && content !== IDENTIFIER && style !== "length" && style !== "property" && !style.endsWith("*")) ranges.push(at, stop);
      at = stop;
    }
  }
  body.ranges[form] = ranges;
  return ranges;
}

// Mark the rows whose text has a word, among those that are asked for and not marked yet: of 1,000,000 rows half of
// which are marked already, the rest takes 40 ms.
function markWord(block, pattern, word, asked, marks) {
  const { bytes, at } = block.held;
  const ascii = pattern.length === word.length;
  const open = (row) => !marks[row] && asked[row] === 1 && block.kind[row] === PACKET;
  for (let row = 0; row < block.count; row += 1) {
    if (!open(row)) continue;
    let end = row + 1;
    while (end < block.count && open(end)) end += 1;
    const stop = at[end];
    for (let place = pattern.find(bytes, at[row], stop); place >= 0; place = pattern.find(bytes, place, stop)) {
      while (at[row + 1] <= place) row += 1;
      marks[row] = inText(block, row, place, pattern.length) && (ascii || lenient.decode(bytes.subarray(place, place + pattern.length)).toLowerCase() === word) ? 1 : 0;
      place = marks[row] ? at[row + 1] : place + 1;
    }
    row = end;
  }
}

// Whether bytes from `place` on are within one text of a row.
function inText(block, row, place, length) {
  const ranges = rangesOf(block.held, block.form[row]);
  const begin = block.held.at[row];
  for (let each = 0; each < ranges.length; each += 2) if (place >= begin + ranges[each] && place + length <= begin + ranges[each + 1]) return true;
  return false;
}

// Mark the rows whose payload has these parts in turn.
function markPayload(block, parts, marks) {
  const { bytes, at } = block.held;
  const ends = (row) => {
    const { payload, size, shown } = block.forms[block.form[row]];
    return [at[row] + Math.min(payload, shown), at[row] + Math.min(payload + size, shown)];
  };
  const [first] = parts;
  let row = 0;
  for (let place = first.find(bytes, 0, bytes.length); place >= 0; place = first.find(bytes, place, bytes.length)) {
    while (at[row + 1] <= place) row += 1;
    const [start, stop] = ends(row);
    if (block.forms[block.form[row]].payload < 0 || place >= stop) place = at[row + 1];
    else if (place < start) place = start;
    else {
      let after = place;
      for (const part of parts) {
        after = after < 0 ? -1 : part.find(bytes, after, stop);
        if (after >= 0) after += part.length;
      }
      if (after >= 0) marks[row] = 1;
      place = at[row + 1];
    }
  }
}
