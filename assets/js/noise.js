/* What the damage does to sentences of the loaded text, and a button that damages them anew.

   props.value is {sentences: [[TOKEN]], share: text, message: text}; pressing the button triggers 'reroll'. Text enters
   through textContent only. Needs dom and words. */

const NAMES = [
  ["kept", "kept"],
  ["deleted", "deleted"],
  ["invented", "put in or moved"],
];

const lines = make("ol", "noise-lines");
const empty = make("p", "watch-empty");
const share = make("span", "watch-more watch-number");
const reroll = make("button", "watch-button", "Damage again");
reroll.type = "button";
reroll.title = "Draw the damage anew; in training every pass over the text draws it anew, too";
reroll.addEventListener("click", () => trigger("reroll", {}));
const names = make("ul", "tok-legend");
names.setAttribute("aria-label", "What the marks mean");
for (const [state, text] of NAMES) {
  const item = make("li");
  item.dataset.state = state;
  item.append(make("span", `tok tok-${state}`, text));
  names.append(item);
}
const foot = make("div", "noise-foot");
foot.append(reroll, share, names);
const frame = make("section", "noise-preview");
frame.append(empty, lines, foot);
element.replaceChildren(frame);

function draw() {
  const { sentences = [], share: said = "", message = "" } = props.value || {};
  lines.replaceChildren(...sentences.map((one) => sentence(one, "li")));
  const states = new Set(sentences.flat().map((one) => one.s));
  for (const item of names.children) item.hidden = !states.has(item.dataset.state);
  empty.hidden = sentences.length > 0;
  foot.hidden = !sentences.length;
  empty.textContent = message || "Sentences of your text are shown here, damaged as the encoder will see them.";
  share.textContent = said;
}

watch("value", draw);
draw();
