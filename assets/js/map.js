/* The map: a corpus as points, by the base or the trained encoder in one plot. A press shows the sentence and its true
   neighbours; a lasso lists the selected.

   props.value is {run, message, asked}. Coordinates travel once per encoder, as binary columns; sentences are asked for
   when needed and enter through textContent only. Server functions: state, columns, layout, card, sentences. Events:
   'map_stop'. `.map` carries data-kind and data-which of what is shown, for whoever waits for it. */

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#a6761d"];
const IN_THE_DARK = { "#0072b2": "#4180e6", "#56b4e9": "#8ad4ff", "#8c6bb1": "#b594e0", "#a6761d": "#c99a45" };
const SYMBOLS = ["circle", "diamond", "triangle-up"];
const SIGNS = ["●", "◆", "▲"];
const GREY = "#8a939e";
const VIRIDIS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const KINDS = {
  label: "label", cluster: "group on the map", words: "number of words", trust: "how far to trust the place",
  change: "neighbours changed by training", nothing: "nothing",
}; // prettier-ignore
const SCALES = { words: "words", trust: "true neighbours", change: "changed" };
const ACTIVE = ["starting", "running", "stopping"];
const STORE = "tsdae-map";

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  node.className = className || "";
  if (text !== undefined) node.textContent = text;
  return node;
};
const button = (className, text, act) => {
  const made = make("button", className, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
};
const inDirection = (node) => ((node.dir = "auto"), node);
const number = (value) => Number(value).toLocaleString("en-US");
const dark = () => document.body.classList.contains("dark");
const shade = (colour) => (dark() && IN_THE_DARK[colour]) || colour;
const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"); // Plotly reads tags
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
const tools = make("div", "map-tools");
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
const count = make("span", "map-count");
tools.append(switcher, label, names, count);
const legend = make("div", "map-legend");
legend.setAttribute("aria-label", "Legend: press to hide or show");
const body = make("div", "map-body");
const stage = make("div", "map-stage");
const plot = make("div", "map-plot");
plot.setAttribute("role", "img");
plot.setAttribute("aria-label", "Map of the corpus");
const tip = make("div", "map-tip");
stage.append(plot, tip);
const side = make("aside", "map-card");
side.setAttribute("aria-label", "The chosen sentence");
body.append(stage, side);
const trust = make("p", "map-trust");
const chosen = make("div", "map-chosen");
frame.append(bar, note, tools, legend, body, trust, chosen);
element.replaceChildren(frame);

// ---- what is known

let turn = 0; // grows with every other run: answers to older questions are dropped
let round = 0; // grows with every new value: only one loop of questions goes on
let run = "";
let map = null; // {key, columns, layouts: {base: {kind, x, y, ...}}, said}
let wish = "trained"; // the encoder asked for
let which = wish; // the one shown, which may have to stand in for it
let shown = null; // {x, y}: where the points are drawn now, which differs from the layout while they move
let groups = []; // {rows, name, count, colour, symbol}
let hidden = new Set();
let picked = null;
let timer = 0;
let moving = 0;
let upToDate = false; // whether to say so when the answer is that nothing need be drawn
const texts = new Map();

function clear(text, error) {
  map = shown = picked = null;
  groups = [];
  texts.clear();
  if (window.Plotly && plot.data) Plotly.purge(plot);
  delete frame.dataset.kind;
  plot.replaceChildren(make("p", `watch-empty${error ? " map-error" : ""}`, text));
  side.replaceChildren();
  chosen.replaceChildren();
  for (const node of [side, tools, legend, trust, tip, note]) node.hidden = true;
}

// ---- asking

function begin() {
  const value = props.value || {};
  clearTimeout(timer);
  stop.disabled = false;
  round += 1;
  if ((value.run || "") !== run || !turn) {
    turn += 1;
    run = value.run || "";
    clear(run ? "Looking for the map …" : "Choose a run above, or start one on the Train tab. Its map is drawn here.");
  }
  upToDate = !!value.asked && !value.message;
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
    said = await server.state(run);
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
  if (ACTIVE.includes(said.state)) upToDate = false;
  if (said.map) await load(said, mine);
  if (mine !== turn) return;
  if (!map) {
    if (message) clear(message, true);
    else if (said.state === "failed") clear(`The map could not be drawn: ${said.error}`, true);
    else if (said.state === "crashed") clear("The map's process ended before it was done. Press Draw map to try again.", true);
    else if (ACTIVE.includes(said.state)) clear("The first picture comes as soon as the sentences are embedded.");
    else if (!said.trained) clear("Press Draw map to see the base. The trained encoder joins it after the first checkpoint.");
    else clear("Press Draw map: base and trained encoder, about a minute for a few thousand sentences. It is kept.");
    return;
  }
  const problem = message
    || (said.state === "failed" && `The map could not be finished: ${said.error}`)
    || (said.state === "crashed" && "The map's process ended before it was done. Press Draw map to go on.")
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
}

async function load(said, mine) {
  const there = said.layouts.filter((one) => one.kind);
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
  const ready = await layoutOf(next, wanted.which, mine);
  if (mine !== turn || !ready) return;
  const keepsPlace = map && map.columns.label.length === next.columns.label.length;
  map = next;
  if (!same) {
    texts.clear();
    picked = null;
    side.hidden = true;
    chosen.replaceChildren();
  }
  which = wanted.which;
  if (!same || shown?.of !== ready) show(ready, keepsPlace);
  else describe();
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
  const ready = { kind: got.kind, names: got.names, place };
  for (const column of ["x", "y", "trust", "cluster", "change"]) if (got[column]) ready[column] = unpack(got[column], Float32Array);
  one.layouts[name] = ready;
  return ready;
}

// ---- drawing

function show(layout, fromWhereTheyAre) {
  const from = fromWhereTheyAre && shown && shown.x.length === layout.x.length ? shown : null;
  const kinds = ["label", "cluster", "words", "trust", "change", "nothing"].filter(
    (kind) => kind === "words" || kind === "nothing" || (kind === "label" ? map.columns.labels.length : layout[kind]),
  );
  const kept = [colour.value, remembered.colour, kinds[0]].find((kind) => kinds.includes(kind));
  if (kinds.join() !== Array.from(colour.options, (one) => one.value).join()) {
    colour.replaceChildren(...kinds.map((kind) => new Option(KINDS[kind], kind)));
  }
  colour.value = kept;
  shown = { x: layout.x, y: layout.y, of: layout };
  group();
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (from && plot.data && !still) glide(from, layout);
  else draw();
  describe();
}

function group() {
  const kind = colour.value;
  const layout = shown.of;
  const count = shown.x.length;
  const split = (places, titles, greyAt) => {
    const rows = titles.map(() => []);
    for (let row = 0; row < count; row++) rows[places(row)].push(row);
    return titles
      .map((name, place) => ({
        name, rows: rows[place],
        colour: place === greyAt ? GREY : COLOURS[place % 8],
        sign: place === greyAt ? 0 : Math.floor(place / 8) % 3,
      }))
      .filter((one) => one.rows.length); // prettier-ignore
  };
  if (kind === "label") {
    const { labels, label: codes } = map.columns;
    groups = split((row) => codes[row], labels, / others$/.test(labels.at(-1)) && labels.length === 24 ? 23 : -1);
  } else if (kind === "cluster") {
    const most = Math.min(23, layout.names.length);
    const titles = layout.names.slice(0, most).map((one) => one.text);
    const more = layout.names.length > most;
    groups = split((row) => (layout.cluster[row] >= 0 && layout.cluster[row] < most ? layout.cluster[row] : most),
      [...titles, more ? "smaller groups and none" : "in no group"], most); // prettier-ignore
  } else {
    groups = [{ name: "", rows: Array.from({ length: count }, (_, row) => row), colour: COLOURS[0], sign: 0 }];
  }
  const known = new Set(groups.map((one) => one.name));
  hidden = new Set([...hidden].filter((name) => known.has(name)));
  drawLegend();
}

const take = (column, rows) => Float32Array.from(rows, (row) => column[row]);

function marker(one) {
  const kind = colour.value;
  const size = shown.x.length > 20000 ? 3 : shown.x.length < 500 ? 7 : 4;
  if (!SCALES[kind]) return { size, opacity: 0.7, color: shade(one.colour), symbol: SYMBOLS[one.sign] };
  const values = kind === "words" ? map.columns.words : shown.of[kind];
  const steps = dark() ? [...VIRIDIS].reverse() : VIRIDIS;
  const top = kind === "words" ? quantile(values, 0.99) : 1;
  return {
    size, opacity: 0.8, color: values, cmin: 0, cmax: top, colorscale: steps.map((one, place) => [place / (steps.length - 1), one]),
    showscale: true,
    colorbar: { title: { text: `${SCALES[kind]}<br>\u00a0`, side: "top" }, thickness: 10, len: 0.6, outlinewidth: 0, x: 1.01, xanchor: "left", y: 0.98, yanchor: "top",
      tickformat: kind === "words" ? "d" : ".0%" },
  }; // prettier-ignore
}

function quantile(values, share) {
  const sorted = Float32Array.from(values).sort();
  return Math.max(1, sorted[Math.floor(share * (sorted.length - 1))] || 1);
}

function traces() {
  const points = groups.map((one) => ({
    type: "scattergl", mode: "markers", hoverinfo: "none", showlegend: false, name: plain(one.name), customdata: one.rows,
    visible: !hidden.has(one.name), x: take(shown.x, one.rows), y: take(shown.y, one.rows), marker: marker(one),
    selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 0.12 } },
  }));
  return [density(), ...points, ...links()];
} // prettier-ignore

/* Faint contours of how many points lie where, for maps so full that points hide points. */
function density() {
  const none = { type: "contour", visible: false, z: [[0, 0], [0, 0]], showscale: false, hoverinfo: "skip" };
  if (shown.x.length <= 5000) return none;
  const side = 84, reach = 1.25, sigma = 1.6;
  let grid = Array.from({ length: side }, () => new Float32Array(side));
  const bin = (value) => Math.min(side - 1, Math.max(0, Math.floor(((value + reach) / (2 * reach)) * side)));
  for (const one of groups) if (!hidden.has(one.name)) for (const row of one.rows) grid[bin(shown.y[row])][bin(shown.x[row])] += 1;
  const weights = [-4, -3, -2, -1, 0, 1, 2, 3, 4].map((step) => [step, Math.exp(-(step * step) / (2 * sigma * sigma))]);
  const blurred = (rows) => rows.map((row) => row.map((_, at) => weights.reduce((sum, [step, weight]) => sum + weight * (row[at + step] || 0), 0)));
  const turned = (rows) => rows[0].length ? Array.from(rows[0], (_, at) => rows.map((row) => row[at])) : rows;
  grid = turned(blurred(turned(blurred(grid.map((row) => Array.from(row))))));
  const top = Math.max(...grid.map((row) => Math.max(...row)));
  const at = Array.from({ length: side }, (_, place) => -reach + ((place + 0.5) * 2 * reach) / side);
  const ink = dark() ? "255,255,255" : "15,23,42";
  return {
    type: "contour", x: at, y: at, z: grid.map((row) => row.map((value) => Math.sqrt(value / top))), hoverinfo: "skip", showscale: false,
    autocontour: false, contours: { start: 0.18, end: 0.95, size: 0.13, coloring: "fill" }, line: { width: 0.5, color: `rgba(${ink},0.12)`, smoothing: 1.2 },
    colorscale: [[0, `rgba(${ink},0)`], [0.12, `rgba(${ink},0.01)`], [1, `rgba(${ink},0.075)`]], zmin: 0, zmax: 1,
  }; // prettier-ignore
}

/* Lines from the chosen sentence to its true neighbours, and rings around them; always the last two traces. */
function links() {
  const x = [], y = [], ringX = [], ringY = [], sizes = [];
  if (picked) {
    const [fromX, fromY] = [shown.x[picked.point], shown.y[picked.point]];
    ringX.push(fromX);
    ringY.push(fromY);
    sizes.push(14);
    for (const one of picked.near) {
      x.push(fromX, shown.x[one.point], null);
      y.push(fromY, shown.y[one.point], null);
      ringX.push(shown.x[one.point]);
      ringY.push(shown.y[one.point]);
      sizes.push(9);
    }
  }
  const ink = dark() ? "#f1f5f9" : "#0f172a";
  const bare = { type: "scattergl", hoverinfo: "skip", showlegend: false };
  return [
    { ...bare, mode: "lines", x, y, line: { width: 1.2, color: ink }, opacity: 0.55 },
    { ...bare, mode: "markers", x: ringX, y: ringY, marker: { size: sizes, color: "rgba(0,0,0,0)", line: { width: 2, color: ink } } },
  ];
}

/* How high a unit is drawn against its width: the axes mean nothing, so a wide frame is used, within reason. */
const stretch = () => Math.max(0.6, Math.min(1.5, plot.clientHeight / Math.max(1, plot.clientWidth)));

function layoutSettings() {
  const style = getComputedStyle(element);
  const quiet = { visible: false, showgrid: false, zeroline: false, range: [-1.08, 1.08] };
  const surface = style.getPropertyValue("--background-fill-primary").trim() || "white";
  const text = style.getPropertyValue("--body-text-color").trim() || style.color;
  return {
    uirevision: `${run} ${map.key}`, selectionrevision: `${run} ${map.key} ${colour.value}`, autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: { family: style.fontFamily, size: 12, color: text },
    margin: { l: 6, r: SCALES[colour.value] ? 96 : 6, t: 34, b: 6 }, hovermode: "closest", hoverdistance: 10, spikedistance: 20,
    dragmode: plot.layout?.dragmode || "pan", xaxis: quiet, yaxis: { ...quiet, scaleanchor: "x", scaleratio: stretch() },
    modebar: { bgcolor: surface, color: style.getPropertyValue("--body-text-color-subdued").trim(), activecolor: text, orientation: "h" },
    annotations: labels(text, surface),
  };
} // prettier-ignore

/* Names of the groups, largest first, where they do not cover one another at the present zoom. */
function labels(text, surface) {
  const layout = shown?.of;
  if (!named.checked || !layout?.names?.length) return [];
  const [across, down] = [plot._fullLayout?.xaxis, plot._fullLayout?.yaxis];
  const wide = across?._length || plot.clientWidth || 800, high = down?._length || plot.clientHeight || 560;
  const [left, right] = across?.range || [-1.08, 1.08];
  const [low, top] = down?.range || [-1.08, 1.08];
  const taken = [];
  const kept = [];
  for (const one of layout.names) {
    const px = ((one.x - left) / (right - left)) * wide, py = ((top - one.y) / (top - low)) * high;
    const half = 3.4 * one.text.length + 6;
    const box = [px - half, py - 11, px + half, py + 11];
    if (box[0] < 0 || box[2] > wide || box[1] < 0 || box[3] > high) continue;
    if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    kept.push({ x: one.x, y: one.y, text: plain(one.text), showarrow: false, captureevents: false,
      font: { size: 12, color: text }, bgcolor: surface, opacity: 0.88, borderpad: 2 }); // prettier-ignore
  }
  return kept;
}

async function draw() {
  if (!map || !shown) return;
  if (!window.Plotly) return void setTimeout(draw, 100);
  for (const node of [tools, trust]) node.hidden = false;
  const fresh = !plot.data;
  if (fresh) plot.replaceChildren();
  const config = {
    displaylogo: false, displayModeBar: true, showSendToCloud: false, responsive: true, scrollZoom: true, doubleClick: "reset",
    modeBarButtons: [["zoom2d", "pan2d", "lasso2d", "select2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"], ["toImage"]],
    toImageButtonOptions: { format: "png", scale: 2, filename: `map-${run}` },
  }; // prettier-ignore
  await Plotly.react(plot, traces(), layoutSettings(), config);
  frame.dataset.kind = shown?.of.kind || "";
  frame.dataset.which = which;
  if (!fresh || !plot.on) return;
  plot.on("plotly_click", (event) => choose(event.points[0].customdata));
  plot.on("plotly_hover", (event) => hover(event.points[0].customdata, event.event));
  plot.on("plotly_unhover", () => (tip.hidden = true));
  plot.on("plotly_selected", (event) => event && select(event.points.map((one) => one.customdata)));
  plot.on("plotly_deselect", () => chosen.replaceChildren());
  plot.on("plotly_relayout", (event) => "annotations" in event || relabel());
  relabel();
}

/* Names again after a zoom: there may be room for more of them. */
function relabel() {
  if (!plot.data || !shown) return;
  const style = getComputedStyle(element);
  const next = labels(style.getPropertyValue("--body-text-color").trim(), style.getPropertyValue("--background-fill-primary").trim() || "white");
  const text = (all) => (all || []).map((one) => one.text).join("|");
  if (text(next) !== text(plot.layout.annotations)) Plotly.relayout(plot, { annotations: next });
}

/* From one layout to the other: every point goes straight to its new place, in as many steps as the browser manages. */
function glide(from, to) {
  const mine = ++moving;
  const start = { x: Float32Array.from(from.x), y: Float32Array.from(from.y) };
  const began = performance.now();
  const points = groups.map((_, place) => place + 1);
  Plotly.react(plot, [{ ...density(), visible: false }, ...traces().slice(1)], { ...layoutSettings(), annotations: [] });
  const frameOf = () => {
    if (mine !== moving || !plot.data) return;
    const time = Math.min(1, (performance.now() - began) / 900);
    const eased = time * time * (3 - 2 * time);
    if (time >= 1) {
      shown = { x: to.x, y: to.y, of: to };
      return void draw();
    }
    const now = { x: new Float32Array(to.x.length), y: new Float32Array(to.x.length), of: to };
    for (let row = 0; row < to.x.length; row++) {
      now.x[row] = start.x[row] + eased * (to.x[row] - start.x[row]);
      now.y[row] = start.y[row] + eased * (to.y[row] - start.y[row]);
    }
    shown = now;
    const linked = links();
    Plotly.restyle(plot, { x: [...groups.map((one) => take(now.x, one.rows)), ...linked.map((one) => one.x)],
      y: [...groups.map((one) => take(now.y, one.rows)), ...linked.map((one) => one.y)] }, [...points, points.length + 1, points.length + 2]); // prettier-ignore
    requestAnimationFrame(frameOf);
  };
  requestAnimationFrame(frameOf);
}

// ---- around the picture

function describe() {
  const { said } = map;
  switcher.replaceChildren(
    ...["base", "trained"].map((name) => {
      const one = said.layouts.find((layout) => layout.which === name);
      const made = button("watch-button", { base: "Base", trained: "Trained" }[name], () => turnTo(name));
      made.setAttribute("aria-pressed", String(name === which));
      made.disabled = !one?.kind;
      made.title = one?.kind ? "" : said.trained ? "Press Draw map to add it" : "Comes after the run's first checkpoint";
      return made;
    }),
  );
  const points = shown.of.x.length;
  count.textContent = said.sentences > points ? `${number(points)} of ${number(said.sentences)} sentences, drawn by chance` : `${number(points)} sentences`;
  const one = said.layouts.find((layout) => layout.which === which);
  if (shown.of.kind !== "umap") trust.textContent = "A first picture: the two main directions of the vectors (PCA). UMAP follows.";
  else if (one?.collapsed) trust.textContent = "By this encoder all sentences have the same vector: the picture means nothing, the encoder has collapsed.";
  else trust.textContent = `About ${Math.round(10 * (one?.faithful || 0))} of the 10 nearest points here are true neighbours: use the list, not the distances.`;
}

async function turnTo(name) {
  wish = which = name;
  const ready = await layoutOf(map, name, turn);
  if (!ready || which !== name) return;
  show(ready, true);
  if (picked) choose(picked.point); // its neighbours by the other encoder
}

function drawLegend() {
  legend.hidden = groups.length < 2;
  legend.replaceChildren(
    ...(groups.length < 2 ? [] : groups).map((one) => {
      const sign = make("span", "map-sign", SIGNS[one.sign]);
      sign.style.color = shade(one.colour);
      sign.setAttribute("aria-hidden", "true");
      const made = button("map-chip", "", () => toggle(one.name));
      made.append(sign, inDirection(make("span", "map-chip-name", one.name)), make("span", "map-chip-count", number(one.rows.length)));
      made.setAttribute("aria-pressed", String(!hidden.has(one.name)));
      made.title = "Press to hide or show, press twice to show it alone";
      made.addEventListener("dblclick", () => alone(one.name));
      return made;
    }),
  );
}

function toggle(name) {
  if (!hidden.delete(name)) hidden.add(name);
  veil();
}

function alone(name) {
  const others = groups.map((one) => one.name).filter((other) => other !== name);
  hidden = others.every((other) => hidden.has(other)) ? new Set() : new Set(others);
  veil();
}

function veil() {
  [...legend.children].forEach((chip, place) => chip.setAttribute("aria-pressed", String(!hidden.has(groups[place].name))));
  Plotly.restyle(plot, { visible: groups.map((one) => !hidden.has(one.name)) }, groups.map((_, place) => place + 1));
}

async function hover(point, event) {
  if (point === undefined) return;
  const box = stage.getBoundingClientRect();
  tip.dataset.point = point;
  if (!texts.has(point)) {
    const got = await server.sentences(run, map.key, [point]);
    if (got.error) return;
    texts.set(point, got[0]);
  }
  if (tip.dataset.point !== String(point)) return;
  const one = texts.get(point);
  const text = Array.from(one.sentence);
  tip.replaceChildren(inDirection(make("span", "", text.length > 120 ? `${text.slice(0, 119).join("")}…` : one.sentence)));
  if (one.label) tip.append(inDirection(make("small", "", one.label)));
  tip.hidden = false;
  const left = event.clientX - box.left, above = event.clientY - box.top;
  tip.style.left = `${Math.max(4, Math.min(left + 14, box.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${above + 18 + tip.offsetHeight > box.height ? above - tip.offsetHeight - 12 : above + 18}px`;
}

async function choose(point) {
  if (point === undefined || !map) return;
  const mine = turn, by = which;
  const card = await server.card(run, map.key, map.layouts[by].place, point);
  if (mine !== turn || by !== which || card.error) return;
  picked = card;
  const within = side.contains(document.activeElement);
  const close = button("map-close", "Close", unpick);
  close.title = "Close (Escape)";
  const list = make("ol", "map-near");
  const top = Math.max(0.01, ...card.near.map((one) => one.score));
  for (const one of card.near) {
    const item = make("li");
    const hit = button("map-hit", "", () => choose(one.point));
    const facts = make("span", "near-facts");
    const score = make("span", "near-bar");
    const share = make("span", "near-part");
    share.style.width = `${Math.max(2, Math.round((100 * Math.max(0, one.score)) / Math.max(1, top)))}%`;
    score.append(share);
    facts.append(score, make("span", "near-score", one.score.toFixed(3)));
    if (one.label) facts.append(inDirection(make("span", "near-label", one.label)));
    hit.append(inDirection(make("span", "near-text", one.sentence)), facts);
    item.append(hit);
    list.append(item);
  }
  const head = make("p", "map-facts", "");
  if (card.label) head.append(inDirection(make("span", "near-label", card.label)));
  head.append(make("span", "", `line ${number(card.line)}`));
  side.replaceChildren(close, inDirection(make("p", "map-sentence", card.sentence)), head,
    make("h4", "", card.known ? `Nearest by the ${by === "base" ? "base" : "trained encoder"}, in the original space` : "The nearest sentences come with the UMAP"), list); // prettier-ignore
  side.hidden = false;
  side.scrollTop = 0;
  if (within) close.focus(); // the pressed neighbour is gone, the keyboard's place is not
  relink();
}

function relink() {
  const last = groups.length + 1;
  const [lines, rings] = links();
  if (plot.data) {
    Plotly.restyle(plot, { x: [lines.x, rings.x], y: [lines.y, rings.y], "marker.size": [6, rings.marker.size] }, [last, last + 1]);
  }
}

function unpick() {
  picked = null;
  side.hidden = true;
  side.replaceChildren();
  relink();
}

async function select(points) {
  const rows = [...new Set(points.filter((point) => point !== undefined))];
  const mine = turn;
  const got = rows.length ? await server.sentences(run, map.key, rows) : [];
  if (mine !== turn || !rows.length || got.error) return void chosen.replaceChildren();
  const table = make("table", "map-table");
  const page = 100;
  const more = (from) => {
    for (const one of got.slice(from, from + page)) {
      const row = make("tr");
      row.append(inDirection(make("td", "", one.sentence)), inDirection(make("td", "", one.label)), make("td", "map-line", number(one.line)));
      table.append(row);
    }
    further.hidden = table.rows.length >= got.length;
  };
  const further = button("watch-button", "Show more", () => more(table.rows.length));
  const head = make("div", "map-chosen-head");
  head.append(make("strong", "", `${number(rows.length)} selected`));
  if (rows.length > got.length) head.append(make("span", "quiet", `the first ${number(got.length)} are listed`));
  head.append(button("watch-button", "Save as CSV", () => download(got)));
  more(0);
  chosen.replaceChildren(head, table, further);
}

/* A leading = + - @ would be run as a formula by a spreadsheet. */
function download(rows) {
  const cell = (value) => `"${String(value).replace(/^([=+\-@\t\r])/, "'$1").replaceAll('"', '""')}"`;
  const lines = ["sentence,label,line", ...rows.map((one) => [one.sentence, one.label, one.line].map(cell).join(","))];
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", lines.join("\r\n")], { type: "text/csv" }));
  link.download = "selected.csv";
  link.click();
  URL.revokeObjectURL(link.href);
}

// ---- what the user does

function remember() {
  remembered.colour = colour.value;
  remembered.named = named.checked;
  try {
    localStorage.setItem(STORE, JSON.stringify(remembered));
  } catch {
    /* private windows have no storage; the map works without */
  }
}
colour.addEventListener("change", () => (remember(), (hidden = new Set()), group(), draw()));
named.addEventListener("change", () => (remember(), relabel()));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && picked && element.isConnected && element.offsetParent) unpick();
});
const seen = new MutationObserver(() => shown && (drawLegend(), draw()));
seen.observe(document.body, { attributes: true, attributeFilter: ["class"] });
new ResizeObserver(() => {
  if (plot.data && plot.offsetParent) Plotly.relayout(plot, { "yaxis.scaleratio": stretch(), autosize: true }).then(relabel);
}).observe(stage);
bar.hidden = true;
begin();
watch("value", begin);
