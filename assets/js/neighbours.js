/* Search results: one column per encoder, the same sentence linked across them.

   props.value is {columns: [{title, note, kind, against, error, hits: [{row, rank, score, sentence, label, there, places}]}],
   message, error, examples, waiting, kind, progress, query, label, also, run, in, compared}; `in` is the key of the text, "" for the run's own; `there` is the hit's place in the column
   `against` among all sentences, null if that does not find it. Pressing a hit or an example triggers 'pick' with {sentence};
   so does ?q= in the address, with {sentence, label, also}; 'cancel' ends what is being embedded. Text enters through textContent only. Needs dom. */

const frame = make("section", "near");
element.replaceChildren(frame);

/* How a hit's place differs from its place in the column it is told against: [words, kind].
   The base comes first in time: there a hit did not move, it is only not kept. */
function change(hit, one, count) {
  if (!("there" in hit)) return null;
  const there = hit.there;
  const within = there !== null && there <= count;
  if (one.kind === "trained") {
    if (!within) return [there === null ? "new" : `new, was ${number(there)}`, "up"];
    const moved = there - hit.rank;
    return moved ? [moved > 0 ? `up ${moved}` : `down ${-moved}`, moved > 0 ? "up" : "down"] : ["same place", "same"];
  }
  if (one.kind === "base" && one.against === "Trained") {
    return within ? [`kept at ${there}`, "same"] : [`lost, now ${number(there)}`, "down"];
  }
  const by = one.against.toLowerCase();
  return [there === null ? `not by ${by}` : `${by}: ${number(there)}`, within ? "same" : "down"];
}

const place = ([title, there]) => `${title}: ${there === null ? "no common word" : `place ${number(there)}`}`;

function item(hit, moved, full, decimals) {
  const button = make("button", "near-hit");
  button.type = "button";
  button.dataset.row = hit.row;
  button.title = "Search with this sentence";
  const middle = make("span", "near-middle");
  const facts = make("span", "near-facts");
  const bar = make("span", "near-bar");
  const part = make("span", "near-part");
  part.style.width = `${Math.max(2, Math.round((100 * Math.max(0, hit.score)) / full))}%`;
  bar.append(part);
  facts.append(bar, make("span", "near-score", hit.score.toFixed(decimals)));
  if (hit.label) facts.append(inDirection(make("span", "near-label", hit.label)));
  if (moved) {
    const chip = make("span", `near-move near-${moved[1]}`, moved[0]);
    chip.title = (hit.places || []).map(place).join("\n");
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

function column(one) {
  const box = make("div", `near-column near-${one.kind}`);
  const head = make("h3", "", one.title);
  if (one.note) head.append(inDirection(make("small", "", one.note)));
  box.append(head);
  if (one.error) box.append(make("p", "near-error near-told", one.error));
  else if (!one.hits.length) box.append(make("p", "near-told", one.kind === "words" ? "No sentence shares a word with the query." : "There is no sentence to compare with."));
  const full = one.kind === "words" ? Math.max(0.01, ...one.hits.map((hit) => hit.score)) : 1; // a cosine says something by itself
  for (const hit of one.hits) box.append(item(hit, change(hit, one, one.hits.length), full, one.kind === "words" ? 1 : 3));
  return box;
}

function waiting(title, kind, [phase, done, total, left] = ["", 0, 0, null]) {
  const box = make("div", `near-column near-${kind}`);
  const told = make("p", "near-told", total ? `${phase}: ${number(done)} of ${number(total)} sentences${timeLeft(left)}. It is kept, so this is needed once.` : `${phase} …`);
  told.setAttribute("role", "status");
  const track = make("span", "near-track");
  const part = make("span", "near-part");
  part.style.width = `${total ? Math.round((100 * done) / total) : 0}%`;
  track.append(part);
  const stop = button("watch-button near-cancel", "Cancel", () => ((stop.disabled = true), trigger("cancel", {})));
  box.append(make("h3", "", title), told, track, stop, ...Array.from({ length: 6 }, () => make("div", "near-skeleton watch-waiting")));
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

/* What was asked stands in the address, so that a link shows the same: query, label, further encoder. */
const ASKED = { q: "query", label: "label", also: "also" };

function inUrl(value) {
  const url = new URL(window.location);
  const before = url.href;
  for (const [name, key] of Object.entries(ASKED)) {
    if (value[key]) url.searchParams.set(name, value[key]);
    else url.searchParams.delete(name);
  }
  if (url.href !== before) window.history.replaceState(window.history.state, "", url);
}
const address = () => new URL(window.location).searchParams;
let linked = address().get("q") || ""; // asked once, as soon as the run and the text are known

function draw() {
  const value = props.value || {};
  const columns = value.columns || [];
  if (!columns.length && !value.waiting) {
    const coming = linked && !value.error && (value.run || address().get("run")); // the run or the text may not be known yet
    if (coming && value.run && (value.in || "") === (address().get("in") || "")) {
      trigger("pick", { sentence: linked, label: address().get("label") || "", also: address().get("also") || "" });
      linked = "";
    } else if (value.run && !linked) inUrl({});
    frame.replaceChildren(coming ? make("div", "watch-empty near-empty", "Looking up what the link asks for …") : empty(value));
    return;
  }
  linked = "";
  inUrl(value);
  const grid = make("div", "near-grid");
  columns.forEach((one) => grid.append(column(one)));
  if (value.waiting) grid.append(waiting(value.waiting, value.kind, value.progress));
  frame.replaceChildren(grid, make("p", "watch-more near-foot", value.compared ? summary(columns, value.label) : ""));
}

function summary(columns, label) {
  const [first, second] = columns;
  const words = label ? [`Only sentences of the label "${label}".`] : [];
  if (first?.kind === "trained" && second?.kind === "base") {
    const kept = first.hits.filter((hit) => hit.there <= second.hits.length).length;
    words.push(`${kept} of ${first.hits.length} are the same by both encoders.`);
  }
  words.push("Bars show similarity, full at 1 (of shared words: at the best); point at a sentence to see where the others have it.");
  return words.join(" ");
}

draw();
watch("value", draw);
