/* More to do with the map: place a typed sentence, plain axes of two phrases, words that name no group, and the film over the checkpoints.
   Part of map.js, which holds what is known. */

const wanted = make("input", "lab-input map-typed");
const phraseA = make("input", "lab-input map-phrase");
const phraseB = make("input", "lab-input map-phrase");
const axesGo = button("watch-button", "Show", () => plainAxes());
const axesOff = button("watch-button", "Back to the map", () => leaveAxes());
const axesBox = make("details", "map-axes");

function fillMore() {
  for (const [input, hint] of [[wanted, "Type a sentence to place it on the map"], [phraseA, "to the right: a phrase"], [phraseB, "up: another phrase"]]) {
    input.type = "text";
    input.dir = "auto";
    input.maxLength = 2000;
    input.placeholder = hint;
    input.setAttribute("aria-label", hint);
  }
  const go = button("watch-button", "Place", () => place());
  wanted.addEventListener("keydown", (event) => event.key === "Enter" && place());
  for (const input of [phraseA, phraseB]) input.addEventListener("keydown", (event) => event.key === "Enter" && plainAxes());
  const row = make("span", "map-axes-row");
  row.append(phraseA, phraseB, axesGo, axesOff);
  axesOff.hidden = true;
  axesBox.append(make("summary", "", "Plain axes"), row);
  axesBox.title = "How similar each sentence is to two phrases of yours: readable without knowing UMAP";
  const box = make("span", "map-place");
  box.append(wanted, go);
  const list = button("watch-button", "Select what is shown", () => map && select(groups.filter((one) => !hidden.has(one.name)).flatMap((one) => one.rows)));
  list.title = "All sentences of the groups that are not hidden; a lasso selects by hand";
  more.append(box, list, axesBox, ignoreFold());
}

function warn(text) {
  note.hidden = !text;
  note.textContent = text || "";
}

/* Ask until the answer is there; null after an error, which is told, or when another run was chosen. `stop` ends the work. */
async function patiently(act, stop, left = () => false) {
  const mine = turn;
  for (;;) {
    const got = await act().catch(() => ({ phase: "Waiting for the app", done: 0, total: 0 }));
    if (mine !== turn || !map || left()) return null;
    if (got.error !== undefined) return warn(got.error), null;
    if (got.phase === undefined) return warn(""), got;
    warn(got.total ? `${got.phase}: ${number(got.done)} of ${number(got.total)}` : `${got.phase} …`);
    if (stop) note.append(" ", button("watch-button", "Cancel", stop));
    await new Promise((done) => setTimeout(done, 400));
  }
}

// ---- a typed sentence

async function place() {
  const text = wanted.value.trim();
  if (!map) return;
  if (!text) return warn("Type a sentence to place on the map.");
  const by = which;
  const layout = map.layouts[by];
  const got = await patiently(() => server.place(run, map.key, layout.place, text, axes?.a || "", axes?.b || ""));
  if (!got || by !== which) return;
  typed = { ...got, similar: unpack(got.similar, Float32Array) };
  offer(shown.of);
  showCard({ ...got, label: "", at: [got.x, got.y, got.z] }, by);
  if (colour.value === "query") draw();
}

// ---- plain axes

/* What is drawn of an encoder: its map, or its plain axes while they are on. */
async function seenBy(one, name, mine) {
  const layout = await layoutOf(one, name, mine);
  if (!axes || !layout) return layout;
  const kept = axes.made.get(layout);
  if (kept) return kept;
  const asked = axes;
  const got = await (map ? patiently(() => server.axes(run, one.key, layout.place, asked.a, asked.b)) : null);
  if (!got || axes !== asked) return got ? layout : null;
  const made = { ...layout, kind: "axes", z: undefined, x: unpack(got.x, Float32Array), y: unpack(got.y, Float32Array) };
  for (const values of [made.x, made.y]) {
    for (const value of values) {
      asked.low = Math.min(asked.low, value - 0.03);
      asked.high = Math.max(asked.high, value + 0.03);
    }
  }
  asked.made.set(layout, made);
  return made;
}

async function plainAxes() {
  const [a, b] = [phraseA.value.trim(), phraseB.value.trim()];
  if (!map) return;
  if (!a || !b) return warn("Type a phrase for each axis.");
  const before = axes;
  axes = { a, b, low: 0, high: 0.3, made: new Map() };
  const ready = await seenBy(map, which, turn);
  if (!ready || ready.kind !== "axes") return void (axes = before);
  axesOff.hidden = false;
  unpick();
  show(ready, true);
}

function leaveAxes() {
  axes = null;
  axesOff.hidden = true;
  unpick();
  if (map) show(map.layouts[which], true);
}

function axis(phrase, style) {
  const letters = Array.from(phrase);
  const title = plain(letters.length > 60 ? `${letters.slice(0, 59).join("")}…` : phrase);
  const colour = style.getPropertyValue("--border-color-primary").trim();
  return { visible: true, range: [axes.low, axes.high], title: { text: `similar to: ${title}`, standoff: 8 }, gridcolor: colour, zerolinecolor: colour, tickformat: ".1f", automargin: true };
}

// ---- words that name no group

/* The names without the words that the person wants ignored; the groups stay. */
async function withoutIgnored(key, place, given) {
  if (!remembered.ignore || !given?.length) return given;
  const got = await server.names(run, key, place, remembered.ignore).catch(() => ({}));
  return got.names || given;
}

function ignoreFold() {
  const fold = make("details", "map-ignore");
  const title = make("summary", "");
  const input = make("input", "lab-input map-ignored");
  const hint = "words that shall name no group";
  input.type = "text";
  input.dir = "auto";
  input.maxLength = 2000;
  input.placeholder = hint;
  input.setAttribute("aria-label", hint);
  input.value = remembered.ignore || "";
  fold.title = "Parted by commas or spaces; the names change at once, the groups stay";
  const say = () => {
    const count = (remembered.ignore || "").split(/[\s,;，、]+/).filter(Boolean).length;
    title.textContent = count ? `Ignored words (${count})` : "Ignored words";
  };
  let late = 0;
  const rename = async () => {
    remembered.ignore = input.value.trim();
    remember();
    say();
    const one = map, asked = remembered.ignore;
    if (!one) return;
    for (const layout of Object.values(one.layouts)) {
      if (layout.kind !== "umap") continue;
      const got = await server.names(run, one.key, layout.place, asked).catch(() => ({}));
      if (one !== map || asked !== remembered.ignore) return; // more was typed meanwhile
      if (got.names) layout.names = got.names;
      if (layout === map.layouts[which] && shown) (shown.of.names = layout.names), group(), draw();
    }
  };
  input.addEventListener("input", () => (clearTimeout(late), (late = setTimeout(rename, 350))));
  say();
  fold.append(title, input);
  return fold;
}

// ---- the film

let player = 0;
const filmGo = button("watch-button", "Film", () => (isFilm() ? play() : trigger("map_film", {})));
const isFilm = () => map.said.layouts.length > (view === "live" ? 1 : 2);
const filmAt = make("input", "watch-range");
filmAt.type = "range";
filmAt.min = 0;
filmAt.setAttribute("aria-label", "Which step of the training");
const filmName = make("span", "map-film-name");
filmAt.addEventListener("input", () => (halt(), turnTo(map.said.layouts[+filmAt.value].which)));

function drawFilm() {
  const { said } = map;
  const frames = isFilm();
  film.hidden = !said.film && !frames;
  if (!film.childElementCount) film.append(filmGo, filmAt, filmName);
  filmAt.hidden = filmName.hidden = !frames;
  filmGo.textContent = player ? "Pause" : frames ? "Play" : "Film";
  filmGo.title = frames ? "Play the training as a film" : "Draw the map of every checkpoint, each from the one before, and play them as a film";
  filmAt.max = said.layouts.length - 1;
  filmAt.value = said.layouts.findIndex((one) => one.which === which);
  filmName.textContent = said.layouts.find((one) => one.which === which)?.title || "";
}

function play() {
  if (player) return halt(), drawFilm();
  const frames = map.said.layouts;
  let at = frames.findIndex((one) => one.which === which);
  if (at >= frames.length - 1) at = -1;
  const step = () => {
    at += 1;
    if (!map || map.said.layouts.length !== frames.length || at >= frames.length) return halt(), map && drawFilm();
    turnTo(frames[at].which);
    player = setTimeout(step, 1500);
  };
  player = setTimeout(step, 0);
  drawFilm();
}

function halt() {
  clearTimeout(player);
  player = 0;
}
