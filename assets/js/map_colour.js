/* What the points of the map are coloured by: the choice, the groups or the scale, the legend. Part of map.js. */

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#a6761d"];
const IN_THE_DARK = { "#0072b2": "#4180e6", "#56b4e9": "#8ad4ff", "#8c6bb1": "#b594e0", "#a6761d": "#c99a45" };
const SYMBOLS = ["circle", "diamond", "triangle-up"];
const SIGNS = ["●", "◆", "▲"];
const GREY = "#8a939e";
const VIRIDIS = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const SCALES = { words: "words", trust: "true neighbours", change: "changed", loss: "nats per token", drop: "nats less", steady: "cosine", query: "similarity" };
const KINDS = {
  label: "label", cluster: "group on the map", words: "number of words", trust: "how far to trust the place",
  change: "neighbours changed by training", loss: "loss when rebuilt", drop: "loss fallen by training", steady: "steadiness under damage",
  query: "similarity to the placed sentence", nothing: "nothing",
}; // prettier-ignore
const shade = (colour) => (dark() && IN_THE_DARK[colour]) || colour;
const SHARES = ["trust", "change"]; // from 0 to 1
const WORKED_OUT = ["loss", "drop", "steady"]; // columns that take a while, and are kept beside the map
const HELP = {
  words: () => "Words of each sentence.",
  trust: () => "The share of a sentence's 15 true nearest that are also near it here. Where it is low, do not believe the picture.",
  change: () => "How many of a sentence's ten nearest are others than by the base.",
  loss: () => "Nats per token that the trained decoder needs to rebuild each sentence from the vector of its damaged self: high is hard.",
  drop: () => `The same loss at step ${number(map.said.first)}, less that now: high is what the training has learned since. The first checkpoint stands for the start, as the base has no decoder.`,
  steady: () => "Mean cosine between a sentence's vector and those of four damaged copies, by the encoder shown: 1 when damage moves nothing.",
  query: () => "Cosine to the sentence that was placed.",
};

/* What the points can be coloured by, which depends on what is known. */
function offer(layout) {
  const umap = layout.kind !== "pca";
  const there = { label: map.columns.labels.length, words: true, nothing: true, loss: umap && map.said.decoder, drop: umap && map.said.first, steady: umap, query: typed };
  const kinds = Object.keys(KINDS).filter((kind) => there[kind] ?? layout[kind]);
  const kept = [colour.value, remembered.colour, kinds[0]].find((kind) => kinds.includes(kind) && (!WORKED_OUT.includes(kind) || column(kind) || (kind === "steady" && kind === colour.value)));
  if (kinds.join() !== Array.from(colour.options, (one) => one.value).join()) {
    colour.replaceChildren(...kinds.map((kind) => new Option(KINDS[kind], kind)));
  }
  colour.value = kept;
}

const column = (kind) => ({ words: map.columns.words, loss: map.loss, drop: map.drop, steady: map.layouts[which]?.steady, query: typed?.similar })[kind] || (WORKED_OUT.includes(kind) ? undefined : shown?.of[kind]);

function group() {
  const kind = colour.value;
  const layout = shown.of;
  const count = shown.x.length;
  const split = (places, titles, greyFrom) => {
    const rows = titles.map(() => []);
    for (let row = 0; row < count; row++) rows[places(row)].push(row);
    return titles
      .map((name, place) => ({
        name, rows: rows[place],
        colour: place >= greyFrom ? GREY : COLOURS[place % 8],
        sign: place >= greyFrom ? 0 : Math.floor(place / 8) % 3,
      }))
      .filter((one) => one.rows.length); // prettier-ignore
  };
  if (kind === "label") {
    const { labels, label: codes } = map.columns;
    groups = split((row) => codes[row], labels, / others$/.test(labels.at(-1)) && labels.length === 24 ? 23 : Infinity);
  } else if (kind === "cluster") {
    const most = layout.names.length <= 24 ? layout.names.length : 23;
    const titles = layout.names.slice(0, most).map((one) => one.text);
    const smaller = `${number(layout.names.length - most)} smaller groups`;
    groups = split((row) => (layout.cluster[row] < 0 ? most + 1 : Math.min(layout.cluster[row], most)), [...titles, smaller, "in no group"], most);
  } else {
    groups = [{ name: "", rows: Array.from({ length: count }, (_, row) => row), colour: COLOURS[0], sign: 0 }];
  }
  const known = new Set(groups.map((one) => one.name));
  hidden = new Set([...hidden].filter((name) => known.has(name)));
  drawLegend();
}

const take = (column, rows) => Float32Array.from(rows, (row) => column[row]);

function marker(one) {
  const kind = colour.value;
  const size = shown.x.length > 20000 ? 3 : shown.x.length < 500 ? 7 : 4;
  const values = column(kind);
  if (!SCALES[kind] || !values) return { size, opacity: 0.7, color: shade(one.colour), symbol: SYMBOLS[one.sign] };
  const steps = dark() ? [...VIRIDIS].reverse() : VIRIDIS;
  const shares = SHARES.includes(kind);
  const whole = ["drop", "steady", "query"].includes(kind); // from the lowest on, not from nothing on
  const top = shares ? 1 : Math.max(whole ? -1 : 0.01, quantile(values, kind === "query" ? 1 : 0.99));
  const low = whole ? Math.min(quantile(values, kind === "query" ? 0 : 0.01), top - 0.01) : 0;
  return {
    size, opacity: 0.8, color: values, cmin: low, cmax: top, colorscale: steps.map((one, place) => [place / (steps.length - 1), one]),
    showscale: true,
    colorbar: { title: { text: `${SCALES[kind]}<br>\u00a0`, side: "top" }, thickness: 10, len: 0.6, outlinewidth: 0, x: 1, xanchor: "right", y: 0.98, yanchor: "top",
      tickformat: shares ? ".0%" : kind === "words" ? "d" : kind === "steady" ? ".2f" : ".1f" },
  }; // prettier-ignore
}

function quantile(values, share) {
  const sorted = Float32Array.from(values).filter((one) => !Number.isNaN(one)).sort();
  return sorted[Math.floor(share * (sorted.length - 1))] || 0;
}

function drawLegend() {
  help.textContent = HELP[colour.value]?.() || "";
  help.hidden = !help.textContent;
  chips.hidden = groups.length < 2;
  chips.replaceChildren(
    ...(groups.length < 2 ? [] : groups).map((one) => {
      const sign = make("span", "map-sign", SIGNS[one.sign]);
      sign.style.color = shade(one.colour);
      sign.setAttribute("aria-hidden", "true");
      const made = button("map-chip", "", () => toggleGroup(one.name));
      made.append(sign, inDirection(make("span", "map-chip-name", one.name)), make("span", "map-chip-count", number(one.rows.length)));
      made.setAttribute("aria-pressed", String(!hidden.has(one.name)));
      made.title = `${one.name}\nPress to hide or show, press twice to show it alone`;
      made.addEventListener("dblclick", () => alone(one.name));
      return made;
    }),
  );
}

function toggleGroup(name) {
  if (!hidden.delete(name)) hidden.add(name);
  veil();
}

function alone(name) {
  const others = groups.map((one) => one.name).filter((other) => other !== name);
  hidden = others.every((other) => hidden.has(other)) ? new Set() : new Set(others);
  veil();
}

function veil() {
  [...chips.children].forEach((chip, place) => chip.setAttribute("aria-pressed", String(!hidden.has(groups[place].name))));
  Plotly.restyle(plot, { visible: groups.map((one) => !hidden.has(one.name)) }, groups.map((_, place) => place + 1));
}

// ---- columns that take a while

let working = null; // the column that is waited for

/* Ask for such a column and wait for it, by the encoder `by`; false when it did not come. */
async function fetchLayer(kind, by) {
  const one = map;
  const place = one.layouts[by].place;
  const cancel = () => server.cancel(run, one.key, kind, place);
  const mine = (working = { kind, left: false, cancel });
  const got = await patiently(() => server.layer(run, one.key, kind, place), cancel, () => mine.left);
  if (working === mine) working = null;
  if (!got || one !== map) return false;
  const values = unpack(got.values, Float32Array);
  if (kind === "steady") one.layouts[by].steady = values;
  else one[kind] = values;
  return true;
}

async function recolour() {
  const kind = colour.value;
  if (working && working.kind !== kind) {
    working.left = true; // nobody waits for it any more
    working.cancel();
    warn("");
  }
  const missing = WORKED_OUT.includes(kind) && !column(kind);
  plot.classList.toggle("map-stale", missing); // its colours are not what was chosen
  if (missing) {
    const came = await fetchLayer(kind, which);
    if (colour.value !== kind || !map) return; // another was chosen meanwhile
    plot.classList.remove("map-stale");
    if (!came) colour.value = shown.of.cluster ? "cluster" : "words";
  }
  remember();
  hidden = new Set();
  group();
  draw();
}
