/* Elements made in one line, and numbers as people write them; put before a component's own code (see `component`). */

/* eslint-disable no-unused-vars */
const make = (tag, className, text) => {
  const node = document.createElement(tag);
  node.className = className || "";
  if (text !== undefined) node.textContent = text;
  return node;
};
const button = (className, text, act) => {
  const made = make("button", className, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
};

/* Lines for a terminal or an editor behind one line of text, and a button that copies them. */
function codeFold(title, text) {
  const fold = make("details", "command");
  const copy = button("watch-button", "Copy", async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  fold.append(make("summary", "", title), make("pre", "command-text", text), copy);
  return fold;
}
const inDirection = (node) => ((node.dir = "auto"), node); // right to left where the text is
const number = (value) => Number(value).toLocaleString("en-US");
/* ", about 12 min left"; nothing while that is not known. */
function timeLeft(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 90) return `, about ${Math.max(1, Math.round(seconds))} s left`;
  return seconds < 5400 ? `, about ${Math.round(seconds / 60)} min left` : `, about ${(seconds / 3600).toFixed(1)} h left`;
}
const dark = () => document.body.classList.contains("dark");
const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

/* Hand a file to the person: text, or bytes as base64. */
function download(name, type, content, isBase64 = false) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([isBase64 ? unpack(content, Uint8Array) : content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/* Rows as CSV. A leading = + - @ would be run as a formula by a spreadsheet. */
function csv(header, rows) {
  const cell = (value) => `"${String(value ?? "").replace(/^([=+\-@\t\r])/, "'$1").replaceAll('"', '""')}"`;
  return `\ufeff${[header.join(","), ...rows.map((row) => row.map(cell).join(","))].join("\r\n")}`;
}
