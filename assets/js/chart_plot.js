/* The picture of a run's losses for Plotly: its lines, its marks, its layout. All of it is made anew from what is known.

   `view` is {run, looks, events, range: [from, to] of the steps in view or null, log, rate, width, colour(name, spare), font}. */

const MARKS = { decoder_warmup_end: "decoder warmed up", checkpoint: "checkpoint", resumed: "resumed" };

function palette(colour) {
  const dim = dark();
  return {
    text: colour("--body-text-color", "#222"),
    soft: colour("--watch-soft", "#777"),
    grid: colour("--border-color-primary", "#ddd"),
    paper: colour("--background-fill-primary", "#fff"),
    accent: colour("--watch-accent", "#0f766e"),
    base: dim ? "#a3a3a3" : "#737373",
    heldOut: dim ? "#e69f00" : "#d55e00",
    rate: dim ? "#d996bb" : "#b3588b",
  };
}

const bracketed = (text) => (text ? ` (${text})` : "");

function series(look, view) {
  const { steps, losses, rates, smooth } = curve;
  const [from, to] = view.range || [-Infinity, Infinity];
  const places = visible(from, to, Math.max(200, Math.round(view.width * 0.75)));
  const at = places.map((i) => steps[i]);
  const line = (name, y, style, more) => ({ type: "scatter", mode: "lines", name, x: at, y, line: style, ...more });
  const drawn = (key) => view.looks.filter((row) => row[key] != null);
  const [held, shuffled] = [drawn("held_out"), drawn("shuffled")];
  const few = places.length < 3;
  return [
    line("each step", places.map((i) => losses[i]), { color: look.accent, width: 1 }, {
      opacity: few ? 0.6 : 0.35,
      mode: few ? "lines+markers" : "lines",
      hovertemplate: "%{y:.3g}",
    }),
    line("training", places.map((i) => smooth[i]), { color: look.accent, width: 2.5 }, {
      text: places.map((i) => bracketed(meaning(smooth[i]))),
      hovertemplate: "%{y:.3g}%{text}",
    }),
    line("another sentence's vector", shuffled.map((row) => row.shuffled), { color: look.base, width: 2, dash: "dash" }, {
      x: shuffled.map((row) => row.step),
      text: shuffled.map((row) => bracketed(meaning(row.shuffled))),
      mode: shuffled.length < 2 ? "markers" : "lines",
      marker: { color: look.base, size: 7, symbol: "line-ew-open" },
      hovertemplate: "%{y:.3g}%{text}",
    }),
    line("held-out", held.map((row) => row.held_out), { color: look.heldOut, width: 1.5 }, {
      x: held.map((row) => row.step),
      mode: held.length > 200 ? "lines" : "lines+markers",
      marker: { color: look.heldOut, size: view.width < 520 || held.length > 60 ? 5 : 7 },
      text: held.map((row) => bracketed(meaning(row.held_out) + (row.written == null ? "" : `, ${percent(row.written)} rebuilt`))),
      hovertemplate: "%{y:.3g}%{text}",
    }),
    line("learning rate", view.rate ? places.map((i) => rates[i]) : [], { color: look.rate, width: 1.5, dash: "dot" }, {
      x: view.rate ? at : [],
      yaxis: "y2",
      visible: view.rate,
      hovertemplate: "%{y:.2e}",
    }),
  ]; // prettier-ignore
}

/* A vertical line for each event; a label where it has room, the newest first. */
function marks(look, view) {
  const { steps } = curve;
  const shown = view.events.filter((row) => row.event in MARKS);
  const range = view.range || [steps[0] ?? 0, steps[steps.length - 1] ?? 1];
  const pixels = Math.max(1, view.width - 90) / Math.max(1e-9, range[1] - range[0]);
  const important = (row) => (row.event === "checkpoint" ? 0 : 1);
  const lines = shown.slice(-80).map((row) => ({
    type: "line", xref: "x", yref: "paper", x0: row.step, x1: row.step, y0: 0, y1: 1, layer: "below",
    line: { color: important(row) ? look.text : look.soft, width: 1, dash: important(row) ? "dash" : "dot" },
    opacity: important(row) ? 0.7 : 0.45,
  })); // prettier-ignore
  const taken = [];
  const labels = [];
  for (const row of [...shown].reverse().sort((a, b) => important(b) - important(a))) {
    const text = MARKS[row.event];
    const half = text.length * 3.4 + 8;
    const x = (row.step - range[0]) * pixels;
    const inside = x > -1 && (row.step - range[1]) * pixels < 1;
    if (!inside || taken.some(([other, width]) => Math.abs(other - x) < half + width)) continue;
    taken.push([x, half]);
    labels.push({
      x: row.step, xref: "x", y: 1, yref: "paper", yanchor: "bottom", text, showarrow: false,
      font: { size: 11, color: important(row) ? look.text : look.soft },
    }); // prettier-ignore
  }
  return { lines, labels };
}

function layout(look, view) {
  const narrow = view.width < 520;
  const { lines, labels } = marks(look, view);
  const axis = { gridcolor: look.grid, linecolor: look.grid, zeroline: false, automargin: true, tickfont: { color: look.soft } };
  return {
    uirevision: view.run,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: view.font, size: 12, color: look.text },
    margin: { l: narrow ? 34 : 48, r: view.rate ? 56 : 14, t: 26, b: 36 },
    height: narrow ? 340 : 400,
    hovermode: "x unified",
    modebar: { bgcolor: "rgba(0,0,0,0)", color: look.soft, activecolor: look.text, orientation: "v" },
    hoverlabel: { bgcolor: look.paper, bordercolor: look.grid, font: { color: look.text } },
    dragmode: "zoom",
    legend: { orientation: "h", y: -0.16, yanchor: "top", x: 0, font: { color: look.text } },
    xaxis: { ...axis, title: { text: narrow ? "" : "step", standoff: 4 }, tickformat: ",d", hoverformat: ",d", rangemode: "nonnegative", showgrid: false, spikethickness: 1, spikecolor: look.soft, spikedash: "dot", unifiedhovertitle: { text: "step %{x}" } },
    yaxis: { ...axis, title: { text: narrow ? "" : `loss (${unit})`, standoff: 6 }, type: view.log ? "log" : "linear", uirevision: view.run + view.log, nticks: 8 },
    yaxis2: { ...axis, overlaying: "y", side: "right", visible: view.rate, showgrid: false, tickmode: "auto", nticks: 6, tickformat: ".1e", rangemode: "tozero", title: { text: view.rate && !narrow ? "learning rate" : "" } },
    shapes: lines,
    annotations: labels,
  }; // prettier-ignore
}

const SETTINGS = {
  displaylogo: false,
  showSendToCloud: false,
  responsive: true,
  displayModeBar: "hover",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d"],
};
