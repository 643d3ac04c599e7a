// The page: the rows shown, the row selected, and the views of them.

const $ = (id) => document.getElementById(id);
const NARROW = window.matchMedia("(max-width: 820px)");
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const CONNECTIONS_LISTED = 500;
const TYPING = 90;
const NARROWER = ["--filter connection=3", "--filter 'topic=a/#'", "--filter finding", "--follow CLIENT"];
const VIEWS = ["packets", "ladder", "findings"];

class Page {
  constructor() {
    this.store = new Store();
    this.chosen = null;
    this.view = "packets";
    this.finding = -1;
    this.seeking = false; // whether to scroll to the chosen row if the search finds it
    this.landing = false; // whether to choose the first row found if the search does not find the chosen one
    this.list = new ListWindow($("list"));
    this.detail = new Detail($("detail"), this);
    this.groups = new Groups($("groups"), this);
    this.sieve = new Sieve(this.store, () => this.sieved());
    this.bringing = new Set();
    this.loading = new Loading(this.store, () => this.showTaken(), (leftOut) => this.loaded(leftOut));
    this.theme();
    this.wire();
    this.loading.begin();
  }

  showTaken() {
    this.sieve.more();
    if (this.view === "ladder") this.list.grow();
    if (this.chosen === null && this.store.count) this.first();
  }

  async loaded(leftOut) {
    this.leaveOut(leftOut);
    this.choices();
    this.verdicts();
    this.tally();
    const wanted = this.linked();
    if (wanted !== null) await this.store.body(this.store.block(wanted));
    else if (this.store.count) await this.store.body(this.store.blocks[0]);
    if (wanted !== null && wanted !== this.chosen) this.select(wanted, { focus: false, keep: false });
    else if (this.chosen !== null) this.paintDetail();
    this.list.refresh();
    if (this.view === "findings") this.groups.show();
    document.documentElement.dataset.ready = "true";
    this.loading.hold();
  }

  // Say what the file does not have, and how to narrow it.
  leaveOut({ packets = 0, others = 0, ...found }) {
    if (!packets && !others) return;
    const rest = [packets ? plural(packets, "more packet") : "", others ? plural(others, "other row") : ""].filter(Boolean).join(" and ");
    const severities = Object.entries(found).map(([severity, count]) => plural(count, severity)).join(", ");
    const narrower = NARROWER.flatMap((each) => [" ", make("code", {}, each)]);
    this.store.unseen = Boolean(severities);
    $("left-out").replaceChildren(
      `This page ends after ${plural(this.store.count, "row")}; the capture has ${rest}${severities ? `, with ${severities}` : ""}. For a page of fewer packets:`,
      ...narrower,
    );
    $("left-out").hidden = false;
  }

  linked() {
    const number = Number(/^#(\d+)$/.exec(location.hash)?.[1] ?? 0) - 1;
    return number >= 0 && number < this.store.count ? number : null;
  }

  first() {
    this.chosen = this.linked() ?? 0;
    this.paintDetail();
    this.list.refresh();
    if (this.chosen) this.reveal(true);
  }

  // What is shown

  get rows() {
    return this.view === "ladder" ? (this.ladder ? this.store.rowsOf(this.ladder) : []) : this.sieve.rows;
  }

  sieved() {
    if (this.view === "packets") {
      if (this.list.rows === this.sieve.rows) this.list.grow();
      else this.list.show(this.sieve.rows, (row, place) => this.paintRow(row, place));
      $("nothing").hidden = this.sieve.rows.length > 0 || this.sieve.busy || !this.store.complete;
      $("nothing").textContent = this.store.count ? "No packet matches the search." : "There is no packet in this capture.";
    }
    this.settle();
    this.tally();
    clearTimeout(this.ruling);
    this.ruling = setTimeout(() => this.rule(), 30);
  }

  // A search ends at the chosen row if that matches, otherwise at the top, however many slices it takes to know.
  settle() {
    $("list").setAttribute("aria-busy", String(this.sieve.busy));
    if (!this.seeking) return;
    const { rows } = this.sieve;
    const found = rows[this.place(this.chosen, rows)] === this.chosen;
    if (!found && this.sieve.busy) return;
    const landing = this.landing && !found && rows.length > 0;
    this.stay();
    if (landing) this.select(rows[0], { keep: false });
    else if (found && this.view === "packets") this.reveal(true);
  }

  // Choose a row that the search finds: the chosen one, or else the first.
  land() {
    this.seeking = true;
    this.landing = true;
    this.settle();
  }

  // Stay where the reader scrolled to, whatever a search still finds.
  stay() {
    this.seeking = false;
    this.landing = false;
  }

  paintRow(number, place) {
    const row = this.store.row(number);
    if (row.preview === null) this.bringBody(row.block);
    return listRow(row, place, this.rows.length, number === this.chosen);
  }

  // Paint the list again when the previews of a block are there.
  async bringBody(block) {
    if (this.bringing.has(block)) return;
    this.bringing.add(block);
    await this.store.body(block);
    this.bringing.delete(block);
    this.list.refresh();
  }

  paintRung(number, place) {
    const previous = place ? this.store.row(this.rows[place - 1]) : null;
    const kin = this.kin?.has(number) && this.kin.size > 1;
    return ladderRow(this.store.row(number), previous, place, this.rows.length, number === this.chosen, kin);
  }

  tally() {
    const { store, sieve } = this;
    const all = plural(store.packets, "packet");
    const others = store.count - store.packets;
    const about = sieve.test ? `${sieve.rows.length.toLocaleString("en")} of ${plural(store.count, "row")}` : `${all}${others ? `, ${plural(others, "other row")}` : ""}`;
    const ends = store.connections.size;
    const broken = document.readyState !== "loading" && !store.complete ? "; the file ends early" : store.damaged ? `; ${window.DecompressionStream ? "the file is damaged" : "this browser is too old to unpack the packets"}` : "";
    $("tally").textContent = `${about}${sieve.test ? "" : ` on ${plural(ends, "connection")}`}${sieve.busy ? "\u2026" : ""}${broken}`;
  }

  choices() {
    const { types, connections } = this.store;
    const named = [...types].sort(([one], [two]) => one.localeCompare(two)).map(([word, count]) => make("option", { value: word }, `${word} (${count.toLocaleString("en")})`));
    $("types").replaceChildren(make("option", { value: "" }, "All types"), ...named);
    const listed = [...connections.values()].slice(0, CONNECTIONS_LISTED).map((each) => make("option", { value: each.number }, `${each.number}  ${caller(each)}${each.file ? `, ${each.file}` : ""} (${each.count.toLocaleString("en")})`));
    const more = connections.size > CONNECTIONS_LISTED ? [make("option", { disabled: true }, `${connections.size - CONNECTIONS_LISTED} more: search for client=name`)] : [];
    $("connections").replaceChildren(make("option", { value: "" }, "All connections"), ...listed, ...more);
    document.documentElement.dataset.files = String([...connections.values()].some((each) => each.file));
    this.reflect();
  }

  verdicts() {
    const buttons = [3, 2, 1].filter((severity) => this.store.severities[severity]).map((severity) => {
      const count = this.store.severities[severity];
      const word = SEVERITIES[severity];
      return make("button", { type: "button", class: `verdict s${severity}`, "aria-pressed": "false", data: { severity: word } },
        make("span", { "aria-hidden": "true" }, `${MARKS[severity]} `), count.toLocaleString("en"), make("span", { class: "long" }, count === 1 ? ` ${word}` : ` ${word}s`));
    });
    const clean = make("span", { class: "verdict clean" }, "\u2714 no findings");
    $("verdicts").replaceChildren(...(buttons.length || !this.store.count || this.store.unseen ? buttons : [clean]));
    this.reflect();
  }

  // Show the search in the choices above the list.
  reflect() {
    const query = $("search").value;
    $("types").value = termValue(query, "type");
    $("connections").value = this.view === "ladder" && this.ladder ? this.ladder.number : termValue(query, "connection");
    for (const id of ["types", "connections"]) if ($(id).selectedIndex < 0) $(id).selectedIndex = 0;
    const severity = termValue(query, "severity");
    for (const each of $("verdicts").querySelectorAll("button")) each.setAttribute("aria-pressed", String(each.dataset.severity === severity));
  }

  // Marks beside the list where findings are; a click goes there.
  rule() {
    const canvas = $("ruler");
    const { rows, store, view } = { rows: this.rows, store: this.store, view: this.view };
    const height = canvas.clientHeight;
    if (!height || view === "findings") return;
    canvas.height = height;
    const context = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colours = ["", "--note", "--warning", "--error"].map((name) => (name ? style.getPropertyValue(name) : ""));
    const worst = new Uint8Array(height);
    const span = Math.min(height, rows.length * this.list.height);
    for (const { row, severity } of store.findings) {
      const place = this.place(row, rows);
      if (rows[place] !== row) continue;
      const y = Math.min(height - 1, Math.floor((place / rows.length) * span));
      if (severity > worst[y]) worst[y] = severity;
    }
    worst.forEach((severity, y) => {
      if (!severity) return;
      context.fillStyle = colours[severity];
      context.fillRect(severity === 3 ? 2 : 4, y, severity === 3 ? 8 : 6, 3);
    });
  }

  // Choosing

  select(number, { focus = false, middle = true, keep = true } = {}) {
    if (number === null || number < 0 || number >= this.store.count) return;
    this.stay();
    this.chosen = number;
    const row = this.store.row(number);
    if (this.view === "ladder") this.climb(row);
    this.kin = new Set(this.view === "ladder" ? this.store.exchange(number) : []);
    this.list.refresh();
    if (this.view !== "findings") this.reveal(middle);
    $("list").setAttribute("aria-activedescendant", `row-${number}`);
    if (!keep) this.finding = -1;
    cancelAnimationFrame(this.painting);
    this.painting = requestAnimationFrame(() => this.paintDetail());
    if (focus) $("list").focus({ preventScroll: true });
    clearTimeout(this.linking);
    this.linking = setTimeout(() => history.replaceState(null, "", `#${number + 1}`), 400);
  }

  // Bytes and fields are shown at once if their block is unpacked, otherwise when it is.
  paintDetail(then = () => {}) {
    cancelAnimationFrame(this.painting);
    const { chosen } = this;
    const { block } = this.store.row(chosen);
    const show = () => {
      if (chosen !== this.chosen) return;
      this.detail.show(this.store.row(chosen));
      then();
    };
    if (block.held) show();
    else this.store.body(block).then(show);
  }

  reveal(middle) {
    const place = this.place(this.chosen);
    if (place >= 0 && this.rows[place] === this.chosen) this.list.reveal(place, middle);
  }

  // The index of a row among those shown, or the index it would have.
  place(number, rows = this.rows) {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  step(by) {
    const { rows } = this;
    if (!rows.length) return;
    let place = this.place(this.chosen ?? 0);
    if (rows[place] !== this.chosen && by > 0) place -= 1; // the chosen row is filtered out: the next one is the first step
    const to = Math.max(0, Math.min(rows.length - 1, place + by));
    this.select(rows[to], { middle: false, keep: false });
  }

  // The next or previous finding from the current row, whatever the search.
  stepFinding(by) {
    const { findings } = this.store;
    if (!findings.length) return;
    let to = this.finding + by;
    if (this.finding < 0 || findings[this.finding].row !== this.chosen) {
      const next = findings.findIndex((each) => each.row >= (this.chosen ?? 0));
      to = by > 0 ? next : (next < 0 ? findings.length : next) - 1;
      if (by > 0 && next < 0) to = findings.length;
    }
    this.goToFinding((to + findings.length) % findings.length);
  }

  goToFinding(number) {
    const finding = this.store.findings[number];
    this.finding = number;
    this.select(finding.row, { keep: true });
    this.open();
    const index = this.store.row(finding.row).findings.indexOf(finding);
    this.paintDetail(() => this.detail.flaws.children[index]?.focus());
  }

  find(query) {
    $("search").value = query;
    this.search();
    if (this.view !== "packets") this.look("packets");
  }

  search() {
    clearTimeout(this.typing);
    const complaint = this.sift();
    $("complaint").textContent = complaint;
    $("complaint").hidden = !complaint;
    $("search").setAttribute("aria-invalid", String(Boolean(complaint)));
    if (complaint) {
      this.settle();
      return;
    }
    $("list").scrollTop = 0;
    this.list.draw();
    this.reflect();
    this.seeking = true;
    this.settle();
  }

  // Search, and return the error in the query; the rows then stay as they were.
  sift() {
    try {
      this.sieve.search($("search").value);
      return "";
    } catch (error) {
      if (error instanceof BadFilter) return error.message;
      throw error;
    }
  }

  // Views

  look(view) {
    this.view = view;
    document.documentElement.dataset.view = view;
    for (const each of document.querySelectorAll("[role=tab]")) {
      const own = each.dataset.view === view;
      each.setAttribute("aria-selected", String(own));
      each.tabIndex = own ? 0 : -1;
    }
    $("panel").hidden = view === "findings";
    $("groups").hidden = view !== "findings";
    $("ends").hidden = view !== "ladder";
    $("panel").setAttribute("aria-labelledby", `tab-${view === "ladder" ? "ladder" : "packets"}`);
    if (view === "findings") this.groups.show();
    else if (view === "ladder") this.climb(this.chosen === null ? null : this.store.row(this.chosen), true);
    else this.list.show(this.sieve.rows, (row, place) => this.paintRow(row, place));
    $("nothing").hidden = true;
    if (view !== "findings") this.reveal(true);
    this.reflect();
    this.rule();
  }

  // Show the ladder of a row's connection.
  climb(row, again = false) {
    if (!row || (!again && this.ladder === row.connection)) return;
    this.ladder = row.connection;
    const { name, client, server, number } = this.ladder;
    const end = (side, title, address) => make("span", { class: `end ${side}` }, make("b", {}, title), make("span", {}, address));
    $("ends").replaceChildren(make("span", {}), make("span", { class: "pair" }, end("near", name || "client", client), end("far", "server", server)), make("span", {}));
    $("list").setAttribute("aria-label", `Packets of connection ${number}`);
    this.kin = new Set(this.store.exchange(row.number));
    this.list.show(this.rows, (each, place) => this.paintRung(each, place));
    this.reflect();
  }

  wide() {
    return !NARROW.matches;
  }

  // On a narrow screen the packet covers the list.
  open() {
    if (NARROW.matches) document.documentElement.dataset.open = "true";
  }

  back() {
    delete document.documentElement.dataset.open;
    $("list").focus({ preventScroll: true });
  }

  theme(next = DARK.matches ? "dark" : "light") {
    document.documentElement.dataset.theme = next;
    this.rule();
  }

  // Event handlers

  wire() {
    const search = $("search");
    search.addEventListener("input", () => {
      clearTimeout(this.typing);
      $("list").setAttribute("aria-busy", "true");
      this.typing = setTimeout(() => this.search(), TYPING);
    });
    const pick = (key) => (event) => this.find(withTerm(search.value, key, event.target.value));
    $("types").addEventListener("change", pick("type"));
    $("connections").addEventListener("change", (event) => this.connect(event.target.value));
    $("verdicts").addEventListener("click", (event) => {
      const { severity: wanted } = event.target.closest("button")?.dataset ?? {};
      if (wanted) this.find(withTerm(search.value, "severity", termValue(search.value, "severity") === wanted ? "" : wanted));
    });
    $("list").addEventListener("click", (event) => {
      const row = event.target.closest("[data-row]");
      if (!row) return;
      this.select(Number(row.dataset.row), { middle: false, keep: false });
      this.open();
    });
    for (const move of ["wheel", "pointerdown"]) $("list").addEventListener(move, () => this.stay(), { passive: true });
    document.querySelector("[role=tablist]").addEventListener("click", (event) => {
      if (event.target.dataset.view) this.look(event.target.dataset.view);
    });
    document.querySelector("[role=tablist]").addEventListener("keydown", (event) => this.turn(event));
    $("ruler").addEventListener("click", (event) => {
      const span = Math.min($("ruler").clientHeight, this.rows.length * this.list.height);
      const place = Math.floor((event.offsetY / span) * this.rows.length);
      this.list.reveal(Math.max(0, Math.min(place, this.rows.length - 1)), true);
    });
    $("theme").addEventListener("click", () => this.turnLight());
    $("help-open").addEventListener("click", () => $("help").showModal());
    $("help-close").addEventListener("click", () => $("help").close());
    $("help").addEventListener("click", (event) => event.target === $("help") && $("help").close());
    DARK.addEventListener("change", () => this.theme());
    window.addEventListener("resize", () => this.rule());
    window.addEventListener("hashchange", () => this.select(this.linked(), { keep: false }));
    document.addEventListener("keydown", (event) => press(this, event));
  }

  connect(value) {
    if (this.view !== "ladder") this.find(withTerm($("search").value, "connection", value));
    else if (value) this.select(this.store.connections.get(Number(value)).first, { keep: false });
  }

  turnLight() {
    this.theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  }

  // Arrows move between tabs.
  turn(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    this.look(VIEWS[(VIEWS.indexOf(this.view) + step + VIEWS.length) % VIEWS.length]);
    $(`tab-${this.view}`).focus();
  }

  enter() {
    this.open();
    if (this.chosen !== null && this.detail.row) this.detail.bytes.focus(0);
  }
}

new Page();
