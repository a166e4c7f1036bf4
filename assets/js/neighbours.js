/* Search results: one column per encoder, the same sentence linked across them.

   props.value is {columns: [{title, note, hits: [{row, rank, score, sentence, label}]}], message, query}. Pressing a hit
   triggers 'pick' with {sentence}. Text enters through textContent only. */

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  node.className = className || "";
  if (text !== undefined) node.textContent = text;
  return node;
};
const frame = make("section", "near");
element.replaceChildren(frame);

/* How a hit's rank differs from its rank in the other column. */
function change(hit, other) {
  if (!other) return null;
  const there = other.hits.find((one) => one.row === hit.row);
  if (!there) return ["new", `not among the first ${other.hits.length} of ${other.title}`, "up"];
  const moved = there.rank - hit.rank;
  if (!moved) return ["same", `rank ${there.rank} in ${other.title} too`, "same"];
  return [moved > 0 ? `up ${moved}` : `down ${-moved}`, `rank ${there.rank} in ${other.title}`, moved > 0 ? "up" : "down"];
}

function item(hit, other, lowest, highest) {
  const button = make("button", "near-hit");
  button.type = "button";
  button.dataset.row = hit.row;
  button.title = "Search with this sentence";
  button.append(make("span", "near-rank", String(hit.rank)));
  const middle = make("span", "near-middle");
  const text = make("span", "near-text", hit.sentence);
  text.dir = "auto";
  middle.append(text);
  const facts = make("span", "near-facts");
  const bar = make("span", "near-bar");
  const part = make("span", "near-part");
  part.style.width = `${Math.max(2, Math.round((100 * (hit.score - lowest)) / Math.max(1e-6, highest - lowest)))}%`;
  bar.append(part);
  facts.append(bar, make("span", "near-score", hit.score.toFixed(3)));
  if (hit.label) facts.append(make("span", "near-label", hit.label));
  const moved = change(hit, other);
  if (moved) {
    const chip = make("span", `near-move near-${moved[2]}`, moved[0]);
    chip.title = moved[1];
    facts.append(chip);
  }
  middle.append(facts);
  button.append(middle);
  button.addEventListener("click", () => trigger("pick", { sentence: hit.sentence }));
  for (const kind of ["mouseenter", "focus"]) button.addEventListener(kind, () => link(hit.row, true));
  for (const kind of ["mouseleave", "blur"]) button.addEventListener(kind, () => link(hit.row, false));
  return button;
}

function link(row, on) {
  for (const node of frame.querySelectorAll(`[data-row="${row}"]`)) node.classList.toggle("near-linked", on);
}

function draw() {
  const value = props.value || {};
  frame.replaceChildren();
  if (value.message) {
    frame.append(make("p", value.error ? "near-message near-error" : "near-message", value.message));
    return;
  }
  const columns = value.columns || [];
  const scores = columns.flatMap((column) => column.hits.map((hit) => hit.score));
  const lowest = Math.min(0, ...scores);
  const highest = Math.max(...scores, 0.01);
  const grid = make("div", "near-grid");
  columns.forEach((column, place) => {
    const box = make("div", "near-column");
    const head = make("h3", "", column.title);
    if (column.note) head.append(make("small", "", column.note));
    box.append(head);
    const other = columns.length === 2 ? columns[1 - place] : null;
    column.hits.forEach((hit) => box.append(item(hit, other, lowest, highest)));
    grid.append(box);
  });
  frame.append(grid);
}

draw();
watch("value", draw);
