// One packet in full; its bytes and its fields highlight one another.

class Detail {
  constructor(box, page) {
    this.box = box;
    this.page = page;
    this.store = page.store;
    this.head = make("div", { class: "head" });
    this.flaws = make("ul", { class: "flaws", "aria-label": "Findings of this packet" });
    const bytes = make("div", { class: "bytes" });
    const bits = make("div", { class: "bits" });
    const fields = make("div", { class: "fields" });
    this.bytes = new HexGrid(bytes);
    this.bits = new BitGrid(bits);
    this.fields = new Fields(fields);
    const left = make("div", { class: "left" }, make("h3", {}, "Bytes"), bits, bytes);
    const right = make("div", { class: "right" }, make("h3", {}, "Fields"), fields);
    this.anatomy = make("div", { class: "anatomy" }, left, right);
    box.append(this.head, this.flaws, this.anatomy);
    box.addEventListener("mouseover", (event) => this.point(event.target));
    this.anatomy.addEventListener("mouseleave", () => this.point(null));
    this.flaws.addEventListener("mouseleave", () => this.point(null));
    box.addEventListener("focusin", (event) => this.focused(event.target));
    box.addEventListener("focusout", () => this.focused(null));
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => this.click(event));
  }

  show(row) {
    this.row = row;
    this.detail = this.store.detail(row);
    this.owners = ownersOf(this.detail.fields, this.detail.bytes.length);
    this.heading();
    this.flaws.replaceChildren(...row.findings.map((each, index) => this.flaw(each, index)));
    this.flaws.hidden = !row.findings.length;
    this.anatomy.hidden = !this.detail.bytes.length;
    this.anatomy.classList.toggle("bare", !this.detail.fields.length);
    this.box.scrollTop = 0;
    this.bytes.box.scrollTop = 0;
    this.bytes.show(this.detail, this.owners, row.findings);
    this.fields.show(this.detail, row.findings);
    this.held = null;
    this.light(null);
  }

  heading() {
    const { row, detail } = this;
    const back = make("button", { type: "button", class: "back", "aria-label": "Back to the list" }, "\u2039");
    const title = make("h2", {}, make("span", { class: `arrow d${row.direction}`, "aria-hidden": "true" }, SIGNS[row.kind] ?? ARROWS[row.direction]), " ", row.word);
    const size = row.length ? [plural(row.length, "byte")] : [];
    const version = detail.version ? [`MQTT ${detail.version}${detail.guessed ? " (guessed)" : ""}`] : [];
    const chips = row.kind === PACKET ? [...row.summary.split("  ").filter(Boolean), ...size, ...version] : size;
    const facts = make("ul", { class: "chips" }, ...chips.map((each) => make("li", {}, each)));
    const topic = row.topic === null ? null : make("p", { class: "subject" }, row.topic || "(empty topic)");
    const message = row.kind === PACKET ? null : make("p", { class: "subject" }, row.summary);
    const secret = detail.hidden ? make("p", { class: "left-out" }, `${plural(detail.hidden, "byte")} of it may hold secrets, so only --show-secrets shows them.`) : null;
    back.addEventListener("click", () => this.page.back());
    this.head.replaceChildren(back, title, facts, ...[topic, message, secret, this.origin(), this.exchange()].filter(Boolean));
    this.head.dataset.kind = row.kind;
  }

  // The origin of the packet: ends, number, time, place.
  origin() {
    const { row, detail } = this;
    const { connection } = row;
    const ends = [connection.client || "client", connection.server || "server"];
    const way = row.direction === 2 ? `${ends[1]} \u2192 ${ends[0]}` : row.direction === 1 ? `${ends[0]} \u2192 ${ends[1]}` : `${ends[0]} \u00b7 ${ends[1]}`;
    const parts = [
      ["file", connection.file],
      ["", connection.name || `connection ${connection.number}`], ["", way],
      ["no.", (row.number + 1).toLocaleString("en")],
      ["at", detail.time === null ? "" : moment(detail.time)],
      ["stream offset", row.kind > GAP ? "" : detail.offset.toLocaleString("en")],
      ["record", detail.record ? detail.record.toLocaleString("en") : ""],
    ];
    const shown = parts.filter(([, value]) => value).map(([name, value]) => make("span", {}, name ? make("span", { class: "name" }, `${name} `) : null, value));
    return make("p", { class: "origin" }, ...shown);
  }

  // Links to the packets of the same exchange.
  exchange() {
    const legs = this.row.kind === PACKET ? this.store.exchange(this.row.number) : [];
    if (legs.length < 2) return null;
    const rows = legs.map((each) => this.store.row(each));
    const steps = rows.map((each, index) => {
      const after = index && each.time !== null && rows[0].time !== null ? each.time - rows[0].time : null;
      const gap = after === null ? "" : ` ${after < 0 ? "" : "+"}${lasting(after)}`;
      const current = each.number === this.row.number;
      const label = [ARROWS[each.direction], " ", each.word, gap ? make("span", { class: "later" }, gap) : null];
      return make("button", { type: "button", class: "leg", "aria-current": current ? "step" : null, data: { go: each.number } }, ...label);
    });
    return make("nav", { class: "exchange", "aria-label": "Packets of this exchange" }, make("span", { class: "name" }, "Exchange"), ...steps);
  }

  flaw(finding, index) {
    const { statement } = finding;
    const [section, text] = this.store.statements[statement] ?? [];
    const rule = statement ? make("span", { class: "rule" }, make("span", { class: "id" }, statement), text ? ` ${text}` : "", section ? make("span", { class: "section" }, ` Section ${section}`) : "") : null;
    const place = finding.length ? `byte ${hex(finding.start, 4)}${finding.length > 1 ? `-${hex(finding.start + finding.length - 1, 4)}` : ""}${finding.mask ? `, bits ${finding.mask.toString(2).padStart(8, "0")}` : ""}` : "";
    const whose = finding.fault && finding.fault !== this.row.direction ? `${place ? ", " : ""}fault of the ${ENDS[finding.fault]}` : "";
    return make("li", { class: `flaw-card s${finding.severity}`, tabindex: 0, data: { finding: index } },
      make("span", { class: "severity" }, make("span", { "aria-hidden": "true" }, `${MARKS[finding.severity]} `), SEVERITIES[finding.severity]),
      make("span", { class: "message" }, finding.message), make("span", { class: "spot" }, place, whose), rule);
  }

  // Highlighting

  at(target) {
    const element = target?.closest?.("[data-byte],[data-field],[data-finding]");
    if (!element || !this.box.contains(element)) return null;
    const { byte, field, finding } = element.dataset;
    if (finding !== undefined) return this.ofFinding(this.row.findings[finding]);
    return field === undefined ? this.ofByte(Number(byte)) : this.ofField(this.detail.fields[field]);
  }

  ofByte(at) {
    const field = this.owners[at]?.field;
    if (!field) return { fields: [], near: [], ranges: [[at, at + 1]], governed: [], at, mask: 0, from: "byte" };
    return { ...this.ofField(field), at, from: "byte" };
  }

  ofField(field) {
    const below = field.mask ? [] : family(this.detail.fields, field).slice(1);
    const place = (each) => [each.start, each.stop];
    const governed = below.filter((each) => each.parts.length).map(place);
    const bits = below.filter((each) => each.mask && each.start === field.start);
    const own = field.parts.length || field.mask;
    return {
      fields: own ? [field, ...bits] : [field, ...below], near: own ? below : [],
      ranges: own ? [place(field)] : governed, governed: own ? governed : [],
      at: field.start, mask: field.mask, from: "field",
    };
  }

  ofFinding(finding) {
    const fields = this.detail.fields.filter((each) => touches(finding, each));
    const last = Math.max(0, this.detail.bytes.length - 1);
    const start = Math.min(finding.length ? finding.start : Math.max(0, finding.start - 1), last);
    return { fields, near: [], ranges: [[start, start + Math.max(1, finding.length)]], governed: [], at: start, mask: finding.mask, from: "finding" };
  }

  point(target) {
    const light = this.at(target);
    if (light || !target || !this.anatomy.contains(target)) this.light(light ?? this.held);
  }

  focused(target) {
    this.held = this.at(target);
    if (target?.dataset?.byte !== undefined && this.held) this.bytes.settle(this.held.at);
    this.light(this.held);
    if (!this.held) return;
    if (this.held.from !== "byte" && this.held.ranges.length) this.bytes.reveal(this.held.at);
    if (this.held.from === "byte" && this.held.fields.length && this.page.wide()) this.fields.reveal(this.held.fields[0]);
  }

  light(light) {
    const { bytes, fields } = this.detail;
    const at = light?.at ?? 0;
    const owner = this.owners[at];
    const own = owner ? family(fields, owner.field).filter((each) => each.mask && each.start === at) : [];
    const words = light?.fields[0]?.label ?? owner?.label ?? "";
    this.bytes.light(light?.ranges ?? [], light?.governed ?? [], Boolean(light?.mask));
    this.fields.light(light?.fields ?? [], light?.near ?? []);
    this.bits.show(at, bytes[at], owner?.masked, own, light?.mask ?? 0, words);
  }

  // Keys and clicks

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const target = event.target;
    if (target.dataset.byte !== undefined && this.bytes.key(event)) event.preventDefault();
    else if (target.dataset.field !== undefined && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const to = this.fields.elements[Number(target.dataset.field) + (event.key === "ArrowDown" ? 1 : -1)];
      to?.focus();
    } else return;
    event.stopPropagation();
  }

  click(event) {
    const go = event.target.closest("[data-go]");
    if (go) this.page.select(Number(go.dataset.go), { focus: false, keep: true });
    const byte = event.target.closest("[data-byte]");
    if (byte && byte.classList.contains("char")) this.bytes.focus(Number(byte.dataset.byte));
  }
}
