/* Measures against one number: a value for each size, ratio or step, with its deviation, and the untrained base as a line. What
   the curve shows stands above it in words; with several measures a list chooses one.

   A curve is {title, logarithmic, series, metric, base or null, x, mean, deviation, beside: [[label, value]], said: [sentence]}; look
   are the page's colours. */

/* eslint-disable no-unused-vars */
const NARROWEST = 2; // points of percent that the axis spans at least: a change of a tenth shall not look like a fall

function drawCurves(node, curves, look, family) {
  node.hidden = !curves?.length;
  if (node.hidden) return;
  if (!node.childElementCount) {
    const which = make("select", "map-colour");
    which.setAttribute("aria-label", "Measure of the curve");
    which.addEventListener("change", () => node.redraw());
    node.append(make("div", "compare-said"), which, make("div", "compare-plot"));
  }
  const [said, which, plot] = node.children;
  node.redraw = () => drawCurves(node, curves, look, family);
  const names = curves.map((one) => one.metric);
  if ([...which.options].map((one) => one.value).join("\n") !== names.join("\n")) {
    const chosen = which.value;
    which.replaceChildren(...names.map((name) => new Option(name, name)));
    if (names.includes(chosen)) which.value = chosen;
  }
  which.hidden = names.length < 2;
  const curve = curves[Math.max(0, which.selectedIndex)];
  said.replaceChildren(...curve.said.map((text) => inDirection(make("p", "", text))));
  said.hidden = !curve.said.length;
  drawCurve(plot, curve, look, family);
}

function drawCurve(node, curve, look, family) {
  if (!window.Plotly) return void setTimeout(drawCurve, 200, node, curve, look, family);
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", `${curve.metric} against ${curve.title}`);
  const spread = curve.deviation.some((one) => one > 0);
  const traces = [
    {
      x: curve.x,
      y: curve.mean,
      name: curve.series,
      mode: "lines+markers",
      line: { color: look.accent, width: 2 },
      marker: { size: 7, color: look.accent },
      error_y: { type: "data", array: curve.deviation, visible: spread, color: look.accent, thickness: 1.5 },
      hovertemplate: "%{x:,}: %{y:.2f}<extra></extra>",
    },
  ];
  if (curve.base !== null && curve.base !== undefined)
    traces.push({
      x: [curve.x[0], curve.x.at(-1)],
      y: [curve.base, curve.base],
      name: "Untrained base",
      mode: "lines",
      line: { color: look.base, width: 2, dash: "dash" },
      hovertemplate: "%{y:.2f}<extra>Untrained base</extra>",
    });
  const dashes = ["dot", "dashdot", "longdash"];
  (curve.beside || []).forEach(([label, value], place) =>
    traces.push({
      x: [curve.x[0], curve.x.at(-1)],
      y: [value, value],
      name: label.replace(/[<>&]/g, " "),
      mode: "lines",
      line: { color: look.text, width: 1.5, dash: dashes[place % dashes.length] },
      hovertemplate: "%{y:.2f}<extra>%{fullData.name}</extra>",
    }),
  );
  const axis = { fixedrange: true, zeroline: false, gridcolor: look.grid, linecolor: look.grid, tickfont: { color: look.soft }, title: { font: { size: 12, color: look.text } } };
  const ticks = curve.x.length <= 12 ? { tickvals: curve.x, ticktext: curve.x.map(number) } : {};
  const every = [...curve.mean.flatMap((mean, at) => [mean - curve.deviation[at], mean + curve.deviation[at]]), ...(curve.beside || []).map((one) => one[1]), curve.base].filter((one) => one !== null && one !== undefined);
  const [low, high] = [Math.min(...every), Math.max(...every)];
  const half = (Math.max(high - low, NARROWEST) / 2) * 1.15;
  const layout = {
    height: 320,
    margin: { l: 56, r: 12, t: 12, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family, size: 12, color: look.text },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: { ...axis, ...ticks, type: curve.logarithmic ? "log" : "linear", automargin: true, title: { ...axis.title, text: curve.title } },
    yaxis: { ...axis, range: [(low + high) / 2 - half, (low + high) / 2 + half], ticksuffix: " %", automargin: true, title: { ...axis.title, text: curve.metric } },
    hoverlabel: { bgcolor: getComputedStyle(node).getPropertyValue("--background-fill-primary"), bordercolor: look.grid, font: { color: look.text } },
  };
  Plotly.react(node, traces, layout, { displayModeBar: false, responsive: true });
}

/* The page's colours as they are now, light or dark. */
function looks() {
  const style = getComputedStyle(element);
  const read = (name, other) => style.getPropertyValue(name).trim() || other;
  return {
    text: read("--body-text-color", "#222"), soft: read("--body-text-color-subdued", "#666"), grid: read("--border-color-primary", "#ddd"),
    base: read("--series-base", "#8a939e"), accent: read("--color-accent", "#0f766e"),
  }; // prettier-ignore
}
