/* One sentence: as it was, what the encoder sees, and what the decoder rebuilds from the vector.

   props.value is {sentence: REBUILT or null, message: text, note: text}. Pressing a word of the original triggers 'toggle'
   with {deleted: [numbers of the words]}; Python answers with a new value. Text enters through textContent only.
   Needs dom and words. */

const frame = make("section", "watch-one");
element.replaceChildren(frame);

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

const strong = ({ t }) => (RIGHT_TO_LEFT.test(t) ? "rtl" : /\p{L}/u.test(t) ? "ltr" : "");

/* Each token's direction, by Unicode's rules in short (UAX 9, N1 and N2): what has none goes with its neighbours where they
   agree, else with the line. */
function directions(tokens, line) {
  const own = tokens.map(strong);
  const next = [...own];
  for (let place = own.length - 2; place >= 0; place--) next[place] ||= next[place + 1];
  let before = line;
  return own.map((way, place) => (way ? (before = way) : before === (next[place] || line) ? before : line));
}

/* The original: each word is a button, whatever number of tokens it has. */
function words(tokens) {
  const line = make("p", "tok-line tok-words");
  line.dir = tokens.map(strong).find(Boolean) || "ltr"; // its words say nothing of it: each run has a direction of its own
  const ways = directions(tokens, line.dir);
  let button = null;
  let run = null; // words of one direction: buttons are boxes, which would stand in the line's direction
  tokens.forEach((one, place) => {
    if (!button || tokens[place - 1].w !== one.w) {
      const way = ways[place];
      if (place && !one.g) (run?.dir === way ? run : line).append(" ");
      if (run?.dir !== way) {
        run = make("span", "tok-run");
        run.dir = way;
        line.append(run);
      }
      button = make("button", `tok-word tok-${one.s}`);
      button.type = "button";
      button.dataset.word = one.w ?? place;
      button.setAttribute("aria-pressed", String(one.s === "deleted"));
      run.append(button);
    }
    button.append(one.t);
  });
  for (const made of line.querySelectorAll("button")) {
    made.title = made.classList.contains("tok-deleted") ? "Give this word back to the encoder" : "Hide this word from the encoder";
    made.setAttribute("aria-label", `${made.textContent}, ${made.classList.contains("tok-deleted") ? "deleted" : "kept"}`);
  }
  line.addEventListener("click", ({ target }) => target.closest("button") && toggle(target.closest("button"), line));
  return line;
}

const away = (one) => one.classList.contains("tok-deleted");

function turn(one) {
  for (const name of ["tok-deleted", "tok-kept"]) one.classList.toggle(name);
  one.setAttribute("aria-pressed", String(away(one)));
}

function toggle(button, line) {
  const all = [...line.querySelectorAll("button")];
  if (!away(button) && all.filter((one) => !away(one)).length === 1) {
    say("At least one word must stay: the encoder needs something to read.");
    return;
  }
  turn(button);
  frame.classList.add("watch-busy");
  asked = button.dataset.word;
  wanted = all.filter(away).map((one) => Number(one.dataset.word));
  trigger("toggle", { deleted: wanted });
}

/* The rebuilt sentence: what a token's title tells to the mouse stands below it for keys and fingers. */
function explained(tokens) {
  const line = sentence(tokens);
  const all = [...line.querySelectorAll(".tok[title]")];
  if (!all.length) return line;
  const below = make("p", "watch-more tok-told");
  below.setAttribute("role", "status");
  const tell = ({ target }) => {
    const one = target.closest(".tok[title]");
    if (one) below.textContent = `${one.lastChild.textContent}: ${one.title.replace(":\n", ": ").replaceAll("\n", ", ").replaceAll(/\s+/g, " ")}`;
  };
  all.forEach((one, place) => (one.tabIndex = place ? -1 : 0));
  line.addEventListener("focusin", tell);
  line.addEventListener("click", tell);
  line.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = way && all[all.indexOf(document.activeElement) + way];
    if (!next) return;
    event.preventDefault();
    document.activeElement.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  const box = make("div");
  box.append(line, below);
  return box;
}

let asked = null; // the word that was pressed last keeps the keyboard's focus when the answer comes
let wanted = null; // the words left out by hand, until the answer to just these has come
let source = ""; // the sentence shown

/* Words that were pressed while an answer was on its way stay as they were pressed; theirs comes next. */
function keepPressed() {
  const all = [...frame.querySelectorAll(".tok-words button")];
  const wrong = all.filter((one) => away(one) !== wanted.includes(Number(one.dataset.word)));
  wrong.forEach(turn);
  if (wrong.length) frame.classList.add("watch-busy");
  else wanted = null;
}

const say = (text) => {
  frame.querySelector(".watch-message").textContent = text;
};

function part(name, hint, content) {
  const box = make("div", "watch-section");
  const title = make("h4", "watch-name", name);
  if (hint) title.append(make("span", "watch-more", hint));
  box.append(title, content);
  return box;
}

function facts(one) {
  const box = make("p", "watch-summary");
  const add = (name, value, more, className) => {
    const fact = make("span", "watch-fact");
    fact.append(make("span", "watch-name", name), make("strong", className || "watch-number", value), make("span", "watch-more", more));
    box.append(fact);
  };
  if (one.recovered == null) add("Recovered", "–", "nothing was deleted");
  else add("Deleted words recovered", `${Math.round(100 * one.recovered)} %`, "");
  if (one.loss != null) {
    const perplexity = Number(Math.exp(Math.min(one.loss, 50)).toPrecision(3));
    add("Loss", one.loss.toFixed(2), `perplexity ${perplexity > 1e6 ? "over a million" : perplexity.toLocaleString("en")}`);
  }
  if (one.exact) box.append(make("span", "watch-exact", "exact"));
  return box;
}

function draw() {
  const { sentence: one, message, note } = props.value || {};
  frame.classList.remove("watch-busy");
  const warning = make("p", "watch-message", message || "");
  warning.setAttribute("role", "status");
  if (!one || one.source !== source || message) wanted = null;
  source = one?.source;
  if (!one) {
    frame.replaceChildren(make("p", "watch-empty", message || "The rebuilt sentence is shown here."));
    return;
  }
  frame.replaceChildren(
    part("Original", "press a word to delete or restore it", words(one.original)),
    part("What the encoder sees", "", sentence(one.damaged)),
    part("Rebuilt from the vector alone", "point at a word, or press it, for its probability", one.rebuilt.length ? explained(one.rebuilt) : make("p", "watch-more", "(nothing)")),
    warning,
    facts(one),
    legend(),
    make("p", "watch-more watch-note", note || ""),
  );
  if (wanted) keepPressed();
  if (asked !== null) frame.querySelector(`button[data-word="${CSS.escape(asked)}"]`)?.focus({ preventScroll: true });
  asked = null;
}

watch("value", draw);
draw();
