/* Beside the map: the selected sentences, to be saved, searched and trained on. Part of map.js. */

const PAGE = 100; // listed at a time
const AT_ONCE = 2000; // sentences in one answer

let selection = null; // the selected points, whatever encoder's map they were selected on

function unselect() {
  const was = selection;
  found = [];
  selection = null;
  chosen.replaceChildren();
  if (map && shown && plot.data) was && !shown.z ? draw() : relink();
}

async function select(points) {
  const rows = [...new Set(points.filter((point) => point !== undefined))];
  const mine = turn;
  const got = rows.length ? await server.sentences(run, map.key, rows) : [];
  if (mine !== turn || !rows.length || got.error) return unselect();
  found = [];
  selection = new Set(rows);
  if (shown.z) relink();
  else draw(); // and the frame goes, which would stand there when the points have moved on
  const head = make("div", "map-chosen-head");
  head.append(make("strong", "", `${number(rows.length)} selected`));
  if (rows.length > got.length) head.append(make("span", "quiet", `the first ${number(got.length)} are listed`));
  const all = make("div", "map-chosen-all");
  fillList(all, got, rows);
  const hits = make("div", "map-chosen-hits");
  hits.setAttribute("aria-live", "polite");
  head.append(searchWithin(rows, hits, all), button("watch-button", "Save as CSV", () => saveSelected(rows)), trainOn(rows));
  chosen.replaceChildren(head, hits, all);
  onTop(chosen);
}

/* The selected, as many as came, a page at a time; a pressed one is chosen. */
function fillList(box, got, rows) {
  const list = make("ol", "map-near");
  const further = button("watch-button", "Show more", () => more(list.childElementCount));
  const more = (from) => {
    list.append(...got.slice(from, from + PAGE).map((one, at) => hitItem({ ...one, point: rows[from + at] })));
    further.hidden = list.childElementCount >= got.length;
  };
  more(0);
  box.replaceChildren(list, further);
}

async function saveSelected(rows) {
  const lines = [];
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const got = await server.sentences(run, map.key, rows.slice(from, from + AT_ONCE));
    if (got.error) return warn(`Not saved: ${got.error}`);
    lines.push(...got.map((one) => [one.sentence, one.label, one.line]));
  }
  download("selected.csv", "text/csv", csv(["sentence", "label", "line"], lines));
}

/* A search among the selected alone: its hits stand in place of the list, and are ringed on the map. */
function searchWithin(rows, hits, all) {
  const box = make("span", "map-within");
  const input = make("input", "lab-input map-within-text");
  const hint = "Search within the selected";
  input.type = "text";
  input.dir = "auto";
  input.maxLength = 2000;
  input.placeholder = hint;
  input.setAttribute("aria-label", hint);
  const back = button("watch-button", "Show all selected", () => {
    found = [];
    relink();
    hits.replaceChildren();
    all.hidden = false;
    back.hidden = true;
    input.value = "";
    input.focus();
  });
  back.hidden = true;
  const search = async () => {
    const text = input.value.trim();
    if (!text) return warn("Type what to search for among the selected sentences.");
    const by = which;
    const got = await patiently(() => server.within(run, map.key, map.layouts[by].place, text, rows));
    if (!got || !box.isConnected) return;
    if (picked) unpick();
    found = got.hits.slice(0, 10).map((one) => one.point);
    relink();
    const list = make("ol", "map-near map-hits");
    list.append(...got.hits.map(hitItem));
    hits.replaceChildren(make("p", "watch-more", `The nearest to your words by ${encoderWords(by)}; the first ${number(found.length)} are ringed on the map.`), list);
    all.hidden = true;
    back.hidden = false;
  };
  input.addEventListener("keydown", (event) => event.key === "Enter" && search());
  box.append(input, button("watch-button", "Search", search), back);
  return box;
}

/* The selected become a text of their own on the Data and the Train tab; the address carries it there. */
function trainOn(rows) {
  const made = button("watch-button", "Train on these", async () => {
    made.disabled = true;
    const got = await server.keep(run, map.key, rows).catch(() => ({ error: "The app does not answer." }));
    made.disabled = false;
    if (got.error !== undefined) return warn(got.error);
    const url = new URL(window.location);
    url.searchParams.set("draft", got.draft);
    url.searchParams.set("tab", "train");
    window.location.assign(url);
  });
  made.title = "Take the selected sentences to the Train tab as a text of their own";
  if (props.value?.why_off) {
    made.disabled = true;
    made.title = props.value.why_off;
  }
  return made;
}
