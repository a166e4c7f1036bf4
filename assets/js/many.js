/* Many held-out sentences damaged and rebuilt, the worst first, as a table and as CSV. Needs dom, words, lab. */

const COLUMNS = [
  ["source", "Sentence"], ["text", "Rebuilt"], ["exact", "Exact"], ["recovered", "Recovered"], ["chrf", "chrF"], ["loss", "Loss"], ["stability", "Stability"],
]; // prettier-ignore
const HELP = {
  exact: "Rebuilt word for word", recovered: "Share of the deleted tokens that came back", chrf: "How alike the two texts are by their runs of characters, 0 to 1",
  loss: "Nats per token; lower is better", stability: "Mean cosine between the sentence's vector and those of four damaged copies; 1 when damage does not matter",
}; // prettier-ignore
const PAGE = 50;
const count = make("select", "map-colour");
for (const size of [100, 200, 500, 2000]) count.append(new Option(`up to ${number(size)} sentences`, size));
count.setAttribute("aria-label", "How many sentences");
const go = button("watch-button lab-go", "Rebuild them", look);
const save = button("watch-button", "Save as CSV", () => download(`rebuilt-${settings().run}.csv`, "text/csv", table()));
save.hidden = true;
const tools = make("div", "map-tools");
tools.append(count, go, save);
const body = make("div", "lab-body");
frame.append(make("p", "watch-more", "Sentences that were not trained on, or a file of yours, damaged by the settings at the left: where the encoder forgets most comes first."), tools, body);
let rows = [];
let sorted = ["chrf", 1];

const table = () => csv(["sentence", "damaged", "rebuilt", "exact", "recovered", "chrf", "loss", "stability"],
  rows.map((row) => [row.source, row.damaged, row.text, row.exact, row.recovered, row.chrf, row.loss, row.stability])); // prettier-ignore

async function look() {
  go.disabled = true;
  save.hidden = true;
  body.replaceChildren(told("Loading the model …"));
  const got = await answer("many", { count: +count.value }, body);
  go.disabled = false;
  if (!got) return;
  rows = got.rows;
  sorted = ["chrf", 1];
  save.hidden = false;
  draw(got);
}

function draw({ means, of, title }) {
  const words = make("p", "diff-words", `${percent(means.exact)} of ${number(rows.length)} sentences come back word for word; of the deleted tokens ${percent(means.recovered)} are recovered.`);
  const more = make("p", "watch-more", `chrF ${means.chrf.toFixed(2)}, loss ${means.loss.toFixed(2)} nats per token, stability ${means.stability.toFixed(2)} on average. ${whence(of, title)}`);
  const made = make("table", "lab-table");
  const further = button("watch-button", "Show more", () => fill(false));
  const head = make("tr");
  for (const [key, name] of COLUMNS) {
    const cell = make("th");
    const by = button("lab-sort", name, () => {
      sorted = [key, sorted[0] === key ? -sorted[1] : 1];
      fill(true);
    });
    by.title = HELP[key] ? `${HELP[key]}. Press to sort.` : "Press to sort";
    cell.dataset.key = key;
    cell.append(by);
    head.append(cell);
  }
  made.append(head);
  let order = [];
  const fill = (anew) => {
    if (anew) {
      const [key, way] = sorted;
      order = [...rows].sort((a, b) => way * ((a[key] ?? 2) < (b[key] ?? 2) ? -1 : (a[key] ?? 2) > (b[key] ?? 2) ? 1 : 0));
      while (made.rows.length > 1) made.deleteRow(1);
      for (const cell of head.children) cell.setAttribute("aria-sort", cell.dataset.key !== key ? "none" : way > 0 ? "ascending" : "descending");
    }
    for (const one of order.slice(made.rows.length - 1, made.rows.length - 1 + PAGE)) made.append(line(one));
    further.hidden = made.rows.length > rows.length;
  };
  fill(true);
  body.replaceChildren(words, more, made, further);
}

/* What the rows are: all sentences, or a sample of them. */
function whence(of, title) {
  const all = title ? `${number(of)} sentences of ${title}` : `${number(of)} held-out sentences`;
  return rows.length < of ? `A sample drawn by chance: ${number(rows.length)} of the ${all}.` : `These are all ${all}.`;
}

function line(one) {
  const row = make("tr");
  const source = inDirection(make("td", "many-text", one.source));
  source.title = `The encoder saw: ${one.damaged}`;
  row.append(source, inDirection(make("td", "many-text", one.text || "(nothing)")), make("td", "map-line", one.exact ? "yes" : "no"),
    make("td", "map-line", percent(one.recovered)), make("td", "map-line", one.chrf.toFixed(2)), make("td", "map-line", one.loss.toFixed(2)),
    make("td", "map-line", one.stability.toFixed(2))); // prettier-ignore
  return row;
}

const begin = () => (go.disabled = !settings().run);
begin();
watch("value", begin);
