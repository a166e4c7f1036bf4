/* The blind test: which of two lists of neighbours fits a sentence better. Which encoder made which is known to the server only.
   props.value is {run, in}; `in` is the key of the text. Server functions: question, verdict, verdicts. Keys: arrow left, arrow right, arrow down for "the same".
   Needs dom. */

const KEY = "tsdae-judge";
const frame = make("section", "blind");
frame.tabIndex = -1;
element.replaceChildren(frame);
let run = "";
let text = ""; // the key of the text, "" for the run's own
let ticket = 0;
let row = null;

const judge = (() => {
  try {
    const kept = localStorage.getItem(KEY) || crypto.getRandomValues(new Uint32Array(2)).join("-");
    localStorage.setItem(KEY, kept);
    return kept;
  } catch {
    return "";
  }
})();

function say(text, error) {
  row = null;
  const told = make("p", `watch-empty${error ? " map-error" : ""}`, text);
  told.setAttribute("role", error ? "alert" : "status");
  frame.replaceChildren(told);
}

async function ask(act, ...more) {
  const mine = ++ticket;
  for (;;) {
    if (mine !== ticket || !element.isConnected) return;
    if (element.offsetParent && !document.hidden) {
      const got = await server[act](run, text, judge, ...more).catch(() => ({ phase: "Waiting for the app", done: 0, total: 0 }));
      if (mine !== ticket) return;
      if (got.error !== undefined) return say(got.error, true);
      if (got.phase === undefined) return draw(got);
      say(got.total ? `${got.phase}: ${number(got.done)} of ${number(got.total)}` : `${got.phase} …`);
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}

function draw(got) {
  row = got.row ?? null;
  const parts = [];
  if (got.finished) parts.push(make("p", "watch-empty", "You have judged every sentence whose neighbours differ. Thank you."));
  else {
    const lists = make("div", "blind-lists");
    for (const side of ["left", "right"]) {
      const box = make("div", "blind-list");
      const list = make("ol");
      for (const text of got[side]) list.append(inDirection(make("li", "", text)));
      box.append(list, button("watch-button blind-choice", side === "left" ? "← Left fits better" : "Right fits better →", () => choose(side)));
      lists.append(box);
    }
    parts.push(make("p", "watch-more", "Which of the two lists fits this sentence better? One is from the base, one from the trained encoder; which is which changes from sentence to sentence."),
      inDirection(make("p", "blind-sentence", got.sentence)), lists, button("watch-button blind-same", "↓ The same", () => choose("same"))); // prettier-ignore
  }
  const result = make("details", "blind-result");
  result.append(make("summary", "", `${number(got.mine)} judged by you, ${number(got.all)} in all. Result so far`),
    make("p", "", got.words), make("p", "watch-more", `${number(got.same)} were called the same and count for neither.`),
    button("watch-button", "Save the verdicts as CSV", save)); // prettier-ignore
  parts.push(result);
  frame.replaceChildren(...parts);
}

function choose(choice) {
  if (row === null) return;
  const judged = row;
  row = null;
  for (const made of frame.querySelectorAll(".blind-choice, .blind-same")) made.disabled = true;
  frame.focus({ preventScroll: true });
  ask("verdict", judged, choice);
}

async function save() {
  const got = await server.verdicts(run, text);
  if (got.error === undefined) download(`verdicts-${run}.csv`, "text/csv", csv(got.header, got.rows));
}

/* Who came by a press on the tab answers with the keys at once; for who came by keys, the tabs keep the arrows. */
let pressed = document.querySelector("[role=tab]:focus:not(:focus-visible)"); // that press may have mounted this part
document.addEventListener("pointerdown", (event) => (pressed = event.target.closest?.("[role=tab]")));

document.addEventListener("keydown", (event) => {
  if (row === null || !element.isConnected || !element.offsetParent) return;
  const taken = event.target.closest?.("input, textarea, select, [role=tab]");
  if (taken && taken !== pressed) return;
  const choice = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "same" }[event.key];
  if (!choice) return;
  event.preventDefault();
  event.stopPropagation(); // or the arrows would change the tab
  choose(choice);
}, true); // prettier-ignore

function begin() {
  run = props.value?.run || "";
  text = props.value?.in || "";
  if (run) ask("question");
  else say("Choose a run above, or start one on the Train tab.");
}
begin();
watch("value", begin);
