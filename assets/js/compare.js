/* The comparison: how far it is, the verdict, the table with the best in bold, the bars, and the table as a file.

   props.value is {run, message, asked}. Server functions: state(run, known), file(run, job, format). Event: 'compare_stop'
   with {job}. A run that begins with "sweep:" is a sweep; a table may come with a curve, see compare_curve.js. Names of systems and tasks enter through textContent only. */

const [SWEEP, LEFT] = ["sweep:", "Left out:"]; // LEFT: how a note on a run without an encoder begins
const ACTIVE = ["queued", "starting", "running", "stopping"];
const FILES = { csv: ["CSV", "text/csv", "csv"], markdown: ["Markdown", "text/markdown", "md"], latex: ["LaTeX", "text/x-tex", "tex"] };
const COLOURS = ["#E69F00", "#56B4E9", "#CC79A7", "#D55E00", "#0072B2", "#F0E442"];
const PATTERNS = ["", "", "/", "x", ".", "\\", "-", "+", "|"];

// ---- the frame, built once

const frame = make("section", "compare");
const bar = make("div", "map-progress");
const told = make("span", "map-told");
const track = make("span", "map-track");
const part = make("span", "map-part");
track.append(part);
let job = "";
const stop = button("watch-button", "Stop", () => {
  stop.disabled = true;
  trigger("compare_stop", { job });
});
bar.append(told, track, stop);
bar.setAttribute("role", "status");
const note = make("p", "map-note");
const empty = make("p", "watch-empty");
const result = make("div", "compare-result");
const verdict = make("p", "compare-verdict");
const holder = make("div", "compare-holder");
const saves = make("div", "compare-saves");
const plot = make("div", "compare-plot");
const legend = make("p", "watch-more");
const notes = make("ul", "compare-notes");
const missing = make("ul", "compare-missing");
const reported = make("details", "compare-reported");
plot.setAttribute("role", "img");
plot.setAttribute("aria-label", "The table as bars");
const again = button("watch-button", "", () => {
  again.disabled = true;
  trigger("compare_table", {});
});
again.title = "It takes its place in the queue, and measures every run of the sweep that is trained by then";
again.hidden = true;
const curve = make("div", "compare-curve");
curve.hidden = true;
result.append(verdict, missing, holder, legend, saves, curve, plot, notes, reported);
const steps = make("section", "compare-steps");
const stepsTitle = make("h3", "compare-steps-title");
const stepsSaid = make("p", "watch-more");
const stepsPlot = make("div", "compare-curve");
let followed = null;
const halt = button("watch-button", "Stop", () => {
  halt.disabled = true;
  trigger("compare_stop", { job: followed.job });
});
steps.append(stepsTitle, stepsSaid, halt, stepsPlot);
steps.hidden = true;
frame.append(bar, note, steps, empty, result, again);
element.replaceChildren(frame);
for (const one of [bar, note, result]) one.hidden = true;

for (const [kind, [title, type, ending]] of Object.entries(FILES)) {
  const one = button("watch-button", title, async () => {
    const got = await server.file(run, shown, kind).catch(() => ({ error: "The app does not answer." }));
    if (got.error) return say(got.error);
    download(`comparison.${ending}`, type, got.text);
  });
  one.title = `Save the table as ${title}`;
  saves.append(one);
}
saves.prepend(make("span", "watch-more", "Save the table as"));

// ---- asking

let run = "";
let shown = "";
let [table, curved] = [null, null];
let [round, timer] = [0, 0];

function begin() {
  const value = props.value || {};
  round += 1;
  if ((value.run || "") !== run) {
    run = value.run || "";
    shown = job = "";
    table = curved = null;
    result.hidden = bar.hidden = steps.hidden = again.hidden = true;
    followed = null;
  }
  say(value.message || "", true);
  if (!run) tell("Choose a run above, or start one on the Train tab. How it compares with others is shown here.");
  else {
    if (value.asked && !value.message) progress({ state: "starting", phase: "Starting" });
    look(round);
  }
}

async function look(mine) {
  clearTimeout(timer);
  if (mine !== round || !element.isConnected) return;
  let said = null;
  if (!document.hidden && element.offsetParent) {
    try {
      said = await server.state(run, shown);
    } catch {
      /* the app is away for a moment */
    }
    if (mine !== round) return;
    if (said) follow(said);
  }
  const busy = !said || ACTIVE.includes(said.state) || ACTIVE.includes(said.followed?.state);
  timer = setTimeout(look, busy ? 700 : 4000, mine);
}

function follow(said) {
  if (said.state === undefined) {
    say(said.error);
    return;
  }
  job = said.job;
  progress(said);
  drawSteps(said.followed || null);
  if (said.table) {
    table = said.table;
    curved = said.curves || null;
    shown = said.shown;
    draw(said.reported || []);
  }
  const message = (props.value || {}).message;
  again.hidden = !run.startsWith(SWEEP) || ACTIVE.includes(said.state);
  again.disabled = false;
  again.textContent = table ? "Make the table again" : "Make the table";
  if (message) say(message, true);
  else if (said.state === "failed") say(`${run.startsWith(SWEEP) ? "The sweep's table could not be made" : "The evaluation ended"}: ${said.error}`, true);
  else if (said.state === "crashed") say("The evaluation's process ended before it was done. Press Evaluate to try again.", true);
  else if (said.state === "stopped") say(run.startsWith(SWEEP) ? "Stopped." : "Stopped. Press Evaluate to start again.");
  else say("");
  if (table || followed) tell("");
  else if (ACTIVE.includes(said.state)) tell("The table comes when the last system has been measured. You may close this page meanwhile.");
  else if (!note.hidden) tell("");
  else if (run.startsWith(SWEEP)) tell("The table of this sweep has not been made. It measures the runs that are trained by now.");
  else tell("Choose what to compare and on what, then press Evaluate. The table and the bars come here and are kept.");
}

/* A task at every checkpoint: what is measured, how far it is, and the curve. */
function drawSteps(now) {
  const before = JSON.stringify(followed);
  followed = now;
  steps.hidden = !now;
  if (!now) return;
  const active = ACTIVE.includes(now.state);
  if (JSON.stringify(now) === before && stepsPlot.childElementCount) return;
  stepsTitle.textContent = `At every checkpoint: ${now.task}`;
  inDirection(stepsTitle);
  const drawn = now.curves.length > 0;
  const later = active && !drawn ? " The curve comes with the first checkpoint." : "";
  stepsSaid.textContent = now.error ? `It ended: ${now.error}` : active ? `${sentence(now.phase || "Starting")} …${later}` : drawn ? "Every checkpoint is measured." : "Fewer than two checkpoints could be measured.";
  stepsSaid.className = now.error ? "compare-failed" : "watch-more";
  halt.hidden = !active;
  halt.disabled = false;
  drawCurves(stepsPlot, now.curves, looks(), getComputedStyle(element).fontFamily);
}

function progress(said) {
  const active = ACTIVE.includes(said.state);
  bar.hidden = !active;
  frame.dataset.state = said.state;
  if (!active) return;
  if (said.state !== "stopping") stop.disabled = false;
  stop.hidden = said.state === "queued"; // the queue above the Train tab's result is where it is taken off
  told.textContent = said.state === "queued" ? said.phase : said.total ? `${said.phase}, ${number(said.step)} of ${number(said.total)} texts` : `${sentence(said.phase || "Starting")} …`;
  part.style.width = `${said.total ? Math.round((100 * said.step) / said.total) : 0}%`;
  part.classList.toggle("map-waiting", !said.total);
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);
const say = (message, failed = false) => {
  note.hidden = !message;
  note.className = failed ? "map-note compare-failed" : "map-note";
  note.textContent = message;
  if (message) note.setAttribute("role", "alert");
};
const tell = (message) => ((empty.hidden = !message), (empty.textContent = message));

// ---- drawing

function draw(facts) {
  result.hidden = false;
  frame.dataset.shown = shown;
  verdict.textContent = table.verdict;
  verdict.hidden = !table.verdict;
  holder.replaceChildren(grid());
  legend.textContent = ["Numbers are percent; the best of a column is bold.", table.legend && `${table.legend}.`].filter(Boolean).join(" ");
  const lines = (texts) => texts.map((text) => inDirection(make("li", "", text)));
  notes.replaceChildren(...lines(table.notes.filter((text) => !text.startsWith(LEFT))));
  missing.replaceChildren(...lines(table.notes.filter((text) => text.startsWith(LEFT))));
  missing.hidden = !missing.childElementCount;
  reported.hidden = !facts.length;
  const list = make("ul", "");
  for (const [what, value, source] of facts) {
    const line = make("li", "", `${what}: ${value} `);
    line.append(make("small", "", `reported, ${source}`));
    list.append(line);
  }
  reported.replaceChildren(make("summary", "", "What others report"), make("p", "watch-more", "Measured by others on other data; not comparable with the table number by number."), list);
  bars();
}

function grid() {
  const made = make("table", "compare-table");
  const head = make("tr");
  const single = table.columns.every((one) => one.task === table.columns[0].task); // the verdict and the notes name it
  head.append(make("th", "", "System"));
  for (const column of table.columns) {
    const cell = make("th", "compare-number");
    cell.append(inDirection(make("span", "", column.metric || column.task)));
    if (column.metric && !single) cell.append(inDirection(make("small", "", column.task)));
    head.append(cell);
  }
  const times = make("th", "compare-number", "Seconds");
  head.append(times);
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  table.rows.forEach((row, place) => {
    const line = make("tr");
    line.append(inDirection(make("th", "", row.label)));
    line.firstChild.scope = "row";
    row.cells.forEach((cell, column) => {
      const box = make("td", "compare-number");
      box.append(make(cell.best ? "strong" : "span", "", table.shown[place][column]));
      if (table.differs[place][column]) box.append(make("sup", "", "†"));
      if (cell.p !== null) box.title = `p = ${cell.p.toFixed(3)} against ${table.rows[0].label}`;
      if (cell.mean === null) box.title = "This system has no vectors, which this measure needs";
      line.append(box);
    });
    line.append(make("td", "compare-number compare-seconds", row.seconds.toFixed(1)));
    body.append(line);
  });
  made.append(top, body);
  return made;
}

function colour(row, place, look) {
  if (/^Untrained base$/.test(row.label)) return look.base;
  if (/^Trained \(/.test(row.label)) return look.accent;
  return COLOURS[place % COLOURS.length];
}

function bars() {
  if (followed && window.Plotly) drawCurves(stepsPlot, followed.curves, looks(), getComputedStyle(element).fontFamily);
  if (!element.isConnected || !element.offsetParent || !table) return;
  if (!window.Plotly) return void setTimeout(bars, 200);
  const style = getComputedStyle(element);
  const look = looks();
  drawCurves(curve, curved, look, style.fontFamily);
  const narrow = result.clientWidth < 560;
  const titles = table.columns.map((column) => (table.columns.every((one) => one.task === column.task) ? column.metric : `${column.task}<br>${column.metric}`));
  const plain = titles.map((title) => title.replace(/[<>&](?!br>)/g, " ").replaceAll("br ", "<br>"));
  const traces = table.rows.map((row, place) => ({
    type: "bar",
    name: row.label.replace(/[<>&]/g, " "),
    x: plain,
    y: row.cells.map((cell) => cell.mean),
    error_y: { type: "data", array: row.cells.map((cell) => cell.deviation || 0), visible: row.cells.some((cell) => cell.deviation), color: look.text, thickness: 1 },
    marker: { color: colour(row, place, look), pattern: { shape: PATTERNS[place % PATTERNS.length], fillmode: "overlay", fgcolor: look.text, fgopacity: 0.3, size: 7 } },
    text: row.cells.map((cell) => (cell.mean === null || cell.deviation || narrow ? "" : cell.mean.toFixed(1))),
    textposition: "outside",
    textfont: { size: 11, color: look.text },
    cliponaxis: false,
    hovertemplate: "%{y:.2f}<extra>%{fullData.name}</extra>",
  }));
  const layout = {
    barmode: "group",
    bargap: 0.25,
    height: narrow ? 320 : 360,
    margin: { l: 40, r: 8, t: 20, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: style.fontFamily, size: 12, color: look.text },
    legend: { orientation: "h", y: -0.2, yanchor: "top", x: 0 },
    xaxis: { fixedrange: true, tickfont: { color: look.text }, automargin: true, linecolor: look.grid, tickangle: narrow ? 90 : 0 },
    yaxis: { fixedrange: true, rangemode: "tozero", gridcolor: look.grid, zerolinecolor: look.grid, ticksuffix: " %", tickfont: { color: look.soft } },
    hoverlabel: { bgcolor: style.getPropertyValue("--background-fill-primary"), bordercolor: look.grid, font: { color: look.text } },
  };
  Plotly.react(plot, traces, layout, { displayModeBar: false, responsive: true });
}

watch("value", begin);
new MutationObserver(bars).observe(document.body, { attributes: true, attributeFilter: ["class"] });
let width = 0;
new ResizeObserver(() => {
  if (result.clientWidth !== width) {
    width = result.clientWidth;
    bars();
  }
}).observe(result);
begin();
