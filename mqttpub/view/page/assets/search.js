// The search: the terms of --filter, and words that are searched for in the whole text of a row.

// A test for a word in the columns of the list, in findings, and in the text of the packet: in JSON with its quotation
// marks, otherwise without, where they only join words. Each distinct text is tested once.
function plain(word, unmarked) {
  const wanted = [...new Set([word, unmarked].map((each) => each.toLowerCase()))].filter(Boolean);
  const patterns = wanted.map(wordPattern);
  const texts = new Map();
  const summaries = new Map();
  const stands = (text) => {
    let found = texts.get(text);
    if (found === undefined) {
      const small = text.toLowerCase();
      texts.set(text, (found = wanted.some((each) => small.includes(each))));
    }
    return found;
  };
  const summed = (text, id) => {
    if (!text.includes(ID)) return stands(text);
    if (!summaries.has(text)) summaries.set(text, new Int8Array(0x10000)); // 0 is unknown, 1 yes, 2 no
    const known = summaries.get(text);
    known[id] ||= stands(text.replace(ID, id)) ? 1 : 2;
    return known[id] === 1;
  };
  const named = byConnection(({ name, client, server, file }) => [name, client, server, file].some(stands));
  const marked = byTraits((traits) => stands(marksOf({ traits })));
  const test = (block) => {
    const marks = new Uint8Array(block.count);
    if (!wanted.length) return () => true;
    const { strings, forms, form, topic, id, summary } = block;
    const inConnection = named(block);
    const inMarks = marked(block);
    const inWord = forms.map((each) => stands(strings[each.word]));
    const inTopic = new Int8Array(strings.length); // 0 is unknown, 1 yes, 2 no
    for (let row = 0; row < block.count; row += 1) {
      const at = topic[row];
      if (at >= 0) inTopic[at] ||= stands(strings[at]) ? 1 : 2;
      const own = form[row];
      if (inWord[own] || (at >= 0 && inTopic[at] === 1) || inMarks(row) || inConnection(row) || summed(strings[summary[row] < 0 ? forms[own].summary : summary[row]], id[row])) marks[row] = 1;
    }
    for (const [row, findings] of block.found) {
      if (findings.some((each) => stands(`${each.message} ${each.statement} ${SEVERITIES[each.severity]}`))) marks[row] = 1;
    }
    patterns.forEach((pattern, at) => markWord(block, pattern, wanted[at], marks));
    return (index) => marks[index] === 1;
  };
  test.reads = true;
  return test;
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

const SLICE = 20; // milliseconds

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
    const matches = this.test?.(block) ?? (() => true);
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
