// The search: the terms of --filter, and words that are searched for in the whole text of a row.

// The text of a row in the list, where words are searched for.
function listed(row) {
  const { name, client, server, file } = row.connection;
  const found = row.findings.map((each) => `${each.message} ${each.statement} ${SEVERITIES[each.severity]}`);
  return [row.word, row.topic ?? "", row.summary, row.preview, marksOf(row), name, client, server, file, ...found].join("\n").toLowerCase();
}

// A test for a word: in JSON with its quotation marks, otherwise without, where they only join words.
function plain(word, unmarked) {
  const wanted = [...new Set([word, unmarked].map((each) => each.toLowerCase()))];
  const stands = (text) => wanted.some((each) => text.includes(each));
  return (row) => stands(listed(row)) || stands(row.contents());
}

// Return a test of rows, or null for an empty search; throws BadFilter.
function compiled(query) {
  const groups = new Parser(query, plain).groups();
  return groups.length ? (row) => groups.every((tests) => tests.some((test) => test(row))) : null;
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

// The rows that match a search, tested a slice at a time so that typing is never blocked.
class Sieve {
  constructor(store, changed) {
    this.store = store;
    this.changed = changed;
    this.test = null;
    this.rows = [];
    this.scanned = 0;
  }

  // Throws BadFilter, and then changes nothing.
  search(query) {
    this.test = compiled(query);
    this.rows = [];
    this.scanned = 0;
    this.more();
  }

  get busy() {
    return this.scanned < this.store.count;
  }

  more() {
    clearTimeout(this.timer);
    const until = performance.now() + 12;
    const { store } = this;
    while (this.scanned < store.count) {
      if (!this.test || this.test(store.row(this.scanned))) this.rows.push(this.scanned);
      this.scanned += 1;
      if (this.scanned % 256 === 0 && performance.now() > until) break;
    }
    this.changed();
    if (this.busy) this.timer = setTimeout(() => this.more());
  }
}
