/* What the Rebuild tab's views share: asking until an answer is there, and saying how far it is. Put before inside, through,
   between and many. `props.value` is the settings: {run, text, shown, deleted, noise, ratio, seed, step}; shown is the sentence that
   stands rebuilt, deleted its words left out by hand. Needs dom. */

/* eslint-disable no-unused-vars */
const frame = make("section", "lab");
element.replaceChildren(frame);
let ticket = 0; // grows with every question: answers to older ones are dropped
const settings = () => props.value || {};
const percent = (share) => (share == null ? "–" : `${Math.round(100 * share)} %`);

/* The answer of a server function; null when another question was asked meanwhile. Progress is told in `place`. */
async function answer(act, more, place) {
  const mine = ++ticket;
  for (let turn = 0; ; turn++) {
    if (mine !== ticket || !element.isConnected) return null;
    const got = await server[act](settings().run || "", { ...settings(), ...more }).catch(() => ({ phase: "Waiting for the app", done: 0, total: 0 }));
    if (mine !== ticket) return null;
    if (got.error !== undefined) {
      place.replaceChildren(told(got.error, true));
      return null;
    }
    if (got.phase === undefined) return got;
    place.replaceChildren(told(got.total ? `${got.phase} ${number(got.done)} of ${number(got.total)}${timeLeft(got.left)}` : `${got.phase} …`));
    await new Promise((done) => setTimeout(done, 400));
  }
}

function told(text, error) {
  const made = make("p", `lab-told${error ? " near-error" : ""}`, text);
  made.setAttribute("role", error ? "alert" : "status");
  return made;
}

function field(name, value, hint) {
  const box = make("label", "lab-field", name);
  const input = make("input", "lab-input");
  input.type = "text";
  input.dir = "auto";
  input.value = value || "";
  input.placeholder = hint || "";
  input.maxLength = 2000;
  box.append(input);
  return [box, input];
}
