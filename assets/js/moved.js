/* What changed most, group by group and through training: two folds that ask when they are opened. Put before changes.
   Needs dom; `until` answers when the work is done, `lineOf` draws with Plotly. */

/* eslint-disable no-unused-vars */
const GROUPS_SHOWN = 30;

/* Groups as a table, the most changed first: [name, sentences, a bar of how many neighbours stayed]. */
function groupTable(got) {
  const made = make("table", "map-table group-table");
  const head = make("tr");
  head.append(...["Group", "Sentences", `Stayed of ${got.nearest}`, "Jaccard", "Overlap"].map((text) => make("th", "", text)));
  const line = (one) => {
    const row = make("tr", one.clustered ? "" : "group-none");
    const bar = make("span", "near-bar");
    const part = make("span", "near-part");
    part.style.width = `${Math.round((100 * one.stayed) / Math.max(1, got.nearest))}%`;
    bar.append(part);
    const share = make("td", "group-stayed");
    share.append(bar, make("span", "", one.stayed.toFixed(1)));
    const letters = Array.from(one.name);
    const name = inDirection(make("td", "group-name", letters.length > 60 ? `${letters.slice(0, 59).join("")}…` : one.name));
    if (letters.length > 60) name.title = one.name;
    row.append(name, make("td", "", number(one.count)), share,
      make("td", "", one.jaccard.toFixed(2)), make("td", "", one.overlap.toFixed(2))); // prettier-ignore
    return row;
  };
  made.append(head, ...got.groups.slice(0, GROUPS_SHOWN).map(line));
  const box = make("div", "group-box");
  box.append(made);
  if (got.groups.length > GROUPS_SHOWN) {
    const rest = button("watch-button", `Show all ${number(got.groups.length)}`, () => (made.append(...got.groups.slice(GROUPS_SHOWN).map(line)), rest.remove()));
    box.append(rest);
  }
  return box;
}

const ofAll = (count, all) => (count < all ? `A sample: ${number(count)} of ${number(all)} sentences, drawn by chance` : `All ${number(count)} sentences`);

/* Jaccard and rank-biased overlap with the base at every checkpoint. */
function lineOf(place, got) {
  if (!window.Plotly) return void setTimeout(() => place.isConnected && lineOf(place, got), 200);
  const style = (name, spare) => getComputedStyle(place).getPropertyValue(name).trim() || spare;
  const [text, soft, grid] = [style("--body-text-color", "#222"), style("--body-text-color-subdued", "#777"), style("--border-color-primary", "#ddd")];
  const steps = got.points.map((one) => one.step);
  const line = (key, name, colour, dash, symbol) => ({
    type: "scatter", mode: "lines+markers", name, x: steps, y: got.points.map((one) => one[key]), line: { color: colour, width: 2, dash },
    marker: { color: colour, size: 7, symbol }, hovertemplate: "%{y:.3f}",
  }); // prettier-ignore
  const axis = { gridcolor: grid, linecolor: grid, zeroline: false, automargin: true, tickfont: { color: soft } };
  const strong = dark() ? "#5eead4" : "#0f766e";
  Plotly.react(place, [line("jaccard", "shared (Jaccard)", strong, "solid", "circle"), line("overlap", "with order (rank-biased overlap)", dark() ? "#e69f00" : "#d55e00", "dash", "square")], {
    height: 260, margin: { l: 44, r: 14, t: 8, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(place).fontFamily, size: 12, color: text }, hovermode: "x unified",
    hoverlabel: { bgcolor: style("--background-fill-primary", "#fff"), bordercolor: grid, font: { color: text } },
    legend: { orientation: "h", y: -0.24, yanchor: "top", x: 0 },
    xaxis: { ...axis, title: { text: "step", standoff: 4 }, tickformat: ",d", hoverformat: ",d", rangemode: "nonnegative", showgrid: false, unifiedhovertitle: { text: "step %{x}" } },
    yaxis: { ...axis, range: [0, 1.03], title: { text: "alike", standoff: 6 } },
  }, { displayModeBar: false, responsive: true, showSendToCloud: false, displaylogo: false }); // prettier-ignore
}
