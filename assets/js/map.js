/* The map: a corpus as points, by the base or the trained encoder in one plot. A press shows the sentence and its true
   neighbours; a lasso lists the selected, to be searched, saved or trained on.

   props.value is {run, view, in, also, message, asked, why_off}, `in` being the key of the text and `also` a further encoder; the views are flat, deep (in space) and live (following the training). Coordinates travel once per encoder, as binary columns; sentences are asked for
   when needed and enter through textContent only. Server functions: state, columns, layout, names, card, sentences, saved, place, axes, layer, cancel,
   rebuilt, within, keep.
   Events: 'map_stop', 'map_film', 'map_view'. `.map` carries data-kind and data-which of what is shown, for whoever waits for it. */

const ACTIVE = ["starting", "running", "stopping"];
const STORE = "tsdae-map";
const FILES = [
  ["", "Save as …"], ["html", "Page that works offline (HTML)"], ["png", "Picture (PNG)"], ["svg", "Drawing (SVG)"], ["csv", "Table (CSV)"],
]; // prettier-ignore

const remembered = (() => {
  try {
    return JSON.parse(localStorage.getItem(STORE)) || {};
  } catch {
    return {};
  }
})();

// ---- the frame, built once

const frame = make("section", "map");
const bar = make("div", "map-progress");
const told = make("span", "map-told");
const track = make("span", "map-track");
const part = make("span", "map-part");
track.append(part);
const stop = button("watch-button", "Stop", () => {
  stop.disabled = true;
  trigger("map_stop", {});
});
bar.append(told, track, stop);
bar.setAttribute("role", "status");
const note = make("p", "map-note");
const tools = make("div", "map-inner");
const switcher = make("div", "map-switch");
switcher.setAttribute("role", "group");
switcher.setAttribute("aria-label", "Encoder");
const label = make("label", "map-by", "Colour by ");
const colour = make("select", "map-colour");
label.append(colour);
const names = make("label", "watch-tick");
const named = make("input");
named.type = "checkbox";
named.checked = remembered.named ?? true;
names.append(named, "Names");
names.title = "Write on each group the words that tell it from the others";
const saving = make("select", "map-colour map-save");
saving.setAttribute("aria-label", "Save the map");
saving.title = "Save the map as a file";
for (const [kind, text] of FILES) saving.append(new Option(text, kind));
const count = make("span", "map-count");
const film = make("div", "map-film");
tools.append(switcher, film, label, names, count, saving);
const more = make("div", "map-tools map-more");
const chips = make("div", "map-legend");
chips.setAttribute("aria-label", "Legend: press to hide or show");
const help = make("p", "map-help");
const body = make("div", "map-body");
const stage = make("div", "map-stage");
const plot = make("div", "map-plot");
plot.setAttribute("role", "img");
plot.setAttribute("aria-label", "Map of the corpus");
const tip = make("div", "map-tip");
stage.append(plot, tip);
const side = make("aside", "map-card");
side.setAttribute("aria-label", "The chosen sentence");
const trust = make("p", "map-trust");
const chosen = make("div", "map-chosen");
const beside = make("div", "map-side");
beside.append(side, chosen);
body.append(stage, beside);
const head = make("div", "map-tools map-head");
const views = make("div", "map-switch");
head.append(views, tools);
frame.append(bar, note, head, more, chips, help, body, trust);
fillMore();
element.replaceChildren(frame);

// ---- what is known

let turn = 0; // grows with every other run: answers to older questions are dropped
let round = 0; // grows with every new value: only one loop of questions goes on
let run = "";
let map = null; // {key, columns, layouts: {base: {kind, x, y, ...}}, said}
let view = "flat";
let text = ""; // the key of the text, "" for the run's own
let also = ""; // a further encoder
let wish = "trained"; // the encoder asked for
let which = wish; // the one shown, which may have to stand in for it
let shown = null; // {x, y}: where the points are drawn now, which differs from the layout while they move
let groups = []; // {rows, name, count, colour, symbol}
let hidden = new Set();
let picked = null;
let found = []; // points that a search among the selected found
let timer = 0;
let moving = 0;
let typed = null; // {sentence, x, y, near, similar}: a sentence that was typed and placed
let axes = null; // {a, b, low, high, made}: two phrases instead of the map
let upToDate = false; // whether to say so when the answer is that nothing need be drawn
const texts = new Map();

function clear(text, error) {
  map = shown = picked = typed = axes = null;
  axesOff.hidden = true;
  halt();
  groups = [];
  texts.clear();
  if (window.Plotly && plot.data) Plotly.purge(plot);
  hovered = undefined;
  delete frame.dataset.kind;
  plot.replaceChildren(make("p", `watch-empty${error ? " map-error" : ""}`, text));
  side.replaceChildren();
  unselect();
  for (const node of [side, tools, more, chips, help, trust, tip, note]) node.hidden = true;
}

// ---- asking

function begin() {
  const value = props.value || {};
  const go = document.getElementById("map-go"); // Gradio's own button: off, it says why when pointed at
  if (go) go.title = value.why_off || "";
  clearTimeout(timer);
  stop.disabled = false;
  round += 1;
  const asked = [value.run || "", value.view || "flat", value.in || "", value.also || ""];
  if (String(asked) !== String([run, view, text, also]) || !turn) {
    turn += 1;
    if (also && !asked[3] && wish === "also") wish = "trained";
    if (asked[3] && asked[3] !== also) wish = "also";
    [run, view, text, also] = asked;
    clear(run ? "Looking for the map …" : "Choose a run above, or start one on the Train tab. Its map is drawn here.");
  }
  upToDate = !!value.asked && !value.message;
  drawViews();
  if (run) look(turn, round, value.message);
}

async function look(mine, mineRound, message) {
  clearTimeout(timer);
  if (mineRound !== round || !element.isConnected) return;
  if (document.hidden || !element.offsetParent) {
    timer = setTimeout(() => look(mine, mineRound, message), 1000);
    return;
  }
  let said;
  try {
    said = await server.state(run, view, text, also);
  } catch {
    said = null; // the app is away for a moment
  }
  if (mineRound !== round) return;
  if (said && said.error !== undefined && said.state === undefined) clear(said.error, true);
  else if (said) await follow(said, mine, message);
  if (mineRound === round) timer = setTimeout(() => look(mine, mineRound, message), said && ACTIVE.includes(said.state) ? 700 : 4000);
}

async function follow(said, mine, message) {
  progress(said);
  drawViews(said);
  if (ACTIVE.includes(said.state)) upToDate = false;
  if (said.map) await load(said, mine);
  if (mine !== turn) return;
  if (!map) {
    if (message) clear(message, true);
    else if (view === "live" && !["failed", "crashed"].includes(said.state)) clear(liveWords(said));
    else if (said.state === "failed") clear(`The map could not be drawn: ${said.error}`, true);
    else if (said.state === "crashed") clear("The map's process ended before it was done. Press Draw map to try again.", true);
    else if (ACTIVE.includes(said.state)) clear("The first picture comes as soon as the sentences are embedded.");
    else if (!said.trained) clear(said.training
      ? "Press Draw map to see the base, or Follow the training to see every checkpoint as it is reached."
      : "Press Draw map to see the base. The trained encoder joins it after the first checkpoint.");
    else if (view === "deep") clear("Press Draw map to lay the sentences out in space. It is kept.");
    else clear("Press Draw map: base and trained encoder, about a minute for a few thousand sentences. It is kept.");
    return;
  }
  const problem = message
    || (said.state === "failed" && `The map could not be finished: ${said.error}`)
    || (said.state === "crashed" && "The map's process ended before it was done. Press Draw map to go on.")
    || (view === "live" && !ACTIVE.includes(said.state) && liveWords(said))
    || (said.state === "stopped" && "Stopped. Press Draw map to go on.")
    || (upToDate && said.state === "finished" && !said.stale && "This map is up to date: nothing changed since it was drawn.")
    || (said.stale && !ACTIVE.includes(said.state) && "This map was drawn of an earlier state of the run. Press Draw map to draw the newest.");
  note.hidden = !problem;
  note.textContent = problem || "";
}

function progress(said) {
  const active = ACTIVE.includes(said.state);
  bar.hidden = !active;
  if (!active) return;
  stop.hidden = said.state === "stopping";
  told.textContent = said.total ? `${said.phase} ${number(said.step)} of ${number(said.total)}` : `${(said.phase || "Starting").replace(/^s/, "S")} …`;
  part.style.width = `${said.total ? Math.round((100 * said.step) / said.total) : 0}%`;
  part.classList.toggle("map-waiting", !said.total);
  track.hidden = view === "live" && !said.total; // waiting for a checkpoint is no work
}

async function load(said, mine) {
  const there = said.layouts.filter((one) => one.kind);
  if (view === "live") ahead(there);
  const wanted = there.find((one) => one.which === wish) || there.at(-1);
  if (!wanted) return;
  const same = map && map.key === said.map;
  const next = same ? map : { key: said.map, layouts: {} };
  if (!same) {
    const got = await server.columns(run, said.map);
    if (mine !== turn || got.error) return;
    next.columns = { ...got, label: unpack(got.label, Uint8Array), words: unpack(got.words, Float32Array) };
  }
  next.said = said;
  const ready = await seenBy(next, wanted.which, mine);
  if (mine !== turn || !ready) return;
  const keepsPlace = map && map.columns.label.length === next.columns.label.length;
  map = next;
  if (!same) {
    texts.clear();
    picked = typed = null;
    side.hidden = true;
    unselect();
  }
  const other = which !== wanted.which;
  which = wanted.which;
  if (!same || shown?.of !== ready) show(ready, keepsPlace);
  else describe();
  if (same && other && picked && !picked.at) choose(picked.point); // its neighbours by the new encoder
}

/* The coordinates by one encoder, asked for once and again when PCA has become UMAP. */
async function layoutOf(one, name, mine) {
  const place = one.said.layouts.findIndex((layout) => layout.which === name);
  const kind = one.said.layouts[place].kind;
  const kept = one.layouts[name];
  const changeKnown = one.said.layouts.every((layout) => layout.kind === "umap");
  if (kept && kept.kind === kind && (kept.change || !changeKnown || one.said.layouts.length < 2)) return kept;
  const got = await server.layout(run, one.key, place);
  if (mine !== turn || got.error) return kept;
  const ready = { kind: got.kind, names: await withoutIgnored(one.key, place, got.names), place };
  if (mine !== turn) return kept;
  for (const column of ["x", "y", "z", "trust", "cluster", "change"]) if (got[column]) ready[column] = unpack(got[column], Float32Array);
  ready.span = { x: reach(ready.x), y: reach(ready.y) };
  one.layouts[name] = ready;
  return ready;
}

// ---- around the picture

function describe() {
  const { said } = map;
  switcher.replaceChildren(
    ...["base", "trained", ...(also ? ["also"] : [])].map((name) => {
      const one = said.layouts.find((layout) => layout.which === name);
      const made = button("watch-button", { base: "Base", trained: "Trained" }[name] || one?.title || also, () => turnTo(name));
      made.setAttribute("aria-pressed", String(name === which));
      made.disabled = !one?.kind;
      made.title = one?.kind ? "" : said.trained ? "Press Draw map to add it" : "Comes after the run's first checkpoint";
      return made;
    }),
  );
  switcher.hidden = view === "live";
  const points = shown.of.x.length;
  count.textContent = said.sentences > points ? `${number(points)} of ${number(said.sentences)} sentences, drawn by chance` : `${number(points)} sentences`;
  const one = said.layouts.find((layout) => layout.which === which);
  drawFilm();
  if (shown.of.kind === "axes") trust.textContent = `To the right: more like "${axes.a}". Up: more like "${axes.b}". Cosine similarity by ${encoderWords(which)}; no UMAP is involved.`;
  else if (shown.of.kind !== "umap") trust.textContent = "A first picture: the two main directions of the vectors (PCA). UMAP follows.";
  else if (one?.collapsed) trust.textContent = "By this encoder all sentences have the same vector: the picture means nothing, the encoder has collapsed.";
  else trust.textContent = `About ${Math.round(10 * (one?.faithful || 0))} of the 10 nearest points here are true neighbours: use the list, not the distances.`;
  if (shown.of.kind === "umap" && one?.trustworthy && !one.collapsed) {
    trust.append(" ", make("span", "map-trustworthy", `Trustworthiness ${one.trustworthy.toFixed(2)}`));
    trust.lastChild.title = "1: no sentence is shown near another that it is far from. Venna and Kaski's measure, 15 neighbours, on up to 2,000 points.";
  }
  if (shown.z) trust.append(" Drag to turn. A lasso selects in 2-D only; here a group is selected by hiding the others and pressing Select what is shown.");
  for (const one of saving.options) one.disabled = (!!shown.z && !["", "csv"].includes(one.value)) || (shown.of.kind === "axes" && one.value === "html");
}

async function turnTo(name) {
  wish = which = name;
  const ready = await seenBy(map, name, turn);
  if (!ready || which !== name) return;
  show(ready, true);
  if (picked?.at) place(); // its neighbours by the other encoder
  else if (picked) choose(picked.point);
  if (colour.value === "steady" && !column("steady") && (await fetchLayer("steady", name)) && which === name) draw(); // each has its own
}

// ---- what the user does

saving.addEventListener("change", save);

function remember() {
  if (!["query", ...WORKED_OUT].includes(colour.value)) remembered.colour = colour.value; // those are not there at once
  remembered.named = named.checked;
  try {
    localStorage.setItem(STORE, JSON.stringify(remembered));
  } catch {
    /* private windows have no storage; the map works without */
  }
}
colour.addEventListener("change", recolour);
named.addEventListener("change", () => (remember(), relabel()));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !element.isConnected || !element.offsetParent) return;
  if (picked) unpick();
  else if (selection) unselect();
});
const seen = new MutationObserver(() => shown && (drawLegend(), draw()));
seen.observe(document.body, { attributes: true, attributeFilter: ["class"] });
new ResizeObserver(() => {
  if (!plot.data || !plot.offsetParent) return;
  const keeps = shown?.z || shown?.of.kind === "axes" || zoomed();
  const { x, y } = keeps ? {} : extent();
  const whole = keeps ? (zoomed() && !shown?.z ? sameWidth() : {}) : { "xaxis.range": x, "yaxis.range": y };
  Plotly.relayout(plot, { ...(shown?.z ? {} : { "yaxis.scaleratio": stretch() }), ...whole, autosize: true }).then(() => {
    if (!keeps && fitted) fitted.x = String(plot.layout.xaxis.range);
    relabel();
  });
}).observe(stage);
stage.addEventListener("pointermove", (event) => (pointer = event), { passive: true });
watchPresses();
watchMotion();
bar.hidden = true;
fillViews();
begin();
watch("value", begin);
