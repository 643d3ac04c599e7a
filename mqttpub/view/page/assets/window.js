// A list of any length that has elements only for the rows in view.

const TALLEST = 8_000_000; // pixels; browsers lose the end of a page beyond about twice that
const MARGIN = 6;

class ListWindow {
  constructor(box) {
    this.box = box;
    this.space = make("div", { class: "space", role: "presentation" });
    this.layer = make("div", { class: "layer", role: "presentation" });
    this.space.append(this.layer);
    box.append(this.space);
    this.rows = [];
    this.paint = () => make("div");
    this.painted = new Map();
    this.height = 28;
    box.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.refresh()).observe(box);
  }

  show(rows, paint) {
    this.rows = rows;
    this.paint = paint;
    this.refresh();
  }

  // Redraw everything, for example after the height or the style of rows has changed.
  refresh() {
    this.height = parseFloat(getComputedStyle(this.box).getPropertyValue("--row")) || 28;
    for (const element of this.painted.values()) element.remove();
    this.painted.clear();
    this.grow();
  }

  // Add rows at the end.
  grow() {
    this.whole = this.rows.length * this.height;
    this.space.style.height = `${Math.min(this.whole, TALLEST)}px`;
    this.draw();
  }

  get seen() {
    return this.box.clientHeight;
  }

  // List pixels per pixel of the scroll bar: more than one only for lists too tall for a browser.
  get scale() {
    const room = Math.min(this.whole, TALLEST) - this.seen;
    return this.whole > TALLEST && room > 0 ? (this.whole - this.seen) / room : 1;
  }

  get top() {
    return this.box.scrollTop * this.scale;
  }

  draw() {
    const top = this.top;
    const first = Math.max(0, Math.floor(top / this.height) - MARGIN);
    const last = Math.min(this.rows.length, Math.ceil((top + this.seen) / this.height) + MARGIN);
    for (const [place, element] of this.painted) {
      if (place < first || place >= last) {
        element.remove();
        this.painted.delete(place);
      }
    }
    const shift = this.box.scrollTop - top;
    for (let place = first; place < last; place += 1) {
      let element = this.painted.get(place);
      if (!element) {
        element = this.paint(this.rows[place], place);
        this.painted.set(place, element);
        this.layer.append(element);
      }
      element.style.transform = `translateY(${place * this.height + shift}px)`;
    }
  }

  reveal(place, middle = false) {
    const from = place * this.height;
    const top = this.top;
    const centred = from - (this.seen - this.height) / 2;
    let to = null;
    if (from < top) to = middle ? centred : from;
    else if (from + this.height > top + this.seen) to = middle ? centred : from + this.height - this.seen;
    if (to !== null) this.box.scrollTop = Math.max(0, to) / this.scale;
    this.draw();
  }

  element(place) {
    return this.painted.get(place);
  }
}
