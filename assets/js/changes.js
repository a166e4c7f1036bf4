/* What changed most: sentences by how their nearest neighbours differ between two states of the encoder, each with the
   neighbours it kept, gained and lost.

   props.value is {run, in, states: [[title, system]]}; `in` is the key of the text. Server functions: compared(run, text, before, after, first), grouped, moved. Pressing a sentence
   triggers 'pick' with {sentence}, Cancel 'cancel'. Sentences enter through textContent only. Needs dom, moved. */

const KINDS = { gained: "Gained", kept: "Kept", lost: "Lost" };

const frame = make("section", "diff");
const ask = make("div", "map-tools");
const before = make("select", "map-colour");
const after = make("select", "map-colour");
const labelled = (text, field) => {
  const made = make("label", "map-by", text);
  made.append(field);
  return made;
};
ask.append(labelled("From ", before), labelled("to ", after));
const body = make("div", "diff-body");
frame.append(ask, body);
element.replaceChildren(frame);

let run = "";
let text = ""; // the key of the text, "" for the run's own
let ticket = 0;

function say(text, error, place = body) {
  const told = make("p", `watch-empty${error ? " map-error" : ""}`, text);
  told.setAttribute("role", error ? "alert" : "status");
  place.replaceChildren(told);
}

/* The answer of `act`, asked until it is there; how far it is is told in `place`. Null when another state was chosen meanwhile. */
async function until(mine, act, place) {
  for (;;) {
    if (mine !== ticket || !element.isConnected) return null;
    if (element.offsetParent && !document.hidden) {
      const got = await act().catch(() => ({ phase: "Waiting for the app", done: 0, total: 0 }));
      if (mine !== ticket) return null;
      if (got.phase === undefined) return got;
      say(got.total ? `${got.phase}: ${number(got.done)} of ${number(got.total)}${timeLeft(got.left)}` : `${got.phase} …`, false, place);
      if (got.total) place.append(button("watch-button near-cancel", "Cancel", () => trigger("cancel", {})));
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}

const ask_for = (mine, first) => until(mine, () => server.compared(run, text, before.value, after.value, first), body);

async function look() {
  const mine = ++ticket;
  if (before.value === after.value) return say("Choose two different states of the encoder.");
  say("Comparing the neighbours …");
  const got = await ask_for(mine, 0);
  if (!got) return;
  if (got.error !== undefined) return say(got.error, true);
  const list = make("ol", "diff-list");
  const further = button("watch-button", "Show more", async () => {
    further.disabled = true;
    const more = await ask_for(mine, list.children.length);
    if (more?.rows) add(more.rows);
    further.disabled = false;
  });
  const add = (rows) => {
    list.append(...rows.map(item));
    further.hidden = list.children.length >= got.count;
  };
  add(got.rows);
  body.replaceChildren(summary(got), ...folds(mine, got), crowd(got), list, further);
}

/* How many of the nearest stayed, as bars, and one plain sentence. */
function summary(got) {
  const box = make("div", "diff-summary");
  const mean = got.stayed.reduce((sum, count, kept) => sum + count * kept, 0) / Math.max(1, got.count);
  const all = got.sentences > got.count ? `${number(got.count)} of ${number(got.sentences)} sentences, drawn by chance` : `${number(got.count)} sentences`;
  const words = make("p", "diff-words", `Of a sentence's ${got.nearest} nearest, ${mean.toFixed(1)} stayed on average.`);
  const more = make("p", "watch-more", `${all}. Shared neighbours (Jaccard) ${got.jaccard.toFixed(2)}, with order (rank-biased overlap) ${got.overlap.toFixed(2)}; 1 means nothing changed. This says what changed, not what is better.`);
  const bars = make("div", "diff-bars");
  bars.setAttribute("role", "img");
  bars.setAttribute("aria-label", "How many sentences kept how many of their nearest");
  const top = Math.max(1, ...got.stayed);
  got.stayed.forEach((count, kept) => {
    const bar = make("span", "diff-bar");
    const fill = make("span", "diff-fill");
    fill.style.height = `${Math.round((46 * count) / top)}px`;
    bar.title = `${number(count)} sentences kept ${kept} of ${got.nearest}`;
    bar.append(fill, make("small", "", String(kept)));
    bars.append(bar);
  });
  const text = make("div", "diff-text");
  text.append(words, more);
  box.append(bars, text);
  return box;
}

/* Two folds that ask for themselves when they are opened: the groups, and the line through training. */
function folds(mine, got) {
  const made = ["By group: where it changed most", "Through training: every checkpoint against the base"].map((title) => {
    const fold = make("details", "diff-crowd");
    const place = make("div", "diff-more");
    fold.append(make("summary", "", title), place);
    return [fold, place];
  });
  const [[groups, table], [training, line]] = made;
  const kinds = [...(got.labelled ? [["label", "By label"]] : []), ["cluster", "By cluster"]];
  const which = make("div", "map-switch");
  const place = make("div", "diff-more");
  table.append(which, place);
  let turn = 0;
  const choose = async (by) => {
    const own = ++turn;
    for (const [kind, one] of switches) one.setAttribute("aria-pressed", kind === by);
    say("Counting …", false, place);
    const told = await until(mine, () => server.grouped(run, text, before.value, after.value, by), place);
    if (!told || own !== turn) return;
    if (told.error !== undefined) return say(told.error, true, place);
    const words = by === "cluster" ? "Clusters as the map finds them, by the later encoder, called by their most distinctive words. " : "";
    const none = told.groups.some((one) => one.clustered) ? [] : [make("p", "watch-more", "No cluster stands out among these sentences.")];
    place.replaceChildren(make("p", "watch-more", `${words}${ofAll(told.count, told.of)}.`), ...none, groupTable(told));
  };
  const switches = kinds.map(([kind, title]) => [kind, button("watch-button", title, () => choose(kind))]);
  which.append(...switches.map(([, one]) => one));
  groups.addEventListener("toggle", () => groups.open && !turn && choose(kinds[0][0]));
  training.addEventListener("toggle", async () => {
    if (!training.open || line.children.length) return;
    say("Loading …", false, line);
    const told = await until(mine, () => server.moved(run, text), line);
    if (!told) return;
    if (told.error !== undefined) return say(told.error, true, line);
    const plot = make("div", "moved-plot");
    line.replaceChildren(make("p", "watch-more", `How like the base's ${told.nearest} nearest they are on average; 1 means nothing changed. ${ofAll(told.count, told.of)}, the same at every checkpoint.`), plot);
    lineOf(plot, told);
  });
  return [groups, training];
}

/* Sentences that are near to very many others, and pairs that lie on one another. */
function crowd(got) {
  const { alike, hubs, most, pairs, twins } = got.crowd;
  const fold = make("details", "diff-crowd");
  const table = (titles, rows) => {
    const made = make("table", "map-table");
    const line = (tag, cells) => {
      const row = make("tr");
      row.append(...cells.map((text) => inDirection(make(tag, "", String(text)))));
      return row;
    };
    made.append(line("th", titles), ...rows.map((cells) => line("td", cells)));
    return made;
  };
  const told = (text) => make("p", "watch-more", text);
  fold.append(
    make("summary", "", `Hubs and near-duplicates: the most popular sentence is near to ${number(most[0])} others before, ${number(most[1])} after; ${number(pairs[0])} and ${number(pairs[1])} pairs lie on one another`),
    told(`Hubs: how often a sentence is among another's ${got.nearest} nearest. A few that are near to everything spoil a search.`),
    table(["Sentence", "Before", "After"], hubs.map((one) => [one.sentence, number(one.before), number(one.after)])),
    told(twins.length ? `Near-duplicates: pairs with a cosine of at least ${alike} before training or after it. –: not among the ${got.nearest} nearest.` : `No pair has a cosine of ${alike} or more, before training or after it.`),
  );
  const cosine = (value) => (value === null ? "–" : value.toFixed(3));
  if (twins.length) fold.append(table(["Sentence", "Its double", "Before", "After"], twins.map((one) => [one.one, one.other, cosine(one.before), cosine(one.after)])));
  return fold;
}

function item(one) {
  const box = make("li", "diff-item");
  const folded = make("details");
  const head = make("summary");
  const facts = make("span", "near-facts");
  const stayed = one.near.kept.length;
  facts.append(make("span", "diff-stayed", `${stayed} of ${stayed + one.near.lost.length} stayed`), make("span", "near-score", `overlap ${one.overlap.toFixed(2)}`));
  if (one.label) facts.append(inDirection(make("span", "near-label", one.label)));
  head.append(inDirection(make("span", "near-text", one.sentence)), facts);
  folded.append(head);
  folded.addEventListener("toggle", () => folded.open && folded.children.length === 1 && folded.append(lists(one)));
  box.append(folded);
  return box;
}

function lists(one) {
  const box = make("div", "diff-lists");
  for (const [kind, title] of Object.entries(KINDS)) {
    const part = make("div", `diff-part diff-${kind}`);
    part.append(make("h4", "", `${title} ${one.near[kind].length}`));
    for (const near of one.near[kind]) {
      const hit = button("map-hit", "", () => trigger("pick", { sentence: near.sentence }));
      hit.title = "Search with this sentence";
      const places = kind === "kept" ? `place ${near.before} → ${near.after}` : `place ${near.after ?? near.before}`;
      const facts = make("span", "near-facts");
      facts.append(make("span", "", places));
      if (near.label) facts.append(inDirection(make("span", "near-label", near.label)));
      hit.append(inDirection(make("span", "near-text", near.sentence)), facts);
      part.append(hit);
    }
    box.append(part);
  }
  const search = button("watch-button", "Search with this sentence", () => trigger("pick", { sentence: one.sentence }));
  const whole = make("div");
  whole.append(box, search);
  return whole;
}

function begin() {
  const { run: name, in: key, states = [] } = props.value || {};
  const kept = run === name ? [before.value, after.value] : [];
  run = name || "";
  text = key || "";
  for (const field of [before, after]) field.replaceChildren(...states.map(([title, system]) => new Option(title, system)));
  const known = (system) => states.some((one) => one[1] === system);
  before.value = known(kept[0]) ? kept[0] : states[0]?.[1];
  after.value = known(kept[1]) ? kept[1] : states.at(-1)?.[1];
  ask.hidden = states.length < 2;
  ticket += 1;
  if (!run) say("Choose a run above, or start one on the Train tab.");
  else if (states.length < 2) say("This run has no trained encoder yet; it comes with the first checkpoint. Then it is compared with its base here.");
  else look();
}

for (const field of [before, after]) field.addEventListener("change", look);
begin();
watch("value", begin);
