/* One sentence about a file that was chosen, or why it cannot be used. props.value is {text, error, gone}; `gone` is the name under
   which a file that is not there any more stood in the page's address. Text enters through textContent only. Needs dom. */

function draw() {
  const { text, error, gone } = props.value || {};
  const told = make("p", `watch-more own-text-told${error ? " near-error" : ""}`, text || "");
  told.dir = "auto";
  told.setAttribute("role", error ? "alert" : "status");
  element.replaceChildren(...(text ? [told] : []));
  if (!gone) return;
  const url = new URL(window.location);
  url.searchParams.delete(gone);
  window.history.replaceState(window.history.state, "", url);
}

draw();
watch("value", draw);
