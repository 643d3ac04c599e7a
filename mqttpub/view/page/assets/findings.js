// All findings of the capture by the statement that they cite.

const GROUPS_SHOWN = 300;

class Groups {
  constructor(box, page) {
    this.box = box;
    this.page = page;
    box.addEventListener("click", (event) => this.click(event));
  }

  show() {
    const { findings, statements } = this.page.store;
    const groups = new Map();
    for (const each of findings) {
      const key = `${each.severity} ${each.statement || each.message}`;
      const group = groups.get(key);
      if (group) group.count += 1;
      else groups.set(key, { first: each, count: 1 });
    }
    const sorted = [...groups.values()].sort((one, two) => two.first.severity - one.first.severity || two.count - one.count);
    const cards = sorted.slice(0, GROUPS_SHOWN).map((each) => this.card(each, statements));
    const rest = sorted.length - cards.length;
    this.box.replaceChildren(
      ...(cards.length ? cards : [make("p", { class: "empty" }, this.page.store.complete ? `Nothing was found wrong in ${this.page.store.unseen ? "these rows" : "this capture"}.` : "Reading\u2026")]),
      ...(rest > 0 ? [make("p", { class: "empty" }, `${rest} more kinds of findings; search for the word finding to see their packets`)] : []),
    );
  }

  card({ first, count }, statements) {
    const [section, text] = statements[first.statement] ?? [];
    const search = first.statement ? `finding=${first.statement}` : quotedWord(first.message);
    return make("article", { class: `group s${first.severity}` },
      make("header", {},
        make("span", { class: "severity" }, make("span", { "aria-hidden": "true" }, `${MARKS[first.severity]} `), SEVERITIES[first.severity]),
        make("span", { class: "id" }, first.statement || ""),
        make("span", { class: "count" }, count.toLocaleString("en"), make("span", { class: "unseen" }, count === 1 ? " time" : " times"))),
      make("p", { class: "text" }, text ?? first.message, section ? make("span", { class: "section" }, ` Section ${section}`) : null),
      text ? make("p", { class: "example" }, first.message) : null,
      make("div", { class: "acts" },
        make("button", { type: "button", data: { go: first.number } }, `First, in no. ${(first.row + 1).toLocaleString("en")}`),
        make("button", { type: "button", data: { search } }, count === 1 ? "Show its packet" : "Show its packets")));
  }

  click(event) {
    const { go, search } = event.target.closest("button")?.dataset ?? {};
    if (go !== undefined) this.page.goToFinding(Number(go));
    if (search !== undefined) this.page.find(search);
  }
}
