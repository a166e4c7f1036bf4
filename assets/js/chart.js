/* The live chart of a run: raw and smoothed loss, held-out looks, the loss with another sentence's vector, learning rate.

   props.value is the name of a run, or "". The server gives `metrics(run, offset, edition)`. Every row that was ever
   received is kept here; what is drawn is thinned to the pixels there are, again after each zoom. */

const EVERY = 1000; // ms between two questions while a run goes on
const REST = 5000; // ms while it does not: it may be resumed
const STORE = "tsdae-chart";
const ACTIVE = ["queued", "starting", "running", "stopping"];
const MARKS = { decoder_warmup_end: "decoder warmed up", checkpoint: "checkpoint", resumed: "resumed" };

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  node.className = className || "";
  if (text !== undefined) node.textContent = text;
  return node;
};

// ---- the frame, built once

const summary = make("p", "watch-summary");
const controls = make("div", "watch-controls");
const stage = make("div", "watch-stage");
const plot = make("div", "watch-plot");
const empty = make("p", "watch-empty");
const caption = make("div", "watch-caption");
plot.setAttribute("role", "img");
plot.setAttribute("aria-label", "Loss of the run over its steps");
stage.append(plot, empty);
const frame = make("section", "watch-chart");
frame.append(summary, controls, stage, caption);
element.replaceChildren(frame);

const remembered = (() => {
  try {
    return JSON.parse(localStorage.getItem(STORE)) || {};
  } catch {
    return {};
  }
})();
const remember = () => {
  try {
    localStorage.setItem(STORE, JSON.stringify({ log: log.checked, rate: rate.checked, smoothing: +smoothing.value }));
  } catch {
    /* private windows have no storage; the chart works without */
  }
};

const tick = (text, on, title) => {
  const label = make("label", "watch-tick");
  const box = make("input");
  box.type = "checkbox";
  box.checked = !!on;
  label.title = title;
  label.append(box, text);
  controls.append(label);
  return box;
};
const log = tick("Log scale", remembered.log, "Draw the loss on a logarithmic axis");
const rate = tick("Learning rate", remembered.rate, "Draw the learning rate on a second axis");
const smoothingLabel = make("label", "watch-tick watch-smoothing", "Smoothing");
smoothingLabel.title = "How many earlier steps the strong line looks back on, as a share of the steps so far";
const smoothing = make("input", "watch-range");
smoothing.type = "range";
smoothing.min = 0;
smoothing.max = 30;
smoothing.value = remembered.smoothing ?? 4;
const smoothingText = make("span", "watch-number");
smoothingLabel.append(smoothing, smoothingText);
const follow = make("button", "watch-button", "Follow");
follow.type = "button";
follow.title = "Keep the whole run in view; zooming stops it";
controls.append(smoothingLabel, follow);

// ---- the data

let run = "";
let edition = "";
let offset = 0;
let state = "";
let phase = "";
let answered = false;
let following = true;
let steps = [];
let losses = [];
let rates = [];
let smooth = [];
let looks = [];
let events = [];
let average = { sum: 0, weight: 0, at: 0 };

function clear() {
  steps = [];
  losses = [];
  rates = [];
  smooth = [];
  looks = [];
  events = [];
  average = { sum: 0, weight: 0, at: 0 };
  offset = 0;
}

function take(rows) {
  for (const row of rows) {
    if (row.event) events.push(row);
    else if ("held_out" in row || "shuffled" in row) looks.push(row);
    if (!row.event && "loss" in row) {
      steps.push(row.step);
      losses.push(row.loss);
      rates.push(row.lr ?? null);
    }
  }
  extend();
}

/* An average that forgets by steps, not by rows, so that a thinned curve is smoothed like the whole one. It looks back on a
   share of the steps so far, and on a few rows at least. */
function extend() {
  const share = smoothing.value / 100;
  for (let i = smooth.length; i < steps.length; i++) {
    const apart = Math.max(steps[i] - (i ? average.at : steps[i] - 1), 1e-9);
    const window = share && Math.max(share * (steps[i] - steps[0]), 150 * share * Math.min(apart, 100));
    const stay = window ? Math.exp(-apart / window) : 0;
    if (losses[i] !== null) {
      average.sum = average.sum * stay + losses[i] * (1 - stay);
      average.weight = average.weight * stay + (1 - stay);
    }
    average.at = steps[i];
    smooth.push(average.weight ? average.sum / average.weight : null);
  }
}

/* Positions of the rows between two steps, thinned to the lowest and the highest loss of each of `buckets` parts. */
function visible(from, to, buckets) {
  const first = Math.max(0, search(from) - 1);
  const last = Math.min(steps.length, search(to) + 2);
  const size = Math.ceil((last - first) / buckets);
  const places = [];
  if (size <= 2) {
    for (let i = first; i < last; i++) places.push(i);
    return places;
  }
  for (let start = first; start < last; start += size) {
    let low = start;
    let high = start;
    for (let i = start; i < Math.min(start + size, last); i++) {
      if (losses[i] < losses[low]) low = i;
      if (losses[i] > losses[high]) high = i;
    }
    places.push(...(low < high ? [low, high] : low > high ? [high, low] : [low]));
  }
  if (places[places.length - 1] !== last - 1) places.push(last - 1);
  return places;
}

function search(step) {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

// ---- the picture

const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = (value) =>
  value == null ? "–" : value >= 1000 ? count.format(value) : value.toPrecision(3);
const perplexity = (loss) => (loss > 14 ? "over a million" : three(Math.exp(loss)));
const meaning = (loss) => (loss == null ? "" : `perplexity ${perplexity(loss)}`);

function colour(name, spare) {
  // A computed colour, not the variable's text: themes may write any CSS colour, Plotly reads only some.
  caption.style.color = `var(${name}, ${spare})`;
  const found = getComputedStyle(caption).color;
  caption.style.color = "";
  return found;
}

function palette() {
  const dark = document.body.classList.contains("dark");
  return {
    text: colour("--body-text-color", "#222"),
    soft: colour("--watch-soft", "#777"),
    grid: colour("--border-color-primary", "#ddd"),
    paper: colour("--background-fill-primary", "#fff"),
    accent: colour("--watch-accent", "#0f766e"),
    base: dark ? "#a3a3a3" : "#737373",
    heldOut: dark ? "#e69f00" : "#d55e00",
    rate: dark ? "#d996bb" : "#b3588b",
  };
}

function series(look) {
  const { xaxis } = plot.layout || {};
  const [from, to] = following || !xaxis?.range ? [-Infinity, Infinity] : xaxis.range;
  const places = visible(from, to, Math.max(200, Math.round(stage.clientWidth * 0.75)));
  const at = places.map((i) => steps[i]);
  const line = (name, y, style, more) => ({ type: "scatter", mode: "lines", name, x: at, y, line: style, ...more });
  const drawn = (key) => looks.filter((row) => row[key] != null);
  const [held, shuffled] = [drawn("held_out"), drawn("shuffled")];
  const few = places.length < 3;
  return [
    line("each step", places.map((i) => losses[i]), { color: look.accent, width: 1 }, {
      opacity: few ? 0.6 : 0.35,
      mode: few ? "lines+markers" : "lines",
      hovertemplate: "%{y:.3g}",
    }),
    line("training", places.map((i) => smooth[i]), { color: look.accent, width: 2.5 }, {
      text: places.map((i) => meaning(smooth[i])),
      hovertemplate: "%{y:.3g} (%{text})",
    }),
    line("another sentence's vector", shuffled.map((row) => row.shuffled), { color: look.base, width: 2, dash: "dash" }, {
      x: shuffled.map((row) => row.step),
      text: shuffled.map((row) => meaning(row.shuffled)),
      mode: shuffled.length < 2 ? "markers" : "lines",
      marker: { color: look.base, size: 7, symbol: "line-ew-open" },
      hovertemplate: "%{y:.3g} (%{text})",
    }),
    line("held-out", held.map((row) => row.held_out), { color: look.heldOut, width: 1.5 }, {
      x: held.map((row) => row.step),
      mode: held.length > 200 ? "lines" : "lines+markers",
      marker: { color: look.heldOut, size: stage.clientWidth < 520 || held.length > 60 ? 5 : 7 },
      text: held.map((row) => meaning(row.held_out) + (row.recovered == null ? "" : `, ${percent(row.recovered)} recovered`)),
      hovertemplate: "%{y:.3g} (%{text})",
    }),
    line("learning rate", rate.checked ? places.map((i) => rates[i]) : [], { color: look.rate, width: 1.5, dash: "dot" }, {
      x: rate.checked ? at : [],
      yaxis: "y2",
      visible: rate.checked,
      hovertemplate: "%{y:.2e}",
    }),
  ];
}

const percent = (share) => `${Math.round(100 * share)} %`;

/* A vertical line for each event; a label where it has room, the newest first. */
function marks(look) {
  const shown = events.filter((row) => row.event in MARKS);
  const range = (!following && plot.layout?.xaxis?.range) || [steps[0] ?? 0, steps[steps.length - 1] ?? 1];
  const pixels = Math.max(1, stage.clientWidth - 90) / Math.max(1e-9, range[1] - range[0]);
  const important = (row) => (row.event === "checkpoint" ? 0 : 1);
  const lines = shown.slice(-80).map((row) => ({
    type: "line", xref: "x", yref: "paper", x0: row.step, x1: row.step, y0: 0, y1: 1, layer: "below",
    line: { color: important(row) ? look.text : look.soft, width: 1, dash: important(row) ? "dash" : "dot" },
    opacity: important(row) ? 0.7 : 0.45,
  })); // prettier-ignore
  const taken = [];
  const labels = [];
  for (const row of [...shown].reverse().sort((a, b) => important(b) - important(a))) {
    const text = MARKS[row.event];
    const half = text.length * 3.4 + 8;
    const x = (row.step - range[0]) * pixels;
    const inside = x > -1 && (row.step - range[1]) * pixels < 1;
    if (!inside || taken.some(([other, width]) => Math.abs(other - x) < half + width)) continue;
    taken.push([x, half]);
    labels.push({
      x: row.step, xref: "x", y: 1, yref: "paper", yanchor: "bottom", text, showarrow: false,
      font: { size: 11, color: important(row) ? look.text : look.soft },
    }); // prettier-ignore
  }
  return { lines, labels };
}

function layout(look) {
  const narrow = stage.clientWidth < 520;
  const { lines, labels } = marks(look);
  const axis = { gridcolor: look.grid, linecolor: look.grid, zeroline: false, automargin: true, tickfont: { color: look.soft } };
  return {
    uirevision: run,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(element).fontFamily, size: 12, color: look.text },
    margin: { l: narrow ? 34 : 48, r: rate.checked ? 56 : 14, t: 26, b: 36 },
    height: narrow ? 340 : 400,
    hovermode: "x unified",
    modebar: { bgcolor: "rgba(0,0,0,0)", color: look.soft, activecolor: look.text, orientation: "v" },
    hoverlabel: { bgcolor: look.paper, bordercolor: look.grid, font: { color: look.text } },
    dragmode: "zoom",
    legend: { orientation: "h", y: -0.16, yanchor: "top", x: 0, font: { color: look.text } },
    xaxis: { ...axis, title: { text: narrow ? "" : "step", standoff: 4 }, tickformat: ",d", hoverformat: ",d", rangemode: "nonnegative", showgrid: false, spikethickness: 1, spikecolor: look.soft, spikedash: "dot", unifiedhovertitle: { text: "step %{x}" } },
    yaxis: { ...axis, title: { text: narrow ? "" : "loss (nats per token)", standoff: 6 }, type: log.checked ? "log" : "linear", uirevision: run + log.checked, nticks: 8 },
    yaxis2: { ...axis, overlaying: "y", side: "right", visible: rate.checked, showgrid: false, tickmode: "auto", nticks: 6, tickformat: ".1e", rangemode: "tozero", title: { text: rate.checked && !narrow ? "learning rate" : "" } },
    shapes: lines,
    annotations: labels,
  };
}

const SETTINGS = {
  displaylogo: false,
  showSendToCloud: false,
  responsive: true,
  displayModeBar: "hover",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d"],
};

let listening = false;
let waiting = 0;
const draw = () => {
  if (!waiting) waiting = requestAnimationFrame(() => ((waiting = 0), drawNow()));
};

function drawNow() {
  if (!element.isConnected || !element.offsetParent) return; // drawn when it is seen again
  const nothing = !steps.length && !looks.length;
  empty.hidden = !nothing;
  plot.hidden = nothing;
  controls.hidden = nothing;
  if (nothing) summary.replaceChildren();
  empty.textContent = emptyText();
  empty.classList.toggle("watch-waiting", nothing && !!run && (!answered || ACTIVE.includes(state)));
  smoothingText.textContent = `${smoothing.value} %`;
  smoothing.setAttribute("aria-valuetext", `${smoothing.value} percent of the steps so far`);
  follow.setAttribute("aria-pressed", String(following));
  if (nothing) return;
  say();
  if (!window.Plotly) {
    empty.hidden = false;
    empty.textContent = "The drawing library is still loading …";
    setTimeout(draw, 200);
    return;
  }
  const look = palette();
  Plotly.react(plot, series(look), layout(look), SETTINGS);
  if (!listening) listen();
}

function emptyText() {
  if (!run) return "The loss of a run is drawn here. Choose a run above, or start one.";
  if (!answered) return "Reading the run …";
  if (state === "missing") return "This run is no longer there. Choose another one above.";
  if (ACTIVE.includes(state)) return `${phase || "The run is starting"}. The curve begins with the first steps.`;
  return state === "new" ? "This run has not been started yet." : "This run ended before its first step; the log says why.";
}

/* A loss is never alone: its meaning stands beside it. */
function say() {
  const last = smooth[smooth.length - 1];
  const look = looks[looks.length - 1] || {};
  const parts = [];
  if (last != null) parts.push(["Loss", three(last), meaning(last)]);
  if (look.held_out != null) parts.push(["Held-out", three(look.held_out), meaning(look.held_out)]);
  if (look.shuffled != null) parts.push(["With another sentence's vector", three(look.shuffled), meaning(look.shuffled)]);
  if (look.rebuilt != null) {
    const other = look.rebuilt_shuffled;
    parts.push(["Held-out words right", percent(look.rebuilt), other == null ? "" : `with another vector ${percent(other)}`]);
  }
  if (look.recovered != null) {
    const other = look.recovered_shuffled;
    parts.push(["Deleted ones", percent(look.recovered), other == null ? "" : `with another vector ${percent(other)}`]);
  }
  summary.replaceChildren(
    ...parts.map(([name, value, more]) => {
      const part = make("span", "watch-fact");
      part.append(make("span", "watch-name", name), make("strong", "watch-number", value), make("span", "watch-more", more));
      return part;
    }),
  );
}

function listen() {
  listening = true;
  plot.on("plotly_relayout", (change) => {
    const keys = Object.keys(change);
    if (keys.some((key) => key.endsWith("autorange"))) following = true;
    else if (keys.some((key) => /^[xy]axis\.range/.test(key))) following = false;
    else return;
    draw(); // more detail where the view became narrower
  });
  plot.on("plotly_hover", ({ points }) => points.length && point("watch-hover", points[0].x));
  plot.on("plotly_unhover", () => point("watch-hover", null));
  plot.on("plotly_click", ({ points }) => points.length && point("watch-step", points[0].x));
}

/* The probe table answers with the state of its first sentence at that step, in the caption. */
const point = (name, step) => document.dispatchEvent(new CustomEvent(name, { detail: { run, step, caption } }));

follow.addEventListener("click", () => {
  following = !following;
  if (following && window.Plotly && listening) {
    Plotly.relayout(plot, { "xaxis.autorange": true, "yaxis.autorange": true, "yaxis2.autorange": true });
  } else if (!following && listening) {
    Plotly.relayout(plot, { "xaxis.range": [...plot.layout.xaxis.range], "yaxis.range": [...plot.layout.yaxis.range] });
  }
  draw();
});
smoothing.addEventListener("input", () => {
  smooth = [];
  average = { sum: 0, weight: 0, at: 0 };
  extend();
  remember();
  draw();
});
for (const box of [log, rate]) box.addEventListener("change", () => (remember(), draw()));

// ---- asking

let ticket = 0;

async function ask(mine) {
  const answer = await server.metrics(run, offset, edition);
  if (mine !== ticket || !answer || !Array.isArray(answer.rows)) return;
  const changed = answer.reset || answer.rows.length || !answered || state !== answer.state || phase !== answer.phase;
  if (answer.reset) clear();
  answered = true;
  ({ offset, edition, state } = answer);
  phase = answer.phase || "";
  take(answer.rows);
  if (changed) draw();
}

async function loop(mine) {
  if (mine !== ticket || !element.isConnected) return;
  if (run && !document.hidden && element.offsetParent) {
    try {
      await ask(mine);
    } catch (error) {
      console.warn("the run's numbers did not come; asking again", error);
    }
  }
  setTimeout(loop, !answered || ACTIVE.includes(state) ? EVERY : REST, mine);
}

function begin() {
  const value = props.value;
  const name = (value && typeof value === "object" ? value.run : value) || "";
  if (name === run && ticket) return;
  run = name;
  edition = state = phase = "";
  answered = false;
  following = true;
  clear();
  summary.replaceChildren();
  caption.replaceChildren();
  if (listening) Plotly.purge(plot);
  listening = false;
  ticket += 1;
  draw();
  loop(ticket);
}

watch("value", begin);
new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
new ResizeObserver(() => (listening && window.Plotly && element.offsetParent && Plotly.Plots.resize(plot), draw())).observe(stage);
begin();
