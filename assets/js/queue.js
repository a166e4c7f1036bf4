/* The queue: what is trained next, in which order; up, down, off the queue, pause and go on. Hidden while nothing waits.

   props.value is {read_only, message, turn}. Server function: queue() -> {waiting: [{name, title}], going, pausing, current}.
   Event: 'queue_act' with {deed, name}. Names enter through textContent only. */

const frame = make("section", "queue");
const head = make("div", "queue-head");
const title = make("h3", "queue-title", "Queue");
const state = make("span", "queue-state");
const flow = button("watch-button", "Pause", () => act(flow.dataset.deed, ""));
const list = make("ol", "queue-list");
const note = make("p", "map-note");
note.setAttribute("role", "alert");
head.append(title, state, flow);
frame.append(head, list, note);
element.replaceChildren(frame);
frame.hidden = true;
let timer = 0;
let drawn = "";

function act(deed, name) {
  for (const one of frame.querySelectorAll("button")) one.disabled = true;
  drawn = "";
  trigger("queue_act", { deed, name });
}

async function look() {
  clearTimeout(timer);
  if (!element.isConnected) return;
  if (!document.hidden && element.offsetParent !== null) {
    try {
      draw(await server.queue());
    } catch {
      /* the app is away for a moment */
    }
  }
  timer = setTimeout(look, 1500);
}

function draw(said) {
  const value = props.value || {};
  note.textContent = value.message || "";
  note.hidden = !value.message;
  const seen = JSON.stringify([said, value]);
  if (seen === drawn) return;
  drawn = seen;
  frame.hidden = !said.waiting.length;
  const locked = value.read_only ? "This page is read-only." : "";
  state.textContent = said.going
    ? `${number(said.waiting.length)} waiting${said.current ? `, ${said.current} is being trained` : ""}`
    : said.pausing
      ? "Pausing: no further run is started"
      : `${number(said.waiting.length)} waiting; nothing is started until you press Go on`;
  flow.textContent = said.going ? "Pause" : "Go on";
  flow.dataset.deed = said.going ? "pause" : "resume";
  flow.title = locked || (said.going ? "Start no further run; the one that is being trained goes on" : "Train what waits, one after the other");
  flow.disabled = !!locked;
  list.replaceChildren(
    ...said.waiting.map((one, place) => {
      const item = make("li", "queue-item");
      const name = inDirection(make("span", "queue-name", one.title));
      const row = make("span", "queue-buttons");
      const add = (text, deed, hint, off) => {
        const made = button("watch-button", text, () => act(deed, one.name));
        made.title = locked || hint;
        made.setAttribute("aria-label", `${hint}: ${one.title}`);
        made.disabled = !!locked || off;
        row.append(made);
      };
      add("↑", "up", "One place earlier", place === 0);
      add("↓", "down", "One place later", place === said.waiting.length - 1);
      add("Remove", "remove", "Take it off the queue; it can be started later", false);
      item.append(name, row);
      return item;
    }),
  );
}

watch("value", look);
look();
