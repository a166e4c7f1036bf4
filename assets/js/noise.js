/* What the damage does to sentences of the loaded text, and a button that damages them anew.

   props.value is {sentences: [[TOKEN]], share: text, message: text}; pressing the button triggers 'reroll'. Text enters
   through textContent only. */

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  node.className = className || "";
  if (text !== undefined) node.textContent = text;
  return node;
};
const SPOKEN = { deleted: "deleted: ", invented: "put in: " };
const MEANINGS = [
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
const legend = make("ul", "tok-legend");
legend.setAttribute("aria-label", "What the marks mean");
for (const [state, text] of MEANINGS) {
  const item = make("li");
  item.dataset.state = state;
  item.append(make("span", `tok tok-${state}`, text));
  legend.append(item);
}
const foot = make("div", "noise-foot");
foot.append(reroll, share, legend);
const frame = make("section", "noise-preview");
frame.append(empty, lines, foot);
element.replaceChildren(frame);

function sentence(tokens) {
  const line = make("li", "tok-line");
  line.dir = "auto";
  tokens.forEach((one, place) => {
    if (place && !one.g) line.append(" ");
    const word = make("span", `tok tok-${one.s}`, one.t);
    if (SPOKEN[one.s]) word.prepend(make("span", "watch-spoken", SPOKEN[one.s]));
    line.append(word);
  });
  return line;
}

function draw() {
  const { sentences = [], share: said = "", message = "" } = props.value || {};
  lines.replaceChildren(...sentences.map(sentence));
  const states = new Set(sentences.flat().map((one) => one.s));
  for (const item of legend.children) item.hidden = !states.has(item.dataset.state);
  empty.hidden = sentences.length > 0;
  foot.hidden = !sentences.length;
  empty.textContent = message || "Sentences of your text are shown here, damaged as the encoder will see them.";
  share.textContent = said;
}

watch("value", draw);
draw();
