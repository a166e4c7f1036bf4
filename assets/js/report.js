/* What was read: the text's name, how many sentences it has, and what was left out; or why it cannot be used.

   props.value is {title: text, count: text, lines: [text], error: text, busy: true while it is read}. Text enters through textContent only. */

const frame = make("section", "report");
frame.setAttribute("role", "status");
element.replaceChildren(frame);

function draw() {
  const { title = "", count = "", lines = [], error = "", busy = false } = props.value || {};
  const parts = [];
  if (error) {
    const box = make("p", "report-error", error);
    box.setAttribute("role", "alert");
    parts.push(box);
  }
  if (count) {
    const head = make("p", "report-head");
    const name = make("span", "report-title", title);
    name.title = title;
    name.dir = "auto";
    head.append(make("strong", "report-count", count), " from ", name);
    const list = make("ul", "report-lines");
    list.append(...lines.map((line) => make("li", "", line)));
    parts.push(head, list);
  } else if (busy) parts.push(make("p", "watch-empty", "Reading the text …"));
  else if (!error)
    parts.push(make("p", "watch-empty", "Open a file, paste text or take an example. What was read, and what was left out, is told here."));
  frame.replaceChildren(...parts);
}

watch("value", draw);
draw();
