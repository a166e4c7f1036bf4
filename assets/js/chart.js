/* The live chart of a run: raw and smoothed loss, held-out looks, the loss with another sentence's vector, learning rate.

   props.value is the name of a run, or "". The server gives `metrics(run, offset, edition)`. Every row that was ever
   received is kept (curve.js); what is drawn is thinned to the pixels there are, again after each zoom (chart_plot.js).
   Needs dom, curve, chart_facts and chart_plot. */

const EVERY = 1000; // ms between two questions while a run goes on
const REST = 5000; // ms while it does not: it may be resumed
const STORE = "tsdae-chart";
const ACTIVE = ["queued", "starting", "running", "stopping"];

// ---- the frame, built once

const summary = make("div", "watch-summary");
const warning = make("p", "watch-warning");
warning.setAttribute("role", "alert");
warning.hidden = healthFold.hidden = true;
const controls = make("div", "watch-controls");
const stage = make("div", "watch-stage");
const plot = make("div", "watch-plot");
const empty = make("p", "watch-empty");
const caption = make("div", "watch-caption");
plot.setAttribute("role", "img");
plot.setAttribute("aria-label", "Loss of the run over its steps");
stage.append(plot, empty);
const frame = make("section", "watch-chart");
frame.append(verdictBox, warning, summary, healthFold, controls, stage, caption);
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
let looks = [];
let events = [];

function clear() {
  clearCurve();
  looks = [];
  events = [];
  offset = 0;
}

function take(rows) {
  for (const row of rows) {
    if (row.event) events.push(row);
    else if ("held_out" in row || "shuffled" in row) looks.push(row);
    if (!row.event && "loss" in row) addToCurve(row);
  }
  smoothCurve(smoothing.value / 100);
}

// ---- the picture

function colour(name, spare) {
  // A computed colour, not the variable's text: themes may write any CSS colour, Plotly reads only some.
  caption.style.color = `var(${name}, ${spare})`;
  const found = getComputedStyle(caption).color;
  caption.style.color = "";
  return found;
}

function view() {
  const { xaxis } = plot.layout || {};
  return {
    run,
    looks,
    events,
    range: following || !xaxis?.range ? null : xaxis.range,
    log: log.checked,
    rate: rate.checked,
    width: stage.clientWidth,
    font: getComputedStyle(element).fontFamily,
  };
}

let listening = false;
let waiting = 0;
const draw = () => {
  if (!waiting) waiting = requestAnimationFrame(() => ((waiting = 0), drawNow()));
};

function drawNow() {
  if (!element.isConnected || !element.offsetParent) return; // drawn when it is seen again
  const nothing = !curve.steps.length && !looks.length;
  empty.hidden = !nothing;
  plot.hidden = nothing;
  controls.hidden = nothing;
  if (nothing) quiet();
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
  const [look, seen] = [palette(colour), view()];
  Plotly.react(plot, series(look, seen), layout(look, seen), SETTINGS);
  if (!listening) listen();
}

function emptyText() {
  if (!run) return "The loss of a run is drawn here. Choose a run above, or start one.";
  if (!answered) return "Reading the run …";
  if (state === "missing") return "This run is no longer there. Choose another one above.";
  if (ACTIVE.includes(state)) return `${phase ? phase[0].toUpperCase() + phase.slice(1) : "The run is starting"}. The curve begins with the first steps.`;
  return state === "new" ? "This run has not been started yet." : "This run ended before its first step; the log says why.";
}

function say() {
  const look = looks[looks.length - 1] || {};
  warning.textContent = look.warning || "";
  warning.hidden = !look.warning;
  summary.replaceChildren(...losses(curve.smooth[curve.smooth.length - 1], look));
  sayHealth(look);
}

function quiet() {
  warning.hidden = healthFold.hidden = verdictBox.hidden = true;
  summary.replaceChildren();
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
  smoothCurve(smoothing.value / 100, true);
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
  unit = answer.unit || unit;
  caption.hidden = Boolean(answer.note); // nothing was rebuilt at any step
  sayVerdict(answer.verdict);
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
  quiet();
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
