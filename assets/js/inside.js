/* Inside the decoder: the same sentence with its own vector, the mean vector and another sentence's vector, token by token.
   Asks only while it is open. Needs dom, words, lab. */

const NAMES = { own: "Its own vector", mean: "The mean vector", other: "Another sentence's vector" };
const folded = make("details", "inside");
const body = make("div", "inside-body");
const summary = make("summary", "", "Inside the decoder: what the vector carries");
folded.append(summary, body);
frame.append(folded);
let other = "";
let shownFor = "";
let timer = 0;

const key = () => JSON.stringify([{ ...settings(), text: "" }, other]); // typing changes nothing here

async function look() {
  const { run, shown } = settings();
  if (!folded.open) return;
  if (!run || !shown) {
    shownFor = "";
    body.replaceChildren(told(run ? "Rebuild a sentence first." : "Choose a run above, or start one on the Train tab."));
    return;
  }
  if (key() === shownFor) return body.classList.remove("watch-busy");
  if (!shownFor) body.replaceChildren(told("Looking inside …"));
  body.classList.add("watch-busy");
  const got = await answer("inside", { other }, body);
  body.classList.remove("watch-busy");
  if (!got) return void (shownFor = "");
  other = got.other;
  shownFor = key();
  draw(got);
}

function draw(got) {
  const { own, mean } = got.bits;
  const saved = mean - own;
  const words = make("p", "diff-words", saved > 0
    ? `The vector saves ${saved.toFixed(0)} of the ${mean.toFixed(0)} bits that this sentence costs the decoder without it.`
    : "The vector saves nothing here: the decoder does as well without it."); // prettier-ignore
  const table = make("table", "lab-table");
  for (const [key, name] of Object.entries(NAMES)) {
    const row = make("tr");
    const head = make("th", "", name);
    head.scope = "row";
    row.append(head, inDirection(make("td", "", got.texts[key] || "(nothing)")), make("td", "map-line", `${got.bits[key].toFixed(0)} bits`));
    table.append(row);
  }
  const another = button("watch-button", "Another one", () => {
    other = "";
    look();
  });
  const which = make("p", "watch-more", "The other sentence: ");
  which.append(inDirection(make("bdi", "", got.other)), " ", another);
  body.replaceChildren(words, table, which, make("h4", "watch-name", "Bits that the vector saves, token by token"), strip(got.tokens),
    make("p", "watch-more", "Tall: the decoder expects this token because of the vector. Flat: it is habit of language. Hatched: the vector misleads. Point at a token for the numbers. The texts are the likeliest word each time, whatever is chosen at the left.")); // prettier-ignore
}

function strip(tokens) {
  const saved = tokens.map((one) => one.mean - one.own);
  const top = Math.max(4, ...saved.map(Math.abs));
  const box = make("div", "inside-strip");
  tokens.forEach((one, place) => {
    const column = make("span", "inside-token");
    const bar = make("span", `inside-bar ${saved[place] < 0 ? "inside-down" : ""}`);
    bar.style.height = `${Math.round((56 * Math.abs(saved[place])) / top)}px`;
    const text = inDirection(make("span", `tok tok-${one.s}`, one.t));
    column.append(make("small", "", saved[place].toFixed(1)), bar, text);
    column.title = Object.entries(NAMES).map(([key, name]) => `${name}: ${one[key].toFixed(1)} bits, probability ${share(one[key])}`).join("\n");
    box.append(column);
  });
  return box;
}

function share(bits) {
  const value = 100 * 2 ** -bits;
  return value >= 0.1 ? `${Number(value.toPrecision(3))} %` : "below 0.1 %";
}

folded.addEventListener("toggle", look);
watch("value", () => {
  body.classList.toggle("watch-busy", folded.open && Boolean(shownFor) && key() !== shownFor); // what stands there is of the sentence before
  clearTimeout(timer);
  timer = setTimeout(look, 300);
});
