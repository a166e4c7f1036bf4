/* The probe table: fixed sentences, what the encoder sees of them, what the decoder rebuilds; a slider over the steps.

   props.value is the name of a run, or "". The server gives `samples(run, offset, edition)`. Sentences are anybody's
   text: they enter the page through textContent only. Needs dom and words. */

const EVERY = 1000; // ms between two questions while a run goes on
const REST = 5000;
const PLAY = 9000; // ms for the whole film
const ACTIVE = ["queued", "starting", "running", "stopping"];

// ---- the frame, built once

const frame = make("section", "watch-probes");
const bar = make("div", "watch-bar");
const play = make("button", "watch-button watch-play", "Play");
const slider = make("input", "watch-range watch-slider");
const where = make("output", "watch-number watch-where");
const newest = make("button", "watch-button", "Newest");
const total = make("p", "watch-total");
const empty = make("p", "watch-empty");
const table = make("table", "watch-table");
const body = make("tbody");
play.type = newest.type = "button";
play.title = "From the first step to the newest";
newest.title = "Show the newest step and follow the run";
slider.type = "range";
slider.min = 0;
slider.step = 1;
slider.setAttribute("aria-label", "Training step shown");
bar.append(play, slider, where, newest);
const head = make("tr");
for (const name of ["Original", "What the encoder sees", "Rebuilt from the vector", "Recovered"]) {
  const cell = make("th", "", name);
  cell.scope = "col";
  head.append(cell);
}
const thead = make("thead");
thead.append(head);
table.append(thead, body);
frame.append(bar, total, table, legend(), empty);
element.replaceChildren(frame);

// ---- the data

let run = "";
let edition = "";
let offset = 0;
let state = "";
let note = ""; // why there will be nothing to show
let answered = false;
let looks = []; // {step, sentences}
let at = -1; // which look is shown
let following = true;
let player = 0;

const count = new Intl.NumberFormat("en");
const percent = (share) => `${Math.round(100 * share)} %`;

function take(rows) {
  for (const row of rows) {
    if (!Array.isArray(row.sentences)) continue;
    if (looks.length && looks[looks.length - 1].step === row.step) looks.pop(); // looked twice at one step
    looks.push(row);
  }
}

// ---- the picture

function draw() {
  const nothing = !looks.length;
  for (const part of [bar, total, table, frame.querySelector(".tok-legend")]) part.hidden = nothing;
  empty.hidden = !nothing;
  empty.textContent = emptyText();
  empty.classList.toggle("watch-waiting", nothing && !!run && !note && (!answered || ACTIVE.includes(state)));
  if (nothing) return body.replaceChildren();
  if (following || at < 0) at = looks.length - 1;
  at = Math.min(at, looks.length - 1);
  const look = looks[at];
  slider.max = looks.length - 1;
  slider.value = at;
  slider.disabled = play.disabled = looks.length < 2;
  slider.setAttribute("aria-valuetext", `step ${count.format(look.step)}`);
  where.textContent = `step ${count.format(look.step)}`;
  newest.setAttribute("aria-pressed", String(following));
  play.textContent = player ? "Stop" : "Play";
  play.setAttribute("aria-pressed", String(!!player));
  say(look.sentences);
  while (body.rows.length > look.sentences.length) body.deleteRow(-1);
  look.sentences.forEach((one, place) => fill(body.rows[place] || row(), one));
}

function row() {
  const made = body.insertRow();
  for (const name of ["Original", "What the encoder sees", "Rebuilt from the vector", "Recovered"]) {
    made.insertCell().dataset.name = name;
  }
  return made;
}

/* Only what changed is replaced, and a row never shrinks while the film plays, so that nothing jumps. */
function fill(made, one) {
  const [original, damaged, rebuilt, end] = made.cells;
  put(original, one.original);
  put(damaged, one.damaged);
  if (player) made.style.height = `${made.offsetHeight}px`;
  put(rebuilt, one.rebuilt, "(nothing)");
  const key = `${one.recovered} ${one.exact} ${one.loss}`;
  if (end.shown === key) return;
  end.shown = key;
  end.replaceChildren(...result(one));
}

function put(cell, tokens, none) {
  const key = JSON.stringify(tokens);
  if (cell.shown === key) return;
  cell.shown = key;
  cell.replaceChildren(tokens && tokens.length ? sentence(tokens) : make("p", "watch-more", none || "–"));
}

function result(one) {
  const line = make("div", "watch-share");
  if (one.recovered == null) line.append(make("span", "watch-more", "nothing deleted"));
  else {
    const track = make("span", "watch-track");
    const part = make("span", "watch-part");
    part.style.width = `${100 * one.recovered}%`;
    track.append(part);
    track.setAttribute("aria-hidden", "true");
    line.append(track, make("span", "watch-number", percent(one.recovered)));
  }
  const below = make("div", "watch-below");
  if (one.exact) below.append(make("span", "watch-exact", "exact"));
  if (one.loss != null) {
    const loss = make("span", "watch-more watch-number", `loss ${one.loss.toFixed(2)}`);
    loss.title = `nats per token; perplexity ${Number(Math.exp(Math.min(one.loss, 50)).toPrecision(3))}`;
    below.append(loss);
  }
  return [line, below];
}

function say(sentences) {
  const known = sentences.map((one) => one.recovered).filter((share) => share != null);
  const mean = known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  const exact = sentences.filter((one) => one.exact).length;
  total.replaceChildren(
    ...(mean == null ? [] : [make("strong", "watch-number", percent(mean)), " of the deleted words recovered, "]),
    make("strong", "watch-number", String(exact)),
    ` of ${sentences.length} sentences exact`,
  );
}

function emptyText() {
  if (!run) return "Sentences of a run and what its decoder makes of them are shown here. Choose a run above, or start one.";
  if (!answered) return "Reading the run …";
  if (state === "missing") return "This run is no longer there. Choose another one above.";
  if (note) return note;
  if (ACTIVE.includes(state)) return "The first look at the probe sentences comes with the first held-out loss.";
  return state === "new" ? "This run has not been started yet." : "This run ended before its first look at the probe sentences.";
}

// ---- moving through the steps

function show(place) {
  at = Math.max(0, Math.min(looks.length - 1, place));
  following = at === looks.length - 1;
  draw();
}

function stop() {
  clearInterval(player);
  player = 0;
  for (const made of body.rows) made.style.height = "";
}

play.addEventListener("click", () => {
  if (player) {
    stop();
    return draw();
  }
  let place = at >= looks.length - 1 ? 0 : at;
  const pause = Math.max(90, Math.min(700, PLAY / looks.length));
  player = setInterval(() => {
    if (!element.isConnected) return stop();
    place += 1;
    if (place >= looks.length - 1) stop();
    show(place);
  }, pause);
  show(place);
});
slider.addEventListener("input", () => {
  stop();
  show(+slider.value);
});
newest.addEventListener("click", () => {
  stop();
  show(looks.length - 1);
});

/* The chart points at a step: its caption gets the first sentence as it was then; a click moves the slider there. */
const nearest = (step) => looks.reduce((best, look, place) => (look.step <= step ? place : best), 0);
function onHover({ detail }) {
  if (!element.isConnected) return document.removeEventListener("watch-hover", onHover);
  if (detail.run !== run) return;
  detail.caption.replaceChildren();
  const look = detail.step != null && looks[nearest(detail.step)];
  if (!look || !look.sentences.length) return;
  detail.caption.append(make("span", "watch-name", `Rebuilt at step ${count.format(look.step)}`), sentence(look.sentences[0].rebuilt));
}
function onStep({ detail }) {
  if (!element.isConnected) return document.removeEventListener("watch-step", onStep);
  if (detail.run !== run || !looks.length) return;
  stop();
  show(nearest(detail.step));
}
document.addEventListener("watch-hover", onHover);
document.addEventListener("watch-step", onStep);

// ---- asking

let ticket = 0;

async function ask(mine) {
  const answer = await server.samples(run, offset, edition);
  if (mine !== ticket || !answer || !Array.isArray(answer.rows)) return;
  const changed = answer.reset || answer.rows.length || !answered || state !== answer.state;
  if (answer.reset) looks = [];
  answered = true;
  ({ offset, edition, state } = answer);
  note = answer.note || "";
  take(answer.rows);
  if (changed && !player) draw();
}

async function loop(mine) {
  if (mine !== ticket || !element.isConnected) return;
  if (run && !document.hidden && element.offsetParent) {
    try {
      await ask(mine);
    } catch (error) {
      console.warn("the probe sentences did not come; asking again", error);
    }
  }
  setTimeout(loop, !answered || ACTIVE.includes(state) ? EVERY : REST, mine);
}

function begin() {
  const value = props.value;
  const name = (value && typeof value === "object" ? value.run : value) || "";
  if (name === run && ticket) return;
  run = name;
  edition = state = note = "";
  offset = 0;
  answered = false;
  looks = [];
  at = -1;
  following = true;
  stop();
  ticket += 1;
  draw();
  loop(ticket);
}

watch("value", begin);
begin();
