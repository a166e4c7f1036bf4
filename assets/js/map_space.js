/* The map in space: the same points, lines, rings and names with a third coordinate. Part of map.js. */

const SPACE_SYMBOLS = ["circle", "diamond", "square"];
const SPACE_BUTTONS = [["orbitRotation", "tableRotation", "pan3d", "zoom3d"], ["resetCameraDefault3d"], ["toImage"]];
const MOST_NAMES = 14; // in space names cannot be kept from covering one another
let inSpace = false; // what the plot was made for

function spaceTraces() {
  const points = groups.map((one) => {
    const made = marker(one);
    const smaller = made.size > 4 ? 4 : made.size > 3 ? 3 : 2;
    return {
      type: "scatter3d", mode: "markers", hoverinfo: "none", showlegend: false, name: plain(one.name), customdata: one.rows, visible: !hidden.has(one.name),
      x: take(shown.x, one.rows), y: take(shown.y, one.rows), z: take(shown.z, one.rows),
      marker: { ...made, size: smaller, symbol: SPACE_SYMBOLS[one.sign || 0], line: { width: 0 } },
    }; // prettier-ignore
  });
  const none = { type: "scatter3d", visible: false, x: [0], y: [0], z: [0] }; // in the place of the contours
  return [none, ...points, ...spaceLinks()];
}

function spaceLinks() {
  const line = { x: [], y: [], z: [] }, ring = { x: [], y: [], z: [] }, sizes = [];
  const put = (into, place) => ["x", "y", "z"].forEach((axis, at) => into[axis].push(place ? place[at] : null));
  const of = (point) => [shown.x[point], shown.y[point], shown.z[point]];
  if (picked) {
    const from = picked.at || of(picked.point);
    put(ring, from);
    sizes.push(12);
    for (const one of picked.near) {
      put(line, from);
      put(line, of(one.point));
      put(line, null);
      put(ring, of(one.point));
      sizes.push(8);
    }
  } else {
    for (const point of found) {
      put(ring, of(point));
      sizes.push(9);
    }
  }
  const ink = dark() ? "#f1f5f9" : "#0f172a";
  const bare = { type: "scatter3d", hoverinfo: "skip", showlegend: false };
  return [
    { ...bare, mode: "lines", ...line, line: { width: 3, color: ink }, opacity: 0.6 },
    { ...bare, mode: "markers", ...ring, marker: { size: sizes, symbol: "circle-open", color: ink, line: { width: 2, color: ink } } },
  ];
}

function spaceSettings() {
  const style = getComputedStyle(element);
  const away = plot.clientWidth < 600 ? 1.5 : 1; // a narrow window sees it from further off
  const axis = { visible: false, showspikes: false, range: [-1.08, 1.08] };
  const text = style.getPropertyValue("--body-text-color").trim() || style.color;
  return {
    uirevision: `${run} ${map.key} space`, autosize: true, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", margin: { l: 6, r: SCALES[colour.value] ? 96 : 6, t: 34, b: 6 },
    font: { family: style.fontFamily, size: 12, color: text },
    scene: { xaxis: axis, yaxis: { ...axis }, zaxis: { ...axis }, aspectmode: "cube", bgcolor: "rgba(0,0,0,0)", dragmode: plot.layout?.scene?.dragmode || "orbit",
      camera: { eye: { x: 0.85 * away, y: 0.85 * away, z: 0.5 * away } }, annotations: spaceNames() },
    modebar: { bgcolor: style.getPropertyValue("--background-fill-primary").trim(), color: style.getPropertyValue("--body-text-color-subdued").trim(), activecolor: text, orientation: "h" },
  }; // prettier-ignore
}

function spaceNames() {
  if (!named.checked || !shown.of.names?.length) return [];
  const style = getComputedStyle(element);
  const text = style.getPropertyValue("--body-text-color").trim(), surface = style.getPropertyValue("--background-fill-primary").trim() || "white";
  return shown.of.names.slice(0, MOST_NAMES).map((one) => ({
    x: one.x, y: one.y, z: one.z, text: plain(one.text), showarrow: false, captureevents: false, font: { size: 12, color: text, weight: 600, shadow: halo(surface) },
  })); // prettier-ignore
}

/* In space Plotly looks at the mouse only when it draws, and on a slow machine misses a short press. A press that does not drag
   chooses the point that was pointed at. */
function watchPresses() {
  let from = null;
  stage.addEventListener("pointerdown", (event) => (from = inSpace && hovered !== undefined ? { event, hovered } : null), true);
  stage.addEventListener("pointerup", (event) => {
    const still = from && Math.hypot(event.clientX - from.event.clientX, event.clientY - from.event.clientY) < 5;
    if (still && inSpace) choose(from.hovered);
    from = null;
  }, true); // prettier-ignore
}
