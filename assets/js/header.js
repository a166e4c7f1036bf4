/* The right side of the header: what the chosen run is doing, in words, and the switch between light and dark.

   props.value is `header.about(run)`; how the run gets on is asked of the server, and only a change in the list of runs is an
   event to Python, which renews the picker, too. The facts also go to whoever listens on the document ("tsdae-run"), and the
   last ones stay in `document.documentElement.tsdaeRun` for parts of the page that are mounted later. */

const THEME = "tsdae-theme";
const EVERY = 1500; // ms

const state = make("span", "run-state");
const bar = make("span", "run-bar");
const part = make("span", "run-part");
const facts = make("span", "run-facts");
const base = make("span", "run-base");
const theme = make("button", "theme-switch");
bar.append(part);
bar.setAttribute("role", "progressbar");
bar.setAttribute("aria-label", "Progress of the run");
theme.type = "button";
const frame = make("div", "run-line");
frame.append(state, bar, facts, base, theme);
element.replaceChildren(frame);

function draw(run) {
  state.className = `run-state state-${run.state || "none"}`;
  state.textContent = run.word || "";
  state.hidden = !run.word;
  const percent = run.percent;
  bar.hidden = !run.active;
  bar.classList.toggle("run-waiting", percent == null);
  part.style.width = `${percent ?? 0}%`;
  if (percent == null) bar.removeAttribute("aria-valuenow");
  else bar.setAttribute("aria-valuenow", percent);
  const said = run.active ? [percent == null ? run.phase : `${percent} %`, run.rate, run.left] : [];
  facts.replaceChildren(...said.filter(Boolean).map((text) => make("span", "", text)));
  base.textContent = run.base ? [run.base, run.device].filter(Boolean).join(" · ") : "";
  base.title = run.loaded || "The base model that this run started from";
  const title = run.active && percent != null ? `${percent} % ${run.run} · TSDAE Studio` : "TSDAE Studio";
  if (document.title !== title) document.title = title;
  if (run.run !== undefined) inUrl("run", run.run);
  document.documentElement.tsdaeRun = run;
  document.dispatchEvent(new CustomEvent("tsdae-run", { detail: run }));
}

/* The run and the tab stand in the address, so that a reload or a link shows the same. */
function inUrl(key, value) {
  const url = new URL(window.location);
  if ((url.searchParams.get(key) || "") === value) return;
  if (value) url.searchParams.set(key, value);
  else url.searchParams.delete(key);
  window.history.replaceState(window.history.state, "", url);
}

document.addEventListener("tsdae-tab", () => {
  if (!element.isConnected) return;
  const tab = document.querySelector('#tabs [role="tab"][aria-selected="true"]');
  if (tab) inUrl("tab", tab.textContent.trim().toLowerCase());
});

// ---- light and dark

function name() {
  theme.textContent = dark() ? "Light" : "Dark";
  theme.title = dark() ? "Show the page in light colours" : "Show the page in dark colours";
}

function remembered() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null; // private windows have no storage
  }
}

theme.addEventListener("click", () => {
  document.body.classList.toggle("dark");
  name();
  try {
    localStorage.setItem(THEME, dark() ? "dark" : "light");
  } catch {
    /* then the choice holds until the page is closed */
  }
});
const asked = new URL(window.location).searchParams.get("__theme");
if (!asked && remembered()) document.body.classList.toggle("dark", remembered() === "dark");
name();

// ---- how the run gets on

let shown = "";
function show(run) {
  shown = JSON.stringify(run);
  draw(run);
}

async function look() {
  if (!element.isConnected) return;
  const asked = (props.value || {}).run;
  try {
    const run = asked === undefined ? null : await server.look(asked); // before that the page is not loaded yet
    const known = props.value || {};
    if (run && known.run === asked) {
      if (run.run !== known.run || run.edition !== known.edition) trigger("runs_changed", {});
      else if (JSON.stringify(run) !== shown) show(run);
    }
  } catch (error) {
    console.warn("how the run gets on is not known; asking again", error);
  }
  setTimeout(look, EVERY);
}

watch("value", () => show(props.value || {}));
show(props.value || {});
look();
