/* What the chosen run is doing, large, and what can be done with it. The facts come from the header ("tsdae-run"), so that
   nothing is asked twice. Every action is an event to Python; what cannot be undone is asked for first. */

const readOnly = !!(props.value || {}).read_only;
const LOCKED = "This page is read-only.";

const top = make("div", "bar-top");
const phase = make("div", "bar-phase");
const buttons = make("div", "bar-buttons");
const track = make("div", "bar-track");
const part = make("div", "bar-part");
const facts = make("div", "bar-facts");
const trouble = make("div", "bar-trouble");
const empty = make("p", "watch-empty", "Nothing has been trained yet. Choose a starting point on the left and press Start training.");
track.append(part);
trouble.setAttribute("role", "alert");
top.append(phase, buttons);
const frame = make("section", "runbar");
const home = make("div", "bar-home");
frame.append(top, track, facts, home, trouble);

const dialog = make("dialog", "ask");
const question = make("p", "ask-text");
const row = make("div", "ask-buttons");
const yes = make("button", "watch-button ask-yes");
const no = make("button", "watch-button", "Cancel");
yes.type = no.type = "button";
row.append(no, yes);
dialog.append(question, row);
element.replaceChildren(empty, frame, dialog);
no.addEventListener("click", () => dialog.close());

function ask(text, word, deed) {
  question.textContent = text;
  yes.textContent = word;
  yes.onclick = () => (dialog.close(), deed());
  dialog.showModal();
  no.focus();
}

const action = (text, title, act) => {
  const made = make("button", "watch-button", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", act);
  buttons.append(made);
  return made;
};
const send = (event, pressed, word) => {
  busy = { run: run.run, state: run.state, until: Date.now() + 8000 };
  pressed.textContent = word;
  for (const one of buttons.children) one.disabled = true;
  trigger(event, {});
};
let busy = null;
let run = {};

const stop = action("Stop and save", "", () => send("run_stop", stop, run.state === "queued" ? "Taking off …" : "Stopping …"));
const resume = action("Resume", "", () => send("run_resume", resume, "Starting …"));
const kill = action("End now", "", () =>
  ask(`End ${run.run} at once? What it has learned since its last checkpoint is lost.`, "End now", () => send("run_kill", kill, "Ending …")),
);
const take = action("Download encoder", "", () => {
  take.disabled = true;
  take.textContent = "Packing …";
  setTimeout(() => draw(), 6000); // should nothing come of it
  trigger("run_take", {});
});
const remove = action("Delete", "", () =>
  ask(`Delete ${run.run} with its model, its text and its curves? This cannot be undone.`, "Delete", () => send("run_delete", remove, "Deleting …")),
);

/* A button that cannot work is off and says why. */
function allow(one, text, reason, hint) {
  one.textContent = text;
  one.disabled = !!reason || readOnly;
  one.title = readOnly ? LOCKED : reason || hint;
}

function draw() {
  run = document.documentElement.tsdaeRun || {};
  const known = !!run.run;
  empty.hidden = known || run.run === undefined;
  frame.hidden = !known;
  frame.classList.toggle("runbar-active", !!run.active); // on a phone it then comes before the settings
  if (!known) return;
  const percent = run.percent;
  phase.replaceChildren(make("strong", `run-state state-${run.state}`, run.phase || run.word));
  if (percent != null && run.state !== "finished") phase.append(make("span", "bar-percent", `${percent} %`));
  track.hidden = !run.active;
  track.classList.toggle("run-waiting", percent == null);
  part.style.width = `${percent ?? 0}%`;
  const said = [run.steps, run.rate, run.left, run.device, run.loaded || run.base];
  facts.replaceChildren(...said.filter(Boolean).map((text) => make("span", "", text)));
  trouble.replaceChildren();
  if (run.error) trouble.append(make("strong", "", run.error));
  if (run.state === "crashed" && !run.error) trouble.append(make("strong", "", "The process ended without a word: it was killed, or the machine went down."));
  if (run.advice) trouble.append(make("span", "", run.advice));
  else if (run.state === "crashed") trouble.append(make("span", "", "Resume goes on from the last checkpoint."));
  trouble.hidden = !trouble.childElementCount;
  if (busy && busy.run === run.run && busy.state === run.state && Date.now() < busy.until) return;
  busy = null;
  const running = run.active && run.state !== "stopping";
  stop.hidden = !run.active;
  resume.hidden = run.active || !run.resumable;
  allow(stop, run.state === "stopping" ? "Stopping …" : "Stop and save", running ? "" : "It is already stopping: it saves and ends at its next step.", "End after the next step and keep a usable model; it can be resumed");
  allow(resume, run.state === "new" ? "Start" : "Resume", "", "Go on from the last checkpoint");
  kill.hidden = !run.active || run.state === "queued";
  if (run.state === "queued") allow(stop, "Take off the queue", "", "It is not started by itself then, and can be started by hand");
  allow(kill, "End now", "", "End the process without saving");
  take.hidden = !run.encoder || run.active;
  allow(take, "Download encoder", "", "The encoder as a sentence-transformers folder, zipped");
  take.disabled = false; // a page that is read-only may be taken home from
  sayHome(take.hidden ? "" : run.encoder);
  allow(remove, "Delete", run.active ? "Stop the run first." : "", "Remove the run and all its files");
}

/* Where the encoder lies, and how it is loaded. */
function sayHome(path) {
  if (home.dataset.path === path) return; // it may be open
  home.dataset.path = path;
  const code = `from sentence_transformers import SentenceTransformer\n\nvectors = SentenceTransformer(${JSON.stringify(path)}).encode(["A sentence."])`;
  home.replaceChildren(...(path ? [codeFold("Use it from Python", code)] : []));
}

const listen = (event) => {
  if (!element.isConnected) return document.removeEventListener("tsdae-run", listen);
  draw(event);
};
document.addEventListener("tsdae-run", listen);
draw();
