/* Words coloured by what became of them, and the legend; put before a component's own code, after "dom" (see `component`).

   A TOKEN is {t: text, s: state, g: glued to the one before}. Sentences are anybody's text: they enter the page through
   textContent only. */

/* eslint-disable no-unused-vars */
const SPOKEN = { deleted: "deleted: ", recovered: "recovered: ", wrong: "wrong: ", invented: "invented: " };
const MEANINGS = [
  ["kept", "the encoder saw it"],
  ["deleted", "the encoder did not see it"],
  ["recovered", "deleted, and rebuilt from the vector"],
  ["wrong", "another word should be here"],
  ["invented", "has no place in the original"],
];

const spoken = (state) => {
  const words = make("span", "watch-spoken", SPOKEN[state]);
  words.dir = "ltr"; // and so without a say in the direction of the sentence
  return words;
};

const percentOf = (share) => (share < 0.001 ? "< 0.1 %" : `${Number((100 * share).toPrecision(share > 0.1 ? 3 : 2))} %`);

/* One token: its state as class and, for those who do not see it, as a word. */
function token(one) {
  const word = make("span", `tok tok-${one.s}`, one.t);
  if (SPOKEN[one.s]) word.prepend(spoken(one.s));
  if (one.alt) word.title = [`probability ${percentOf(one.p)}`, "likeliest here:", ...one.alt.map(([text, p]) => `${percentOf(p)}  ${text}`)].join("\n");
  return word;
}

/* Tokens as words of text. */
function sentence(tokens, tag = "p") {
  const line = make(tag, "tok-line");
  line.dir = "auto";
  (tokens || []).forEach((one, place) => {
    if (place && !one.g) line.append(" ");
    line.append(token(one));
  });
  return line;
}

function legend() {
  const box = make("ul", "tok-legend");
  box.setAttribute("aria-label", "What the colours mean");
  for (const [state, text] of MEANINGS) {
    const item = make("li");
    item.title = text;
    item.append(make("span", `tok tok-${state}`, state));
    box.append(item);
  }
  return box;
}
