/* Search results: one column per encoder, the same sentence linked across them.

   props.value is {columns: [{title, note, hits: [{row, rank, score, sentence, label, there}]}], message, error, examples,
   waiting, progress, query, run}; `there` is the hit's place in the other column among all sentences. Pressing a hit or an example
   triggers 'pick' with {sentence}. Text enters through textContent only. */

const frame = make("section", "near");
element.replaceChildren(frame);

/* How a hit's place differs from its place in the other column: [word, explanation, kind]. */
function change(hit, other) {
  if (hit.there === undefined || !other) return null;
  const place = `place ${number(hit.there)} by ${other.title.toLowerCase()}`;
  if (hit.there > other.hits.length) return [`new, was ${number(hit.there)}`, place, "up"];
  const moved = hit.there - hit.rank;
  if (!moved) return ["same place", place, "same"];
  return [moved > 0 ? `up ${moved}` : `down ${-moved}`, place, moved > 0 ? "up" : "down"];
}

/* The base comes first in time: there a hit did not move, it is only not kept. */
function fate(hit, other) {
  if (hit.there === undefined || !other) return null;
  const place = `place ${number(hit.there)} by ${other.title.toLowerCase()}`;
  return hit.there > other.hits.length ? [`lost, now ${number(hit.there)}`, place, "down"] : [`kept at ${hit.there}`, place, "same"];
}

function item(hit, moved, highest) {
  const button = make("button", "near-hit");
  button.type = "button";
  button.dataset.row = hit.row;
  button.title = "Search with this sentence";
  const middle = make("span", "near-middle");
  const facts = make("span", "near-facts");
  const bar = make("span", "near-bar");
  const part = make("span", "near-part");
  part.style.width = `${Math.max(2, Math.round((100 * Math.max(0, hit.score)) / highest))}%`;
  bar.append(part);
  facts.append(bar, make("span", "near-score", hit.score.toFixed(3)));
  if (hit.label) facts.append(inDirection(make("span", "near-label", hit.label)));
  if (moved) {
    const chip = make("span", `near-move near-${moved[2]}`, moved[0]);
    chip.title = moved[1];
    facts.append(chip);
  }
  middle.append(inDirection(make("span", "near-text", hit.sentence)), facts);
  button.append(make("span", "near-rank", String(hit.rank)), middle);
  button.addEventListener("click", () => trigger("pick", { sentence: hit.sentence }));
  for (const kind of ["mouseenter", "focus"]) button.addEventListener(kind, () => link(hit.row, true));
  for (const kind of ["mouseleave", "blur"]) button.addEventListener(kind, () => link(hit.row, false));
  return button;
}

function link(row, on) {
  for (const node of frame.querySelectorAll(`[data-row="${row}"]`)) node.classList.toggle("near-linked", on);
}

function column(one, other, highest) {
  const box = make("div", "near-column");
  const head = make("h3", "", one.title);
  if (one.note) head.append(make("small", "", one.note));
  box.append(head);
  const base = /base/i.test(one.title);
  for (const hit of one.hits) box.append(item(hit, base ? fate(hit, other) : change(hit, other), highest));
  if (base) box.classList.add("near-base");
  return box;
}

function waiting(title, [phase, done, total] = ["", 0, 0]) {
  const box = make("div", `near-column${/base/i.test(title) ? " near-base" : ""}`);
  const told = make("p", "near-told", total ? `${phase}: ${number(done)} of ${number(total)} sentences. It is kept, so this is needed once.` : `${phase} …`);
  told.setAttribute("role", "status");
  const track = make("span", "near-track");
  const part = make("span", "near-part");
  part.style.width = `${total ? Math.round((100 * done) / total) : 0}%`;
  track.append(part);
  box.append(make("h3", "", title), told, track, ...Array.from({ length: 6 }, () => make("div", "near-skeleton watch-waiting")));
  return box;
}

function empty({ message, error, examples }) {
  const box = make("div", "watch-empty near-empty");
  box.append(make("p", error ? "near-error" : "", message));
  if (error) box.setAttribute("role", "alert");
  if (examples?.length) {
    const list = make("div", "near-try");
    list.append(make("span", "watch-more", "Try one of its sentences:"));
    for (const sentence of examples) {
      const button = inDirection(make("button", "watch-button", sentence));
      button.type = "button";
      button.addEventListener("click", () => trigger("pick", { sentence }));
      list.append(button);
    }
    box.append(list);
  }
  return box;
}

function draw() {
  const value = props.value || {};
  const columns = value.columns || [];
  if (!columns.length && !value.waiting) {
    frame.replaceChildren(empty(value));
    return;
  }
  const highest = Math.max(0.01, ...columns.flatMap((one) => one.hits.map((hit) => hit.score)));
  const grid = make("div", "near-grid");
  columns.forEach((one, place) => grid.append(column(one, columns.length === 2 ? columns[1 - place] : null, highest)));
  if (value.waiting) grid.append(waiting(value.waiting, value.progress));
  const kept = columns.length === 2 ? columns[0].hits.filter((hit) => hit.there <= columns[1].hits.length).length : null;
  const words = kept === null ? "" : `${kept} of ${columns[0].hits.length} are the same by both. Bars show cosine similarity; point at a sentence to see where the other encoder has it.`;
  frame.replaceChildren(grid, make("p", "watch-more near-foot", words));
}

draw();
watch("value", draw);
