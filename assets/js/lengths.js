/* How long the sentences are in tokens, and how many of them a limit cuts off.

   props.value is {counts: [sentences per bin], width: tokens per bin, limit: tokens, text: one sentence, note: whose tokens, more: bool}. The
   last bin also holds all longer ones when `more` is true. Drawn as SVG: a dozen bars need no library. */

const SVG = "http://www.w3.org/2000/svg";
const shape = (tag, values, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
};

const said = make("p", "lengths-text");
const stage = make("div", "lengths-stage");
const frame = make("section", "lengths");
const note = make("p", "lengths-text lengths-note");
frame.append(said, stage, note);
element.replaceChildren(frame);

const HEIGHT = 132;
const FOOT = 18;
const TOP = 14;
const count = new Intl.NumberFormat("en");

function bars(value, width) {
  const { counts, width: size, limit, more } = value;
  const most = Math.max(...counts, 1);
  const each = width / counts.length;
  const drawn = [];
  counts.forEach((number, place) => {
    const high = number ? Math.max(1.5, (number / most) * (HEIGHT - FOOT - TOP)) : 0;
    const from = place * size + 1;
    const last = more && place === counts.length - 1;
    const cut = from > limit;
    const bar = shape("rect", {
      x: place * each + 0.5,
      y: HEIGHT - FOOT - high,
      width: Math.max(1, each - 1),
      height: high,
      class: cut ? "lengths-cut" : "lengths-bar",
    });
    const span = last ? `${from} tokens and more` : size === 1 ? `${from} tokens` : `${from} to ${from + size - 1} tokens`;
    bar.append(shape("title", {}, `${span}: ${count.format(number)} sentences${cut ? ", cut off" : ""}`));
    drawn.push(bar);
  });
  return drawn;
}

function axis(value, width) {
  const { counts, width: size, limit, more } = value;
  const top = counts.length * size;
  const drawn = [shape("line", { x1: 0, x2: width, y1: HEIGHT - FOOT, y2: HEIGHT - FOOT, class: "lengths-axis" })];
  const steps = width < 420 ? 4 : 8;
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000].find((one) => top / one <= steps) || top;
  for (let at = step; at <= top - (more ? size : 0); at += step)
    drawn.push(shape("text", { x: (at / top) * width, y: HEIGHT - 4, class: "lengths-tick" }, count.format(at)));
  if (limit < top) {
    const x = (limit / top) * width;
    const left = x > width / 2;
    drawn.push(shape("line", { x1: x, x2: x, y1: 0, y2: HEIGHT - FOOT, class: "lengths-limit" }));
    const place = { x: x + (left ? -6 : 6), y: 10, class: "lengths-mark", "text-anchor": left ? "end" : "start" };
    drawn.push(shape("text", place, `longest sentence: ${count.format(limit)} tokens`));
  }
  return drawn;
}

let drawnWidth = 0;
function draw() {
  const value = props.value || {};
  said.textContent = value.text || "Measuring the sentences …";
  note.textContent = value.note || "";
  stage.hidden = !value.counts?.length;
  if (stage.hidden) return;
  const width = stage.clientWidth;
  drawnWidth = width;
  if (!width) return; // drawn when it is seen
  const picture = shape("svg", { width, height: HEIGHT, role: "img", "aria-label": value.text || "Token lengths" });
  picture.append(...bars(value, width), ...axis(value, width));
  stage.replaceChildren(picture);
}

new ResizeObserver(() => stage.clientWidth !== drawnWidth && draw()).observe(stage);
watch("value", draw);
draw();
