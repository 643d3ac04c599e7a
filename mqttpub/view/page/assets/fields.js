// The fields of a packet as a tree, a few hundred at a time.

const FIRST_FIELDS = 250;

// The field that each byte belongs to, with the style of that part of it.
function ownersOf(fields, length) {
  const owners = new Array(length);
  for (const field of fields) {
    for (const { start, stop, style, masked } of field.parts) {
      owners.fill({ field, style, masked, label: field.label }, start, Math.min(stop, length));
    }
  }
  return owners;
}

// A field and all fields below it.
function family(fields, field) {
  let stop = field.index + 1;
  while (stop < fields.length && fields[stop].depth > field.depth) stop += 1;
  return fields.slice(field.index, stop);
}

function pattern(field, byte) {
  const box = make("span", { class: "pattern", "aria-hidden": "true" });
  for (let bit = 7; bit >= 0; bit -= 1) {
    const own = field.mask & (1 << bit);
    box.append(make("span", { class: own ? "own" : "other" }, byte === undefined ? " " : own ? String((byte >> bit) & 1) : "\u00b7"));
    if (bit === 4) box.append(make("span", { class: "middle" }));
  }
  return box;
}

// The value itself if it is text: one string, or a name and its value.
function contentOf(field, bytes) {
  const own = field.parts.filter(({ style }) => style !== "length" && style !== "property");
  const values = [];
  for (const { start, stop, masked } of own) values.push(masked ? "*".repeat(stop - start) : valueText(field, bytes.subarray(start, stop), stop > bytes.length));
  return values.join(" = ");
}

function valueText(field, piece, cut) {
  if (field.content === JSON_TEXT && !cut) {
    const json = decoded(piece);
    if (json !== null) return indented(json);
  }
  return cut ? `"${readable(piece)}\u2026` : `"${readable(piece)}"`;
}

function styleOf(field) {
  if (field.mask) return field.style === "reserved" || field.style === "gap" ? field.style : "flag";
  return field.parts.length ? field.parts[field.parts.length - 1].style : "none";
}

class Fields {
  constructor(box) {
    this.box = box;
    this.tree = make("div", { class: "tree", role: "tree", "aria-label": "Fields" });
    this.more = make("button", { type: "button", class: "more" });
    this.more.addEventListener("click", () => this.reach(this.shown + FIRST_FIELDS * 4));
    box.append(this.tree, this.more);
  }

  show(detail, findings) {
    this.detail = detail;
    this.findings = findings;
    this.elements = [];
    this.shown = 0;
    this.tree.replaceChildren();
    this.reach(FIRST_FIELDS);
  }

  reach(stop) {
    const { fields } = this.detail;
    const end = Math.min(stop, fields.length);
    for (; this.shown < end; this.shown += 1) {
      this.elements[this.shown] = this.element(fields[this.shown]);
      this.tree.append(this.elements[this.shown]);
    }
    this.more.hidden = this.shown >= fields.length;
    this.more.textContent = `Show more of ${plural(fields.length, "field")}`;
  }

  element(field) {
    const { bytes } = this.detail;
    const worst = this.worst(field);
    const [first, ...rest] = field.text.split("  ");
    const about = rest.join("  ");
    const value = make("span", { class: `value k-${styleOf(field)}` });
    if (field.content) {
      const content = contentOf(field, bytes);
      const aside = make("span", { class: "aside" }, field.text);
      if (content.includes("\n")) value.append(aside, make("span", { class: "content block" }, content));
      else value.append(make("span", { class: "content" }, content), " ", aside);
    }
    if (!field.content) value.append(make("span", { class: "figure" }, first), about ? " " : "", make("span", { class: "aside" }, about));
    const mark = worst ? make("span", { class: `badge s${worst}`, title: SEVERITIES[worst] }, MARKS[worst]) : null;
    const place = field.mask ? pattern(field, bytes[field.start]) : make("span", { class: "offset" }, field.parts.length ? hex(field.start, 4) : "");
    const label = make("span", { class: "label" }, field.label, mark ? " " : null, mark);
    const level = Math.min(field.depth, 4);
    return make("div", {
      class: `field depth-${level}${field.parts.length || field.mask ? "" : " heading"}`,
      role: "treeitem", tabindex: 0, "aria-level": field.depth + 1, data: { field: field.index },
    }, place, label, value);
  }

  worst(field) {
    let worst = 0;
    for (const each of this.findings) if (each.severity > worst && touches(each, field)) worst = each.severity;
    return worst;
  }

  light(fields, near) {
    for (const element of this.lit ?? []) element.classList.remove("lit", "near");
    this.lit = [...fields, ...near].map((each) => this.elements[each.index]).filter(Boolean);
    for (const each of near) this.elements[each.index]?.classList.add("near");
    for (const each of fields) this.elements[each.index]?.classList.add("lit");
  }

  // Scroll a field into view within its own box.
  reveal(field) {
    this.reach(field.index + 1);
    this.elements[field.index]?.scrollIntoView({ block: "nearest" });
  }
}

// Whether a finding is about a field: bits by their mask, whole bytes by their position.
function touches(finding, field) {
  const stop = finding.start + Math.max(finding.length, 1);
  if (field.start >= stop || field.stop <= finding.start || field.start === field.stop) return false;
  if (field.mask) return finding.mask ? Boolean(finding.mask & field.mask) : false;
  return !finding.mask;
}
