// The search: words and key:value terms, all of which a row must meet.

const TERMS = /-?[a-z]+:"[^"]*"|-?"[^"]*"|\S+/gi;

function plain(text) {
  return text.replaceAll('"', "").toLowerCase();
}

function haystack(row) {
  const found = row.findings.map((each) => `${each.message} ${each.statement} ${SEVERITIES[each.severity]}`);
  const parts = [row.word, row.topic ?? "", row.summary, row.connection.name, ...found];
  return parts.join(" ").toLowerCase();
}

// Topic against a Topic Filter; without wildcards a part of the topic is enough.
function topicMatches(wanted, topic) {
  if (topic === null) return false;
  if (!/[+#]/.test(wanted)) return topic.toLowerCase().includes(wanted);
  const levels = topic.toLowerCase().split("/");
  const filter = wanted.split("/");
  if (topic.startsWith("$") && !wanted.startsWith("$")) return false;
  for (let at = 0; at < filter.length; at += 1) {
    if (filter[at] === "#") return true;
    if (at >= levels.length || (filter[at] !== "+" && filter[at] !== levels[at])) return false;
  }
  return filter.length === levels.length;
}

function bytesMatch(wanted, row, store) {
  const digits = wanted.replace(/[^0-9a-f]/g, "");
  let needle = "";
  for (let at = 0; at + 1 < digits.length; at += 2) needle += String.fromCharCode(parseInt(digits.slice(at, at + 2), 16));
  return needle !== "" && atob(store.raw(row)[0]).includes(needle);
}

const SENDERS = { client: 1, server: 2 };
const TESTS = {
  type: (value, row) => row.word.toLowerCase() === value,
  topic: (value, row) => topicMatches(value, row.topic),
  client: (value, { connection }) => `${connection.name} ${connection.client}`.toLowerCase().includes(value),
  conn: (value, row) => String(row.connection.number) === value,
  id: (value, row) => String(row.id) === value,
  from: (value, row) => row.direction === SENDERS[value],
  is: (value, row) => (value === "finding" ? row.worst > 0 : row.findings.some((each) => SEVERITIES[each.severity] === value)),
  rule: (value, row) => row.findings.some((each) => each.statement.toLowerCase().includes(value)),
  hex: bytesMatch,
};

function term(text) {
  const not = text.length > 1 && text.startsWith("-");
  const [, key, value] = /^([a-z]+):(.*)$/is.exec(not ? text.slice(1) : text) ?? [];
  const test = key ? TESTS[key.toLowerCase()] : undefined;
  const wanted = plain(test ? value : not ? text.slice(1) : text);
  return { not, wanted, test: test ?? ((word, row) => haystack(row).includes(word)) };
}

// Return a test of rows, or null when the search is empty.
function compiled(query, store) {
  const terms = (query.match(TERMS) ?? []).map(term).filter((each) => each.wanted);
  if (!terms.length) return null;
  return (row) => terms.every((each) => each.test(each.wanted, row, store) !== each.not);
}

function termsOf(query) {
  return query.match(TERMS) ?? [];
}

// Return the query with `key:value` in place of every other term of that key, or without it.
function withTerm(query, key, value) {
  const others = termsOf(query).filter((each) => !each.toLowerCase().startsWith(`${key}:`));
  return [...others, ...(value ? [`${key}:${value}`] : [])].join(" ");
}

function termValue(query, key) {
  const found = termsOf(query).find((each) => each.toLowerCase().startsWith(`${key}:`));
  return found ? plain(found.slice(key.length + 1)) : "";
}

// The rows that a search lets through, gone through a slice at a time so that typing never waits.
class Sieve {
  constructor(store, changed) {
    this.store = store;
    this.changed = changed;
    this.test = null;
    this.rows = [];
    this.scanned = 0;
  }

  search(query) {
    this.test = compiled(query, this.store);
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
