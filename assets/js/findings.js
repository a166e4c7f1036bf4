/* Before the start: what it will be trained on, what is wrong or may disappoint, the measured estimate, the equal command.

   props.value = {text: {title, count} or null, findings: [{level, text}], estimate: {text} | {error} | null, command, off: why the
   Start button is off, which it then says itself}. */

const NAMES = { error: "Error", warning: "Warning", info: "Note" };
const frame = make("section", "findings");
frame.setAttribute("aria-live", "polite");
element.replaceChildren(frame);
let open = false;

function draw() {
  const { text, findings = [], estimate, command, off } = props.value || {};
  frame.replaceChildren();
  if (text) {
    const head = make("p", "findings-text");
    const name = make("strong", "", text.title);
    name.dir = "auto";
    head.append("Train on ", name, make("span", "", `, ${text.count}`));
    frame.append(head);
  }
  const list = make("ul", "findings-list");
  for (const one of findings) {
    const item = make("li", `finding finding-${one.level}`);
    item.append(make("strong", "", NAMES[one.level] || ""), make("span", "", one.text));
    list.append(item);
  }
  if (findings.length) frame.append(list);
  if (props.value?.findings && !text) frame.append(toData());
  if (estimate?.text) frame.append(make("p", "findings-estimate", estimate.text));
  if (estimate?.error) frame.append(make("p", "finding finding-error", estimate.error));
  if (command) frame.append(shell(command));
  reason(props.value?.findings ? off : "Looking at the text and the settings …");
}

function shell(command) {
  const fold = codeFold("The same from the shell", command);
  fold.open = open;
  fold.addEventListener("toggle", () => (open = fold.open));
  return fold;
}

/* Without a text there is one next step, and it is on another tab. */
function toData() {
  const go = make("button", "watch-button findings-go", "Open the Data tab");
  go.type = "button";
  go.addEventListener("click", () => document.querySelector('#tabs [role="tab"]').click());
  return go;
}

/* Buttons that cannot work are off and say why. */
const HINTS = {
  start: "Train a new run with these settings",
  measure: "Time a few real steps: how long the run will take, and how much memory and disk it needs",
};
function reason(why) {
  for (const [id, hint] of Object.entries(HINTS)) {
    const button = document.getElementById(id);
    if (button) button.title = why || hint;
  }
}

watch("value", draw);
draw();
setTimeout(draw, 500); // the buttons may be mounted after this
