/* The way from one sentence's vector to another's: what the decoder writes at each stop, and which sentence of the corpus lies
   nearest; and a little arithmetic. Needs dom, words, lab. */

const [firstBox, first] = field("From", "", "a sentence");
const [secondBox, second] = field("To", "", "another sentence");
const [thirdBox, third] = field("Plus", "", "a third sentence");
const path = make("select", "map-colour");
for (const [kind, text] of [["line", "along the straight line"], ["arc", "along the arc"], ["sum", "first − second + third"]]) path.append(new Option(text, kind));
const go = button("watch-button lab-go", "Walk", look);
const random = button("watch-button", "Two sentences of the text", pick);
const tools = make("div", "map-tools");
tools.append(path, go, random);
const body = make("div", "lab-body");
frame.append(make("p", "watch-more", "What lies between two sentences: the decoder writes at each stop, and beside it stands the nearest sentence of your text."),
  firstBox, secondBox, thirdBox, tools, body); // prettier-ignore

function turn() {
  const sum = path.value === "sum";
  thirdBox.hidden = !sum;
  secondBox.firstChild.textContent = sum ? "Minus" : "To";
  go.textContent = sum ? "Add up" : "Walk";
  body.replaceChildren();
}

async function pick() {
  random.disabled = true;
  for (const input of [first, second, third]) {
    const got = await server.pick(settings().run || "", {}).catch(() => ({}));
    if (got.text) input.value = got.text;
  }
  random.disabled = false;
  if (first.value) look();
}

async function look() {
  body.replaceChildren(told("Reading both sentences …"));
  const got = await answer("between", { first: first.value, second: second.value, third: third.value, path: path.value }, body);
  if (!got) return;
  const list = make("ol", "between-list");
  const rows = got.stops.map((stop) => {
    const item = make("li", "between-stop");
    const share = path.value === "sum" ? "" : `${Math.round(100 * stop.share)} %`;
    const near = make("span", "between-near");
    near.append(make("span", "watch-more", `nearest, ${stop.score.toFixed(2)}: `), inDirection(make("bdi", "", stop.nearest)));
    item.append(make("span", "map-line", share), inDirection(make("span", "between-text", stop.text || "(nothing)")), near);
    return item;
  });
  list.append(...rows);
  if (rows.length < 2) return void body.replaceChildren(list);
  const slider = make("input", "watch-range");
  slider.type = "range";
  slider.min = 0;
  slider.max = rows.length - 1;
  slider.value = Math.floor(rows.length / 2);
  slider.setAttribute("aria-label", "Where on the way");
  const mark = () => rows.forEach((row, place) => row.classList.toggle("between-here", place === +slider.value));
  slider.addEventListener("input", mark);
  mark();
  body.replaceChildren(slider, list);
}

path.addEventListener("change", turn);
for (const input of [first, second, third]) input.addEventListener("keydown", (event) => event.key === "Enter" && look());
const begin = () => {
  if (!first.value) first.value = settings().text || "";
  go.disabled = random.disabled = !settings().run;
};
turn();
begin();
watch("value", begin);
