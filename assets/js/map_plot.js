/* The map's picture: points in groups of one colour, contours, lines to true neighbours, names, and the way from one layout to
   the next. Part of map.js, which holds what is known (`map`, `shown`, `picked`) and the elements. */

const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"); // Plotly reads tags

function show(layout, fromWhereTheyAre) {
  const from = fromWhereTheyAre && shown && shown.x.length === layout.x.length && !shown.z && !layout.z ? shown : null;
  offer(layout);
  moving += 1; // whatever still glides stops
  stage.classList.remove("map-turning");
  shown = { x: layout.x, y: layout.y, z: layout.z, of: layout };
  group();
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (from && plot.data && !still) glide(from, layout);
  else draw().then(() => paint && endMotion());
  describe();
}

function traces() {
  if (shown.z) return spaceTraces();
  const points = groups.map((one) => ({
    selectedpoints: selection ? one.rows.flatMap((row, at) => (selection.has(row) ? [at] : [])) : undefined,
    type: "scattergl", mode: "markers", hoverinfo: "none", showlegend: false, name: plain(one.name), customdata: one.rows,
    visible: !hidden.has(one.name), x: take(shown.x, one.rows), y: take(shown.y, one.rows), marker: marker(one),
    selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: 0.12 } },
  }));
  return [density(), ...points, ...links()];
} // prettier-ignore

/* Faint contours of how many points lie where, for maps so full that points hide points. */
function density() {
  const none = { type: "contour", visible: false, z: [[0, 0], [0, 0]], showscale: false, hoverinfo: "skip" };
  if (shown.x.length <= 5000 || shown.of.kind === "axes") return none;
  const side = 84, reach = 1.25, sigma = 1.6;
  let grid = Array.from({ length: side }, () => new Float32Array(side));
  const bin = (value) => Math.min(side - 1, Math.max(0, Math.floor(((value + reach) / (2 * reach)) * side)));
  for (const one of groups) if (!hidden.has(one.name)) for (const row of one.rows) grid[bin(shown.y[row])][bin(shown.x[row])] += 1;
  const weights = [-4, -3, -2, -1, 0, 1, 2, 3, 4].map((step) => [step, Math.exp(-(step * step) / (2 * sigma * sigma))]);
  const blurred = (rows) => rows.map((row) => row.map((_, at) => weights.reduce((sum, [step, weight]) => sum + weight * (row[at + step] || 0), 0)));
  const turned = (rows) => rows[0].length ? Array.from(rows[0], (_, at) => rows.map((row) => row[at])) : rows;
  grid = turned(blurred(turned(blurred(grid.map((row) => Array.from(row))))));
  const top = Math.max(...grid.map((row) => Math.max(...row)));
  const at = Array.from({ length: side }, (_, place) => -reach + ((place + 0.5) * 2 * reach) / side);
  const ink = dark() ? "255,255,255" : "15,23,42";
  return {
    type: "contour", x: at, y: at, z: grid.map((row) => row.map((value) => Math.sqrt(value / top))), hoverinfo: "skip", showscale: false,
    autocontour: false, contours: { start: 0.18, end: 0.95, size: 0.13, coloring: "fill" }, line: { width: 0.5, color: `rgba(${ink},0.12)`, smoothing: 1.2 },
    colorscale: [[0, `rgba(${ink},0)`], [0.12, `rgba(${ink},0.01)`], [1, `rgba(${ink},0.075)`]], zmin: 0, zmax: 1,
  }; // prettier-ignore
}

/* Lines from the chosen sentence to its true neighbours, and rings around them, or around what a search found; always the last
   two traces. */
function links() {
  if (shown.z) return spaceLinks();
  const x = [], y = [], ringX = [], ringY = [], sizes = [];
  if (picked) {
    const [fromX, fromY] = picked.at || [shown.x[picked.point], shown.y[picked.point]];
    ringX.push(fromX);
    ringY.push(fromY);
    sizes.push(14);
    for (const one of picked.near) {
      x.push(fromX, shown.x[one.point], null);
      y.push(fromY, shown.y[one.point], null);
      ringX.push(shown.x[one.point]);
      ringY.push(shown.y[one.point]);
      sizes.push(9);
    }
  } else {
    for (const point of found) {
      ringX.push(shown.x[point]);
      ringY.push(shown.y[point]);
      sizes.push(10);
    }
  }
  const ink = dark() ? "#f1f5f9" : "#0f172a";
  const bare = { type: "scattergl", hoverinfo: "skip", showlegend: false };
  return [
    { ...bare, mode: "lines", x, y, line: { width: 1.2, color: ink }, opacity: 0.55 },
    { ...bare, mode: "markers", x: ringX, y: ringY, marker: { size: sizes, color: "rgba(0,0,0,0)", line: { width: 2, color: ink } } },
  ];
}

/* What the frame spans: all points of the layouts that were seen, so that these stand in one frame. */
function extent() {
  const [x, y] = ["x", "y"].map((axis) => {
    const spans = Object.values(map.layouts).map((one) => one.span[axis]);
    const low = Math.min(...spans.map((one) => one[0])), high = Math.max(...spans.map((one) => one[1]));
    const rim = 0.04 * (high - low) + 0.01;
    return [low - rim, high + rim];
  });
  return { x, y };
} // prettier-ignore

const reach = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/* How high a unit is drawn against its width: the axes mean nothing, so the frame is filled, within reason. */
function stretch() {
  const { x, y } = extent();
  const filling = (plot.clientHeight / (y[1] - y[0])) / (Math.max(1, plot.clientWidth) / (x[1] - x[0]));
  return Math.max(0.6, Math.min(1.5, filling));
} // prettier-ignore

let drawn = 0; // pictures so far: what Plotly remembers of a selection is not to outlive one
let drawing = false;
let fitted = null; // {of: which map, x: what Plotly made of the frame that was asked for}

const zoomed = () => fitted && plot.layout?.xaxis?.range && String(plot.layout.xaxis.range) !== fitted.x;

/* All of the map, or what was zoomed to. */
function frameFor(of) {
  const stays = fitted?.of === of && zoomed();
  if (!stays) fitted = null;
  return stays ? { x: plot.layout.xaxis.range, y: plot.layout.yaxis.range } : extent();
}

/* A frame of another shape shows as much from left to right as before, around the same middle. */
function sameWidth() {
  const [left, right] = plot.layout.xaxis.range, [low, top] = plot.layout.yaxis.range;
  const { l, r, t, b } = plot._fullLayout.margin;
  const wide = plot.clientWidth - l - r, high = plot.clientHeight - t - b;
  const half = ((right - left) * (high / wide)) / stretch() / 2, middle = (low + top) / 2;
  return { "xaxis.range": [left, right], "yaxis.range": [middle - half, middle + half] };
}

function fit(of) {
  if (!fitted && plot.layout?.xaxis?.range) fitted = { of, x: String(plot.layout.xaxis.range) };
}

function layoutSettings() {
  if (shown.z) return spaceSettings();
  const plainly = shown.of.kind === "axes";
  const of = `${run} ${map.key} ${plainly ? JSON.stringify([axes.a, axes.b]) : ""}`;
  const style = getComputedStyle(element);
  const quiet = { visible: false, showgrid: false, zeroline: false };
  const { x, y } = plainly ? {} : frameFor(of);
  const surface = style.getPropertyValue("--background-fill-primary").trim() || "white";
  const text = style.getPropertyValue("--body-text-color").trim() || style.color;
  return {
    uirevision: of, selectionrevision: ++drawn, selections: [], autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: { family: style.fontFamily, size: 12, color: text },
    margin: { l: plainly ? 58 : 6, r: 6, t: 34, b: plainly ? 50 : 6 }, hovermode: "closest", hoverdistance: 10, spikedistance: 20,
    dragmode: plot.layout?.dragmode || "pan", xaxis: plainly ? axis(axes.a, style) : { ...quiet, range: x }, yaxis: plainly ? axis(axes.b, style) : { ...quiet, range: y, scaleanchor: "x", scaleratio: stretch() },
    modebar: { bgcolor: surface, color: style.getPropertyValue("--body-text-color-subdued").trim(), activecolor: text, orientation: "h" },
    annotations: labels(text, surface),
  };
} // prettier-ignore

/* A rim around letters, so that they are read above points without hiding them. */
const halo = (surface) => Array.from({ length: 4 }, () => `0 0 2px ${surface}`).join(", ");

/* Names of the groups, largest first, where they do not cover one another at the present zoom. */
function labels(text, surface) {
  const layout = shown?.of;
  if (!named.checked || !layout?.names?.length || layout.kind === "axes") return [];
  const [across, down] = [plot._fullLayout?.xaxis, plot._fullLayout?.yaxis];
  const wide = across?._length || plot.clientWidth || 800, high = down?._length || plot.clientHeight || 560;
  const [left, right] = across?.range || [-1.08, 1.08];
  const [low, top] = down?.range || [-1.08, 1.08];
  const taken = [];
  const kept = [];
  for (const one of layout.names) {
    const px = ((one.x - left) / (right - left)) * wide, py = ((top - one.y) / (top - low)) * high;
    const half = 3.4 * one.text.length + 6;
    const box = [px - half, py - 11, px + half, py + 11];
    if (box[0] < 0 || box[2] > wide || box[1] < 0 || box[3] > high) continue;
    if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
    taken.push(box);
    kept.push({ x: one.x, y: one.y, text: plain(one.text), showarrow: false, captureevents: false,
      font: { size: 12, color: text, weight: 600, shadow: halo(surface) } }); // prettier-ignore
  }
  return kept;
}

async function draw() {
  if (!map || !shown) return;
  if (!window.Plotly) return void setTimeout(draw, 100);
  for (const node of [tools, more, trust]) node.hidden = false;
  if (plot.data && inSpace !== !!shown.z) Plotly.purge(plot); // the plane and space have nothing in common
  inSpace = !!shown.z;
  const fresh = !plot.data;
  if (fresh) plot.replaceChildren();
  const config = {
    displaylogo: false, displayModeBar: true, showSendToCloud: false, responsive: true, scrollZoom: true, doubleClick: "reset",
    modeBarButtons: shown.z ? SPACE_BUTTONS : [["zoom2d", "pan2d", "lasso2d", "select2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"], ["toImage"]],
    toImageButtonOptions: { format: "png", scale: 2, filename: `map-${run}` },
  }; // prettier-ignore
  const settings = layoutSettings();
  drawing = true; // the frame of a selection goes, which Plotly takes for its end
  const done = Plotly.react(plot, traces(), settings, config);
  drawing = false;
  await done;
  if (!shown?.z && shown?.of.kind !== "axes") fit(settings.uirevision);
  frame.dataset.kind = shown?.of.kind || "";
  frame.dataset.which = which;
  if (!fresh || !plot.on) return;
  plot.on("plotly_click", (event) => inSpace || choose(event.points[0].customdata));
  plot.on("plotly_hover", (event) => hover(event.points[0].customdata, event.event));
  plot.on("plotly_unhover", () => unhover());
  plot.on("plotly_selected", (event) => event && !drawing && select(event.points.map((one) => one.customdata)));
  plot.on("plotly_deselect", () => drawing || unselect());
  plot.on("plotly_relayout", (event) => "annotations" in event || shown?.z || relabel());
  relabel();
}

/* Names again after a zoom: there may be room for more of them. */
function relabel() {
  if (!plot.data || !shown) return;
  if (shown.z) return void Plotly.relayout(plot, { "scene.annotations": spaceNames() });
  const style = getComputedStyle(element);
  const next = labels(style.getPropertyValue("--body-text-color").trim(), style.getPropertyValue("--background-fill-primary").trim() || "white");
  const text = (all) => (all || []).map((one) => one.text).join("|");
  if (text(next) !== text(plot.layout.annotations)) Plotly.relayout(plot, { annotations: next });
}
