/* The map in motion: while it is dragged or turns into another, its points are painted by hand on a canvas above
   Plotly's, which redraws tens of thousands of points too slowly where there is no graphics card. Plotly draws once, when it is over.
   Part of map.js. */

const pad = make("canvas", "map-motion");
pad.setAttribute("aria-hidden", "true");
let paint = null; // (x, y, {left, right, low, top}): coordinates of the points, and what the frame spans; null at rest

/* What a point looks like, as offsets of pixels around it. */
function stamp(symbol, size) {
  const half = size / 2, inside = {
    circle: (x, y) => x * x + y * y <= 0.8 * half * half,
    diamond: (x, y) => Math.abs(x) + Math.abs(y) <= half,
    "triangle-up": (x, y) => y <= half * 0.6 && Math.abs(x) * 1.7 <= y + half * 1.1,
  }[symbol]; // prettier-ignore
  const reach = Math.ceil(half * 1.3);
  const found = [];
  for (let y = -reach; y <= reach; y++) for (let x = -reach; x <= reach; x++) if (inside(x, y)) found.push([x, y]);
  return found;
}

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const packed = ([red, green, blue], opacity) => ((Math.round(255 * opacity) << 24) | (blue << 16) | (green << 8) | red) >>> 0;

/* Each point's colour as a pixel: of its group or on the scale, and pale beside a selection. */
function inks() {
  const made = new Uint32Array(shown.x.length);
  groups.forEach((one, place) => {
    if (hidden.has(one.name)) return;
    const { color, colorscale, cmin, cmax, opacity } = marker(one);
    const steps = colorscale?.map(([, hex]) => rgb(hex));
    const bare = colorscale ? null : rgb(color);
    one.rows.forEach((row) => {
      const full = selection ? (selection.has(row) ? 1 : 0.12) : opacity;
      const share = bare ? 0 : Math.max(0, Math.min(1, (color[row] - cmin) / (cmax - cmin)));
      const ink = bare || steps[Math.round((steps.length - 1) * share)];
      if (ink) made[row] = packed(ink, full);
    });
  });
  return made;
}

/* Take over from Plotly; the picture stays as it is until `paint`, which is returned too, is called. */
function beginMotion() {
  const { _size: frame } = plot._fullLayout;
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(frame.w * ratio), high = Math.round(frame.h * ratio);
  Object.assign(pad, { width: wide, height: high });
  Object.assign(pad.style, { left: `${frame.l}px`, top: `${frame.t}px`, width: `${frame.w}px`, height: `${frame.h}px` });
  plot.querySelector(".gl-container").after(pad); // below the names
  const context = pad.getContext("2d");
  const image = context.createImageData(wide, high);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = inks();
  const stamps = groups.map((one) => stamp(SYMBOLS[one.sign], marker(one).size * ratio));
  const darkInk = dark() ? "#f1f5f9" : "#0f172a";
  paint = (x, y, { left, right, low, top }) => {
    const across = wide / (right - left), up = high / (top - low);
    pixels.fill(0);
    groups.forEach((one, place) => {
      if (hidden.has(one.name)) return;
      const dots = stamps[place];
      for (const row of one.rows) {
        const px = Math.round((x[row] - left) * across), py = Math.round((top - y[row]) * up);
        if (px < -8 || py < -8 || px > wide + 8 || py > high + 8) continue;
        for (const [dx, dy] of dots) {
          const column = px + dx, line = py + dy;
          if (column >= 0 && column < wide && line >= 0 && line < high) pixels[line * wide + column] = colours[row];
        }
      }
    });
    context.putImageData(image, 0, 0);
    const [lines, rings] = links();
    context.strokeStyle = darkInk;
    context.lineWidth = 1.2 * ratio;
    context.globalAlpha = 0.55;
    context.beginPath();
    for (let at = 0; at + 1 < lines.x.length; at += 3) {
      context.moveTo((lines.x[at] - left) * across, (top - lines.y[at]) * up);
      context.lineTo((lines.x[at + 1] - left) * across, (top - lines.y[at + 1]) * up);
    }
    context.stroke();
    context.globalAlpha = 1;
    context.lineWidth = 2 * ratio;
    rings.x.forEach((one, at) => {
      context.beginPath();
      context.arc((one - left) * across, (top - rings.y[at]) * up, (rings.marker.size[at] / 2) * ratio, 0, 7);
      context.stroke();
    });
    stage.classList.add("map-moving");
  };
  return paint;
}

/* Plotly's picture is up to date again. */
function endMotion() {
  paint = null;
  requestAnimationFrame(() => paint || stage.classList.remove("map-moving"));
}

function span() {
  const { xaxis, yaxis } = plot._fullLayout;
  return { left: xaxis.range[0], right: xaxis.range[1], low: yaxis.range[0], top: yaxis.range[1] };
}

/* From one layout to the other: every point goes straight to its new place, in as many steps as the browser manages. */
function glide(from, to) {
  const mine = ++moving;
  const start = { x: Float32Array.from(from.x), y: Float32Array.from(from.y) };
  const now = { x: Float32Array.from(from.x), y: Float32Array.from(from.y), of: to };
  let began;
  const paintNow = beginMotion();
  stage.classList.add("map-turning");
  const step = (time) => {
    if (mine !== moving || !plot.data) return;
    began ??= time;
    const share = Math.min(1, (time - began) / GLIDE);
    const eased = share * share * (3 - 2 * share);
    for (let row = 0; row < to.x.length; row++) {
      now.x[row] = start.x[row] + eased * (to.x[row] - start.x[row]);
      now.y[row] = start.y[row] + eased * (to.y[row] - start.y[row]);
    }
    shown = share < 1 ? now : { x: to.x, y: to.y, of: to };
    paintNow(shown.x, shown.y, span());
    if (share < 1) return void requestAnimationFrame(step);
    requestAnimationFrame(() => mine === moving && draw().then(() => mine === moving && (stage.classList.remove("map-turning"), endMotion())));
  };
  requestAnimationFrame(step);
}
const GLIDE = 900; // milliseconds

// ---- dragging, and the wheel

let drag = null; // {x, y, at: what the frame spanned, view: what it spans now} since the button went down on the map
let asked = 0; // the next picture
let turning = false; // whether a turn of the wheel is being drawn

const passing = new WeakSet(); // events made here, for Plotly

const aimed = (event) => shown && !shown.z && plot._fullLayout && event.target.classList?.contains("nsewdrag");

function follows() {
  if (!drag?.view) return;
  if (!paint) beginMotion();
  paint(shown.x, shown.y, drag.view);
  const { _size: frame } = plot._fullLayout; // contours and names go along; what stands at the axes waits
  const x = ((drag.at.left - drag.view.left) / (drag.at.right - drag.at.left)) * frame.w;
  const y = ((drag.view.top - drag.at.top) / (drag.at.top - drag.at.low)) * frame.h;
  for (const part of plot.querySelectorAll(".contourlayer, .annotation")) part.style.transform = `translate(${x}px, ${y}px)`;
}

function settle() {
  for (const part of plot.querySelectorAll(".contourlayer, .annotation")) part.style.transform = "";
  if (paint) endMotion();
}

function watchMotion() {
  stage.addEventListener("mousedown", (event) => {
    const pans = !paint && event.button === 0 && aimed(event) && plot._fullLayout.dragmode === "pan";
    drag = pans ? { x: event.clientX, y: event.clientY, at: span() } : null;
  }, true);

  window.addEventListener("mousemove", (event) => {
    if (!drag || passing.has(event) || !plot._fullLayout) return;
    const x = event.clientX - drag.x, y = event.clientY - drag.y;
    if (!drag.view && Math.hypot(x, y) < 8) return; // Plotly takes so little for a press too
    event.stopImmediatePropagation(); // Plotly would draw everything anew for each of these
    unhover();
    const { _size: frame } = plot._fullLayout;
    const { at } = drag, right = (-x / frame.w) * (at.right - at.left), up = (y / frame.h) * (at.top - at.low);
    drag.view = { left: at.left + right, right: at.right + right, low: at.low + up, top: at.top + up };
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(follows);
  }, true);

  /* The whole way is told to Plotly at once, which then takes it for one movement. */
  window.addEventListener("mouseup", (event) => {
    const moved = drag?.view;
    drag = null;
    if (!moved) return;
    const far = { clientX: event.clientX, clientY: event.clientY, bubbles: true, buttons: 1 };
    const told = new MouseEvent("mousemove", far);
    passing.add(told);
    document.dispatchEvent(told);
    plot.once("plotly_relayout", settle);
    setTimeout(() => drag?.view || settle(), 3000); // should nothing have come of it
  }, true);

  /* No more turns of the wheel than pictures. */
  stage.addEventListener("wheel", (event) => {
    if (!aimed(event)) return;
    if (turning) {
      event.preventDefault();
      return void event.stopImmediatePropagation();
    }
    turning = true;
    requestAnimationFrame(() => requestAnimationFrame(() => (turning = false)));
  }, { capture: true, passive: false });
} // prettier-ignore
