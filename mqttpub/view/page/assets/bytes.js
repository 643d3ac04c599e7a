// The bytes of a packet, sixteen or eight in a row, and the bits of one of them.

const FIRST_BYTES = 1024;
const MORE_BYTES = 4096;
const OUTSIDE = 40;
const LIGHTS = ["lit", "near", "part", "begin", "end"];

class HexGrid {
  constructor(box) {
    this.box = box;
    this.grid = make("div", { class: "hex", role: "grid", "aria-label": "Bytes" });
    this.more = make("button", { type: "button", class: "more" });
    this.note = make("p", { class: "left-out" });
    this.more.addEventListener("click", () => this.reach(this.shown + MORE_BYTES));
    box.append(this.grid, this.more, this.note);
    this.cells = [];
    this.current = 0;
    new ResizeObserver(() => this.fit()).observe(box);
  }

  show(detail, owners, findings) {
    this.detail = detail;
    this.owners = owners;
    this.flaws = flawed(findings, detail.bytes.length);
    this.current = 0;
    this.per = this.wanted();
    this.start();
    this.reach(FIRST_BYTES);
  }

  wanted() {
    const width = parseFloat(getComputedStyle(this.box).fontSize) * 0.61;
    return this.box.clientWidth - OUTSIDE > 66 * width ? 16 : 8;
  }

  fit() {
    if (!this.detail || this.wanted() === this.per) return;
    const { shown } = this;
    this.per = this.wanted();
    this.start();
    this.reach(shown);
  }

  start() {
    this.grid.replaceChildren();
    this.grid.dataset.per = this.per;
    this.cells = [];
    this.shown = 0;
  }

  // Add bytes to the list until `stop` is among them.
  reach(stop) {
    const { bytes, total } = this.detail;
    const end = Math.min(bytes.length, Math.ceil(stop / this.per) * this.per);
    for (; this.shown < end; this.shown = Math.min(this.shown + this.per, bytes.length)) this.grid.append(this.line(this.shown));
    const left = bytes.length - this.shown;
    this.more.hidden = left <= 0;
    this.more.textContent = `Show ${Math.min(left, MORE_BYTES).toLocaleString("en")} more of ${plural(bytes.length, "byte")}`;
    this.note.hidden = total <= bytes.length;
    this.note.textContent = `${plural(total - bytes.length, "more byte")} of this packet ${total - bytes.length === 1 ? "is" : "are"} not in this page.`;
  }

  line(start) {
    const stop = Math.min(start + this.per, this.detail.bytes.length);
    const digits = this.detail.total > 0xffff ? 6 : 4;
    const row = make("div", { class: "line", role: "row" });
    const ascii = make("span", { class: "ascii", "aria-hidden": "true" });
    row.append(make("span", { class: "at", role: "rowheader" }, hex(start, digits)));
    for (let at = start; at < stop; at += 1) {
      const pair = this.cell(at);
      this.cells[at] = pair;
      row.append(pair[0]);
      ascii.append(pair[1]);
    }
    for (let at = stop; at < start + this.per; at += 1) row.append(make("span", { class: "byte", "aria-hidden": "true" }));
    row.append(ascii);
    return row;
  }

  cell(at) {
    const owner = this.owners[at];
    const { style, masked, label } = owner ?? { style: "gap", masked: false, label: "no field" };
    const byte = this.detail.bytes[at];
    const flaw = this.flaws.get(at);
    const name = `k-${style}${masked ? " masked" : ""}${flaw ? ` flaw s${flaw.severity}${flaw.after ? " after" : ""}` : ""}`;
    const text = masked ? "**" : hex(byte, 2);
    const shown = masked ? "*" : byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".";
    const spoken = `${masked ? "secret" : text}, ${label}${flaw ? `, ${SEVERITIES[flaw.severity]}` : ""}`;
    const attributes = { role: "gridcell", tabindex: at === this.current ? 0 : -1, "aria-label": spoken };
    return [
      make("span", { class: `byte ${name}`, data: { byte: at }, ...attributes }, text),
      make("span", { class: `char ${name}`, data: { byte: at } }, shown === " " ? "\u00a0" : shown),
    ];
  }

  // Highlight the bytes of a field, and faintly those that it governs, such as the properties after their length.
  light(ranges, governed, part) {
    for (const at of this.lit ?? []) for (const each of this.cells[at] ?? []) each.classList.remove(...LIGHTS);
    this.lit = [];
    for (const range of governed) this.paint(range, ["near"]);
    for (const range of ranges) this.paint(range, part ? ["lit", "part"] : ["lit"]);
  }

  paint([start, stop], names) {
    const end = Math.min(stop, this.shown);
    for (let at = start; at < end; at += 1) {
      this.lit.push(at);
      const begins = at === start || at % this.per === 0 ? ["begin"] : [];
      const ends = at === end - 1 || at % this.per === this.per - 1 ? ["end"] : [];
      for (const each of this.cells[at]) each.classList.add(...names, ...begins, ...ends);
    }
  }

  focus(at) {
    const to = Math.max(0, Math.min(at, this.detail.bytes.length - 1));
    this.reach(to + 1);
    const element = this.cells[to]?.[0];
    if (!element) return;
    this.settle(to);
    element.focus();
  }

  // Make this byte the one that Tab returns to.
  settle(at) {
    this.cells[this.current]?.[0].setAttribute("tabindex", -1);
    this.cells[at][0].setAttribute("tabindex", 0);
    this.current = at;
  }

  // Scroll only the bytes, until this one is in view.
  reveal(at) {
    this.reach(at + 1);
    const cell = this.cells[at]?.[0];
    if (!cell) return;
    const line = cell.parentElement;
    const top = line.offsetTop - this.grid.offsetTop;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + line.offsetHeight > this.box.scrollTop + this.box.clientHeight - OUTSIDE) {
      this.box.scrollTop = top + line.offsetHeight - this.box.clientHeight + OUTSIDE;
    }
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.per, ArrowDown: this.per };
    const edges = { Home: this.current - (this.current % this.per), End: this.current - (this.current % this.per) + this.per - 1 };
    const to = event.key in steps ? this.current + steps[event.key] : edges[event.key];
    if (to === undefined) return false;
    if (to >= 0) this.focus(to);
    return true;
  }
}

// The worst finding at each byte; a finding about no byte belongs to the byte before its position.
function flawed(findings, length) {
  const flaws = new Map();
  for (const { severity, start, length: size } of findings) {
    const after = size === 0;
    const first = after ? Math.max(0, start - 1) : start;
    const stop = Math.min(after ? first + 1 : start + size, length);
    for (let at = Math.min(first, length - 1); at < stop; at += 1) {
      if (severity > (flaws.get(at)?.severity ?? 0)) flaws.set(at, { severity, after });
    }
  }
  return flaws;
}

class BitGrid {
  constructor(box) {
    this.box = box;
    this.cells = [];
    this.place = make("span", { class: "place" });
    this.row = make("span", { class: "eight", "aria-hidden": "true" });
    this.word = make("span", { class: "meaning" });
    for (let bit = 7; bit >= 0; bit -= 1) {
      const cell = make("span", { class: "bit" });
      this.cells[bit] = cell;
      this.row.append(cell);
    }
    box.append(this.place, this.row, this.word);
  }

  // Show a byte; `fields` are those that use bits of it, and `mask` selects the bits to highlight.
  show(at, byte, masked, fields, mask, word) {
    this.place.textContent = byte === undefined ? "" : `${hex(at, 4)}  ${masked ? "**" : `0x${hex(byte, 2)}`}`;
    this.word.textContent = word;
    for (let bit = 7; bit >= 0; bit -= 1) {
      const cell = this.cells[bit];
      const weight = 1 << bit;
      const field = fields.find((each) => each.mask & weight);
      const below = bit === 4 ? undefined : fields.find((each) => each.mask & (weight >> 1));
      cell.className = `bit k-${field ? field.style : "none"}${mask & weight ? " lit" : ""}${field && field === below ? " joined" : ""}`;
      cell.textContent = byte === undefined ? "" : masked ? "*" : byte & weight ? "1" : "0";
      if (field) cell.dataset.field = field.index;
      else delete cell.dataset.field;
      if (byte === undefined) delete cell.dataset.byte;
      else cell.dataset.byte = at;
    }
  }
}
