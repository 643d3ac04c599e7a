// The keys of the page, which the help of the page lists.

const KEYS = {
  j: (page) => page.step(1),
  k: (page) => page.step(-1),
  ArrowDown: (page) => page.step(1),
  ArrowUp: (page) => page.step(-1),
  PageDown: (page, screen) => page.step(screen),
  PageUp: (page, screen) => page.step(-screen),
  Home: (page) => page.step(-Infinity),
  End: (page) => page.step(Infinity),
  n: (page) => page.stepFinding(1),
  p: (page) => page.stepFinding(-1),
  Enter: (page) => page.enter(),
  t: (page) => page.turnLight(),
  1: (page) => page.look("packets"),
  2: (page) => page.look("ladder"),
  3: (page) => page.look("findings"),
  "/": () => { $("search").focus(); $("search").select(); },
  "?": () => $("help").showModal(),
};

function press(page, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const { key, target } = event;
  if (key === "Escape") leave(page, target);
  else if (target.id === "search") enterSearch(page, key);
  else if (target.tagName === "SELECT") return;
  else if (target.tagName === "BUTTON" && (key === "Enter" || key === " ")) return;
  else if (KEYS[key]) KEYS[key](page, Math.max(1, Math.floor(page.list.seen / page.list.height) - 1));
  else return;
  if (target.id !== "search" || key === "ArrowDown" || key === "Enter") event.preventDefault();
}

// Search at once, and go from the search to what it found.
function enterSearch(page, key) {
  if (key !== "Enter" && key !== "ArrowDown") return;
  page.search();
  if ($("search").getAttribute("aria-invalid") === "true") return;
  if (page.view !== "packets") page.look("packets");
  page.land();
  $("list").focus({ preventScroll: true });
}

// Close the packet that covers the list, or clear the search.
function leave(page, target) {
  const open = document.documentElement.dataset.open;
  const inList = target.id === "list" || target.id === "search" || target === document.body;
  if (open || !inList) page.back();
  else if ($("search").value) page.find("");
  if (target.id === "search") $("list").focus({ preventScroll: true });
}
