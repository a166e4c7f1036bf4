/* The map: points of a corpus, coloured by label or length; a press shows the sentence and its true neighbours.

   props.value is {run, which, message}. Coordinates travel once, as binary columns; sentences are asked for when needed
   and enter through textContent only. Server functions: state, points, card, sentences. */

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  node.className = className || "";
  if (text !== undefined) node.textContent = text;
  return node;
};
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#a6761d"];
const SYMBOLS = ["circle", "square", "diamond"];
const VIRIDIS = [[0, "#440154"], [0.25, "#3b528b"], [0.5, "#21918c"], [0.75, "#5ec962"], [1, "#fde725"]];
const REVERSED = VIRIDIS.map(([at], place) => [at, VIRIDIS[VIRIDIS.length - 1 - place][1]]);

const frame = make("section", "map");
const bar = make("div", "map-progress");
const told = make("span", "map-told");
const track = make("span", "map-track");
const part = make("span", "map-part");
track.append(part);
bar.append(told, track);
const tools = make("div", "map-tools");
const colour = make("select", "map-colour");
colour.setAttribute("aria-label", "Colour by");
const count = make("span", "map-count");
tools.append(make("label", "", "Colour by "), colour, count);
const body = make("div", "map-body");
const plot = make("div", "map-plot");
const side = make("aside", "map-card");
const tip = make("div", "map-tip");
const chosen = make("div", "map-chosen");
body.append(plot, side);
frame.append(bar, tools, body, chosen, tip);
element.replaceChildren(frame);

let asked = 0; // grows with every new run or encoder: answers to older questions are dropped
let data = null;
let edition = "";
let picked = null;
let timer = 0;
const texts = new Map();

const dark = () => document.body.classList.contains("dark");
const unpack = (text, Kind) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
};
const number = (value) => value.toLocaleString("en-US");

function empty(text, error) {
  data = null;
  edition = "";
  picked = null;
  if (window.Plotly && plot.data) Plotly.purge(plot);
  plot.replaceChildren(make("p", error ? "map-empty map-error" : "map-empty", text));
  side.replaceChildren();
  side.hidden = true;
  chosen.replaceChildren();
  tools.hidden = true;
}

function progress(said) {
  const active = ["starting", "running", "stopping"].includes(said.state);
  bar.hidden = !active;
  if (!active) return;
  const share = said.total ? said.step / said.total : 0;
  told.textContent = said.total ? `${said.phase}: ${number(said.step)} of ${number(said.total)}` : `${said.phase || "Starting"}…`;
  part.style.width = `${Math.round(100 * share)}%`;
  part.classList.toggle("map-waiting", !said.total);
}

async function look(mine) {
  clearTimeout(timer);
  const { run, which, message } = props.value || {};
  if (mine !== asked || !element.isConnected) return;
  if (!run) return empty("Choose a run above, or start one on the Train tab.");
  const said = await server.state(run, which);
  if (mine !== asked) return;
  if (said.error && said.state === undefined) return empty(said.error, true);
  progress(said);
  if (said.edition && said.edition !== edition) await fetchPoints(run, which, said.edition, mine);
  else if (!said.edition) {
    if (message || said.error) empty(message || said.error, true);
    else if (said.state === "none") empty("This run has no encoder yet; the first comes with its first checkpoint.");
    else if (said.state === "new") empty("Press Draw map. It takes about half a minute for a few thousand sentences and is kept.");
    else if (said.state === "crashed") empty("The map's process ended before it was done. Press Draw map to try again.", true);
    else if (!data) empty("The first picture comes as soon as the sentences are embedded.");
  }
  if (["starting", "running", "stopping"].includes(said.state)) timer = setTimeout(() => look(mine), document.hidden ? 3000 : 700);
}

async function fetchPoints(run, which, wanted, mine) {
  const got = await server.points(run, which);
  if (mine !== asked || got.error) return;
  const same = data && data.run === run && data.which === which;
  data = {
    run, which, ...got,
    x: unpack(got.x, Float32Array),
    y: unpack(got.y, Float32Array),
    label: unpack(got.label, Uint8Array),
    length: unpack(got.length, Float32Array),
  };
  edition = wanted;
  if (!same) { picked = null; texts.clear(); chosen.replaceChildren(); side.hidden = true; side.replaceChildren(); }
  const kinds = data.labels.length ? ["label", "length"] : ["length", "nothing"];
  const kept = kinds.includes(colour.value) ? colour.value : kinds[0];
  colour.replaceChildren(...kinds.map((kind) => new Option({ label: "label", length: "number of words", nothing: "nothing" }[kind], kind)));
  colour.value = kept;
  draw();
}

function traces() {
  const base = { type: "scattergl", mode: "markers", hoverinfo: "none" };
  const size = data.x.length > 20000 ? 3 : 4;
  if (colour.value === "label") {
    return data.labels.map((name, group) => {
      const rows = [];
      data.label.forEach((one, row) => one === group && rows.push(row));
      return {
        ...base, customdata: rows, x: rows.map((row) => data.x[row]), y: rows.map((row) => data.y[row]),
        name: name.length > 28 ? `${name.slice(0, 27)}…` : name,
        marker: { size, opacity: 0.7, color: COLOURS[group % 8], symbol: SYMBOLS[Math.floor(group / 8)] },
      };
    });
  }
  const rows = Array.from(data.x.keys());
  const plain = { size, opacity: 0.7, color: COLOURS[0] };
  const scaled = { size, opacity: 0.8, color: data.length, colorscale: dark() ? REVERSED : VIRIDIS, showscale: true,
    colorbar: { title: { text: "words" }, thickness: 10, len: 0.6, outlinewidth: 0 } };
  return [{ ...base, customdata: rows, x: data.x, y: data.y, name: "sentences", showlegend: false, marker: colour.value === "length" ? scaled : plain }];
}

/* Lines from the chosen sentence to its true neighbours, and a ring around it. */
function links() {
  if (!picked) return [];
  const x = [], y = [];
  for (const one of picked.near) x.push(data.x[picked.point], data.x[one.point], null) && y.push(data.y[picked.point], data.y[one.point], null);
  const ink = dark() ? "#f1f5f9" : "#0f172a";
  return [
    { type: "scattergl", mode: "lines", x, y, hoverinfo: "skip", showlegend: false, line: { width: 1, color: ink } },
    { type: "scattergl", mode: "markers", hoverinfo: "skip", showlegend: false, x: [data.x[picked.point]], y: [data.y[picked.point]],
      marker: { size: 13, color: "rgba(0,0,0,0)", line: { width: 2, color: ink } } },
  ];
}

function draw() {
  if (!data) return;
  if (!window.Plotly) return void setTimeout(draw, 100);
  tools.hidden = false;
  if (!plot.data) plot.replaceChildren();
  const style = getComputedStyle(element);
  const quiet = { visible: false, showgrid: false, zeroline: false };
  const layout = {
    uirevision: `${data.run} ${data.which} ${data.kind}`,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: style.fontFamily, size: 12, color: style.getPropertyValue("--body-text-color") || style.color },
    margin: { l: 8, r: 8, t: 8, b: 8 }, hovermode: "closest", hoverdistance: 10, spikedistance: 20, dragmode: "pan",
    xaxis: quiet, yaxis: { ...quiet, scaleanchor: "x" },
    legend: { itemsizing: "constant", bgcolor: "rgba(0,0,0,0)", orientation: frame.clientWidth < 700 ? "h" : "v" },
    showlegend: colour.value === "label",
  };
  const config = { displaylogo: false, showSendToCloud: false, responsive: true, scrollZoom: true,
    modeBarButtonsToRemove: ["autoScale2d", "toggleSpikelines"] };
  const fresh = !plot.data;
  Plotly.react(plot, [...traces(), ...links()], layout, config);
  if (fresh) {
    plot.on("plotly_click", (event) => choose(event.points[0].customdata));
    plot.on("plotly_hover", (event) => hover(event.points[0].customdata, event.event));
    plot.on("plotly_unhover", () => (tip.hidden = true));
    plot.on("plotly_selected", (event) => event && select(event.points.map((one) => one.customdata)));
    plot.on("plotly_deselect", () => chosen.replaceChildren());
  }
  const sampled = data.total > data.x.length ? `${number(data.x.length)} of ${number(data.total)} sentences` : `${number(data.total)} sentences`;
  const trust = data.faithful === null || data.faithful === undefined
    ? "a first picture by PCA; UMAP follows"
    : `about ${Math.round(10 * data.faithful)} of 10 nearest points here are true neighbours: use the list, not the distances`;
  count.textContent = `${sampled}; ${trust}`;
  frame.dataset.kind = data.kind;
}

async function hover(point, event) {
  if (point === undefined) return;
  tip.hidden = false;
  const box = frame.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX - box.left + 14, box.width - 260)}px`;
  tip.style.top = `${event.clientY - box.top + 14}px`;
  tip.dataset.point = point;
  const { run, which } = data;
  if (!texts.has(point)) {
    tip.textContent = "…";
    const [one] = await server.sentences(run, which, [point]);
    texts.set(point, one);
  }
  if (tip.dataset.point !== String(point)) return;
  const one = texts.get(point);
  const text = make("span", "", one.sentence.length > 160 ? `${one.sentence.slice(0, 159)}…` : one.sentence);
  text.dir = "auto";
  tip.replaceChildren(text, ...(one.label ? [make("small", "", one.label)] : []));
}

async function choose(point) {
  if (point === undefined) return;
  const mine = asked;
  const card = await server.card(data.run, data.which, point);
  if (mine !== asked || card.error) return;
  picked = card;
  side.hidden = false;
  const head = make("p", "map-sentence", card.sentence);
  head.dir = "auto";
  const close = make("button", "map-close", "Close");
  close.type = "button";
  close.addEventListener("click", clear);
  const list = make("ol", "map-near");
  for (const one of card.near) {
    const item = make("li");
    const button = make("button", "map-hit");
    button.type = "button";
    const text = make("span", "", one.sentence);
    text.dir = "auto";
    button.append(text, make("small", "", `${one.score.toFixed(2)}${one.label ? `  ${one.label}` : ""}`));
    button.addEventListener("click", () => choose(one.point));
    item.append(button);
    list.append(item);
  }
  side.replaceChildren(close, head, make("p", "map-facts", `${card.label ? `${card.label}, ` : ""}line ${number(card.line)}`),
    make("h4", "", card.near.length ? "Nearest sentences, by the vectors themselves" : "Neighbours come with the UMAP"), list);
  draw();
}

function clear() {
  picked = null;
  side.hidden = true;
  side.replaceChildren();
  draw();
}

async function select(points) {
  const rows = points.filter((point) => point !== undefined);
  const got = rows.length ? await server.sentences(data.run, data.which, rows.slice(0, 500)) : [];
  if (!rows.length || got.error) return void chosen.replaceChildren();
  const head = make("p", "map-chosen-head", `${number(rows.length)} selected${rows.length > got.length ? `, the first ${number(got.length)} shown` : ""} `);
  const save = make("button", "map-save", "Save as CSV");
  save.type = "button";
  save.addEventListener("click", () => download(got));
  head.append(save);
  const table = make("table");
  for (const one of got) {
    const row = make("tr");
    const text = make("td", "", one.sentence);
    text.dir = "auto";
    row.append(text, make("td", "", one.label), make("td", "", number(one.line)));
    table.append(row);
  }
  chosen.replaceChildren(head, table);
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

function begin() {
  asked += 1;
  const { run, which } = props.value || {};
  if (!data || data.run !== run || data.which !== which) empty("Looking for the map…");
  look(asked);
}

frame.addEventListener("keydown", (event) => event.key === "Escape" && picked && clear());
colour.addEventListener("change", draw);
new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
new ResizeObserver(() => data && plot.data && plot.offsetParent && Plotly.Plots.resize(plot)).observe(plot);
bar.hidden = tip.hidden = side.hidden = true;
begin();
watch("value", begin);
