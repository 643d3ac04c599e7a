// Blocks are read while the browser loads the file, so that the list appears before the end of the file.

const LOADING = 100; // milliseconds between two looks at a list that is still being read

class Loading {
  // `shown` is called when rows were added, `whole` at the end of the file with the numbers of what the file does not have.
  constructor(store, shown, whole) {
    this.store = store;
    this.shown = shown;
    this.whole = whole;
    this.next = 0; // when to show again what was taken
    this.taking = Promise.resolve(); // the blocks taken so far
  }

  begin() {
    const watch = new MutationObserver(() => this.take());
    watch.observe(document.body, { childList: true });
    document.addEventListener("DOMContentLoaded", () => {
      watch.disconnect();
      this.take();
      this.taking = this.taking.then(() => this.finish());
    });
  }

  take() {
    for (const element of document.querySelectorAll("script.block")) {
      if (!element.nextElementSibling) break; // not loaded completely yet, or the file is truncated
      const [head, body] = element.textContent.split("\n");
      element.remove();
      const coming = unpacked(head).catch(() => null);
      this.taking = this.taking.then(async () => this.taken(await coming, body));
    }
  }

  taken(head, body) {
    if (head) this.store.add(head, body);
    else this.store.damaged = true;
    if (performance.now() < this.next) return;
    this.shown();
    this.next = performance.now() + LOADING;
  }

  finish() {
    this.shown();
    const end = document.getElementById("end");
    this.store.complete = end !== null;
    const { statements, left_out: leftOut } = end ? JSON.parse(end.textContent) : { left_out: {} };
    if (statements) this.store.statements = statements;
    return this.whole(leftOut);
  }

  // Unpack bytes and fields in advance, so that searches need not wait for them.
  async hold() {
    for (const block of this.store.blocks) {
      if (this.store.bytes >= MOST_HELD) return;
      await this.store.body(block);
    }
    document.documentElement.dataset.held = "true";
  }
}
