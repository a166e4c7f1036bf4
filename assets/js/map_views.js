/* Which map is shown: in the plane, in space, or the one that follows the training. Part of map.js. */

let newest = ""; // the newest checkpoint on the live map
const VIEWS = { flat: button("watch-button", "2-D", () => goTo("flat")), deep: button("watch-button", "3-D", () => goTo("deep")), live: button("watch-button", "Follow the training", () => goTo("live")) };
VIEWS.flat.title = "The map in the plane";
VIEWS.deep.title = "The same in space, laid out for itself; a lasso selects in 2-D only";

function fillViews() {
  views.setAttribute("role", "group");
  views.setAttribute("aria-label", "View");
  views.append(...Object.values(VIEWS));
  drawViews();
}

function drawViews(said) {
  views.hidden = !run;
  for (const [name, made] of Object.entries(VIEWS)) made.setAttribute("aria-pressed", String(name === view));
  if (said) {
    VIEWS.live.hidden = !!text || !!also || (!said.training && !said.live.frames);
    VIEWS.live.textContent = said.training ? "Follow the training" : "As it trained";
    VIEWS.live.title = said.training
      ? "At each checkpoint a map of up to 2,000 sentences, each started from the one before; computed beside the training, on one thread"
      : "The maps that were drawn at the checkpoints while it trained";
  } else if (view !== "live") VIEWS.live.hidden = true;
}

function goTo(name) {
  if (name === view && name !== "live") return;
  if (name !== view) {
    view = name;
    turn += 1;
    clear("Looking for the map …");
    newest = "";
    wish = which = "trained";
  }
  round += 1;
  drawViews();
  VIEWS.live.hidden = false; // it stays where the keyboard is until the answer comes
  trigger("map_view", { view });
  look(turn, round, "");
}

/* The newest checkpoint is shown as soon as it is drawn, unless somebody looks back at an earlier one. */
function ahead(there) {
  const last = there.at(-1)?.which || "";
  if (!newest || wish === newest) wish = last;
  newest = last;
}

function liveWords(said) {
  if (said.state === "failed") return `The training is no longer followed: ${said.error}`;
  if (["starting", "running", "stopping"].includes(said.state)) return "The base comes first, then each checkpoint as it is reached.";
  if (said.training) return "The training is not followed now. Press Follow the training to go on.";
  return said.live.frames ? "The training has ended. Draw map draws all sentences by the trained encoder." : "This run does not train now. Press Draw map.";
}
