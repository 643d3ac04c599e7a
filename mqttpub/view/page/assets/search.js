// The search: the terms of --filter, and words that are searched for in the whole text of a row.

// A test for a word in the columns of the list, in findings, and in the text of the packet: in JSON with its quotation
// marks, otherwise without, where they only join words. Each distinct text is tested once.
function plain(word, unmarked) {
  const wanted = [...new Set([word, unmarked].map((each) => each.toLowerCase()))].filter(Boolean);
  const patterns = wanted.map(wordPattern);
  const texts = new Map();
  const stands = (text) => {
    let found = texts.get(text);
    if (found === undefined) {
      const small = text.toLowerCase();
      texts.set(text, (found = wanted.some((each) => small.includes(each))));
    }
    return found;
  };
  const named = byConnection(({ name, client, server, file }) => [name, client, server, file].some(stands));
  const identified = new Identifiers(wanted);
  const spaced = wanted.some((each) => each.includes(" "));
  const test = (block, asked) => {
    const marks = new Uint8Array(block.count);
    if (!wanted.length) return () => true;
    const found = textsWith(block, wanted);
    markListed(block, found, stands, named(block), identified, asked, marks);
    markFindings(block, found, stands, spaced, marks);
    patterns.forEach((pattern, at) => markWord(block, pattern, wanted[at], asked, marks));
    return (index) => marks[index] === 1;
  };
  test.reads = true;
  test.letters = unmarked.length;
  return test;
}

// The texts of a block's list that have a wanted one, by their numbers.
function textsWith({ held, strings }, wanted) {
  const { listed, starts } = held;
  const found = new Uint8Array(strings.length);
  for (const each of wanted) {
    let number = 0;
    for (let place = listed.indexOf(each); place >= 0; place = listed.indexOf(each, place)) {
      while (starts[number + 1] <= place) number += 1;
      const within = place + each.length < starts[number + 1];
      if (within) found[number] = 1;
      place = within ? starts[number + 1] : place + 1;
    }
  }
  return found;
}

// Mark the rows with a finding that has a wanted text; one with a space may reach from its message to its statement.
function markFindings({ findings, strings }, found, stands, spaced, marks) {
  for (const [row, severity, , , , message, statement] of findings) {
    if (found[message] || found[statement] || stands(SEVERITIES[severity])) marks[row] = 1;
    else if (spaced && stands(`${strings[message]} ${strings[statement]} ${SEVERITIES[severity]}`)) marks[row] = 1;
  }
}

// Mark the rows whose columns have a wanted text; `found` are the texts that have it.
function markListed(block, found, stands, inConnection, identified, asked, marks) {
  const { strings, forms, form, topic, id, summary, trait, traits, conn } = block;
  const inForm = Uint8Array.from(forms, (each) => found[each.word] || found[each.summary] || (each.trait >= 0 && stands(marksOf(traits[each.trait]))));
  const inId = forms.map((each) => identified.table(strings[each.summary]));
  let last = -1;
  let inLast = false;
  for (let row = 0; row < block.count; row += 1) {
    if (!asked[row]) continue;
    const own = form[row];
    const at = topic[row];
    if (conn[row] !== last) {
      last = conn[row];
      inLast = inConnection(row);
    }
    if (inForm[own] || inLast || (at >= 0 && found[at] === 1) || inId[own]?.[id[row]]) marks[row] = 1;
    else if (summary[row] >= 0) marks[row] = found[summary[row]] || identified.table(strings[summary[row]])?.[id[row]] || (trait[row] >= 0 && stands(marksOf(traits[trait[row]]))) ? 1 : 0;
  }
}

// The Packet Identifiers with which a summary has a wanted text: a table of all of them, made once for each way in which
// a text can reach into the digits.
class Identifiers {
  constructor(wanted) {
    this.pieces = wanted.flatMap((each) => Array.from(each.matchAll(/[0-9]+/g), (found) => [each.slice(0, found.index), found[0], each.slice(found.index + found[0].length)]));
    this.ways = new Map();
    this.tables = new Map();
  }

  // Return the table of a summary, or null if it has no identifier or none leads to a wanted text.
  table(text) {
    if (!this.pieces.length || !text.includes(ID)) return null;
    if (!this.tables.has(text)) this.tables.set(text, this.#table(...text.toLowerCase().split(ID)));
    return this.tables.get(text);
  }

  #table(before, after) {
    const reaching = this.pieces.filter(([left, , right]) => before.endsWith(left) && after.startsWith(right));
    const ways = reaching.map(([left, digits, right]) => this.#way(digits, left !== "", right !== ""));
    if (ways.length < 2) return ways[0] ?? null;
    return ways[0].map((found, id) => (ways.some((way) => way[id]) ? 1 : 0));
  }

  #way(digits, begins, ends) {
    const key = `${digits} ${begins} ${ends}`;
    if (!this.ways.has(key)) {
      const found = (text) => (begins && ends ? text === digits : begins ? text.startsWith(digits) : ends ? text.endsWith(digits) : text.includes(digits));
      this.ways.set(key, Uint8Array.from({ length: 0x10000 }, (_, id) => (found(String(id)) ? 1 : 0)));
    }
    return this.ways.get(key);
  }
}

// Return a test of blocks, or null for an empty search; throws BadFilter.
function compiled(query) {
  const groups = new Parser(query, plain).groups();
  return groups.length ? allOf(groups.map(anyOf)) : null;
}

// The word that is a whole term by itself, as the choices above the list write it.
function termOf(query, key) {
  let words = [];
  try {
    words = wordsOf(query);
  } catch (error) {
    if (!(error instanceof BadFilter)) throw error;
  }
  return words.find(({ word }, at) => word.startsWith(`${key}=`) && ![",", "!"].includes(words[at - 1]?.word) && words[at + 1]?.word !== ",");
}

// Return the query with `key=value` instead of another such term, or without it.
function withTerm(query, key, value) {
  const found = termOf(query, key);
  const rest = found ? `${query.slice(0, found.begin).trimEnd()} ${query.slice(found.stop).trimStart()}` : query;
  return `${rest.trim()} ${value ? `${key}=${value}` : ""}`.trim();
}

function termValue(query, key) {
  const found = termOf(query, key);
  return found ? unquoted(found.word.slice(key.length + 1)) : "";
}

function quotedWord(text) {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

const SLICE = 30; // milliseconds

// The rows that match a search, tested a block at a time so that typing is never blocked.
class Sieve {
  constructor(store, changed) {
    this.store = store;
    this.changed = changed;
    this.test = null;
    this.rows = [];
    this.scanned = 0; // blocks
    this.turns = new MessageChannel(); // which, unlike timers, does not wait 4 ms each time
    this.turns.port1.onmessage = () => this.more();
  }

  // Throws BadFilter, and then changes nothing.
  search(query) {
    this.test = compiled(query);
    this.rows = [];
    this.scanned = 0;
    this.more();
  }

  get busy() {
    return this.scanned < this.store.blocks.length;
  }

  more() {
    const until = performance.now() + SLICE;
    const { blocks } = this.store;
    while (this.scanned < blocks.length && performance.now() < until) {
      const block = blocks[this.scanned];
      if (this.test?.reads && !block.held) {
        this.awaitBody(block);
        return;
      }
      this.take(block);
      this.scanned += 1;
    }
    this.changed();
    if (this.busy) this.turns.port2.postMessage(null);
  }

  // Add the rows of a block that match.
  take(block) {
    const { start, count } = block;
    const matches = this.test?.(block, new Uint8Array(count).fill(1)) ?? (() => true);
    for (let index = 0; index < count; index += 1) if (matches(index)) this.rows.push(start + index);
  }

  // Go on when a block is unpacked, unless another search has begun by then.
  async awaitBody(block) {
    const { test } = this;
    this.changed();
    await this.store.body(block);
    if (this.test === test) this.more();
  }
}
