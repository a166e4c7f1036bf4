/* The end of the run's log, folded; it is read only while it is open. */

const fold = make("details", "log");
const text = make("pre", "log-text");
fold.append(make("summary", "", "Log"), text);
element.replaceChildren(fold);

let asked = "";
async function read() {
  if (!element.isConnected || !fold.open) return;
  const { run, active } = document.documentElement.tsdaeRun || {};
  if (run && !document.hidden && element.offsetParent) {
    const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 8 || asked !== run;
    try {
      const said = (await server.log(run)) || "The log is empty.";
      if (said !== text.textContent) text.textContent = said;
      if (atEnd) text.scrollTop = text.scrollHeight;
      asked = run;
    } catch (error) {
      console.warn("the log did not come; asking again", error);
    }
  } else if (!run) text.textContent = "Choose a run above to read its log.";
  setTimeout(read, active ? 1500 : 4000);
}
let reading = false;
fold.addEventListener("toggle", () => {
  if (fold.open && !reading) {
    reading = true;
    read().finally(() => {});
  }
  if (!fold.open) reading = false;
});
