/* One measure against one number: a value for each size, ratio or step, with its deviation, and the untrained base as a line.

   curve is {title, logarithmic, metric, base or null, x, mean, deviation, beside: [[label, value]]}, or null for none; look are the
   page's colours. */

/* eslint-disable no-unused-vars */
function drawCurve(node, curve, look, family) {
  node.hidden = !curve;
  if (!curve || !window.Plotly) return;
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", `${curve.metric} against ${curve.title}`);
  const read = (name, other) => getComputedStyle(node).getPropertyValue(name).trim() || other;
  const spread = curve.deviation.some((one) => one > 0);
  const traces = [
    {
      x: curve.x,
      y: curve.mean,
      name: "Trained",
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
  const layout = {
    height: 320,
    margin: { l: 56, r: 12, t: 12, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family, size: 12, color: look.text },
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
    xaxis: { ...axis, ...ticks, type: curve.logarithmic ? "log" : "linear", automargin: true, title: { ...axis.title, text: curve.title } },
    yaxis: { ...axis, ticksuffix: " %", automargin: true, title: { ...axis.title, text: curve.metric } },
    hoverlabel: { bgcolor: read("--background-fill-primary", "#fff"), bordercolor: look.grid, font: { color: look.text } },
  };
  Plotly.react(node, traces, layout, { displayModeBar: false, responsive: true });
}
