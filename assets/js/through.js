/* The same damaged sentence rebuilt at every checkpoint of the run. Needs dom, words, lab. */

const go = button("watch-button lab-go", "Rebuild it at every checkpoint", look);
const body = make("div", "lab-body");
frame.append(make("p", "watch-more", "The sentence at the left, damaged in the same way, as each checkpoint of the run rebuilds it, the likeliest word each time."), go, body);
let shownFor = "";

async function look() {
  body.replaceChildren(told("Loading the checkpoints …"));
  go.disabled = true;
  const got = await answer("through", {}, body);
  go.disabled = false;
  if (!got) return;
  shownFor = JSON.stringify(settings());
  const table = make("table", "lab-table");
  const head = make("tr");
  for (const name of ["Step", "Rebuilt from the vector", "Recovered", "Loss"]) head.append(make("th", "", name));
  table.append(head);
  for (const one of got.rows) {
    const row = make("tr");
    const text = make("td");
    text.append(one.rebuilt.length ? sentence(one.rebuilt, "div") : "(nothing)");
    row.append(make("td", "map-line", number(one.step)), text, make("td", "map-line", percent(one.recovered)), make("td", "map-line", one.loss.toFixed(2)));
    table.append(row);
  }
  body.replaceChildren(...(got.rows.length ? [sentence(got.rows[0].original, "div")] : []), table, legend());
}

watch("value", () => {
  go.disabled = !settings().run;
  if (shownFor && shownFor !== JSON.stringify(settings())) {
    shownFor = "";
    body.replaceChildren(told("The sentence or a setting changed; press the button again."));
  }
});
go.disabled = !settings().run;
