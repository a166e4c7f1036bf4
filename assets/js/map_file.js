/* The saved map: one page without a server. All it shows is in the element "data"; sentences enter through textContent. */

(() => {
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#a6761d"];
  const IN_THE_DARK = { "#0072b2": "#4180e6", "#56b4e9": "#8ad4ff", "#8c6bb1": "#b594e0", "#a6761d": "#c99a45" };
  const SYMBOLS = ["circle", "diamond", "triangle-up"];
  const SIGNS = ["●", "◆", "▲"];
  const GREY = "#8a939e";
  const NONE = "in no group";
  const MOST = 24;
  const WORDS = { trust: "true neighbours near it", change: "neighbours changed by training", loss: "loss when rebuilt",
    drop: "loss fallen since the first checkpoint", steady: "steadiness under damage",
    similarity: "similarity to the placed sentence" };

  const at = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    node.className = className || "";
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const spoken = (tag, className, text) => Object.assign(make(tag, className, text), { dir: "auto" });
  const number = (value) => Number(value).toLocaleString("en-US");
  const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"); // Plotly reads tags

  const data = JSON.parse(at("data").textContent);
  const count = data.sentences.length;
  const layers = data.layers.map((layer) => ({
    ...layer,
    x: unpack(layer.x, Float32Array),
    y: unpack(layer.y, Float32Array),
    near: unpack(layer.near, Int32Array),
    more: Object.fromEntries(Object.entries(layer.more).map(([name, column]) => [name, unpack(column, Float32Array)])),
  }));
  const words = Float32Array.from(data.sentences, (text) => text.split(/\s+/).filter(Boolean).length);
  const lengths = { title: "words", ends: [0, Math.max(1, Float32Array.from(words).sort()[Math.floor(0.99 * (count - 1))])] };
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const shade = (colour) => (night.matches && IN_THE_DARK[colour]) || colour;
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const plot = at("plot"), colour = at("colour"), tip = at("tip"), card = at("card");

  let layer = layers.at(-1);
  let picked = null;
  let found = null; // the points whose sentences hold the words that were typed
  let hidden = new Set();
  let groups = [];

  const kinds = () => [
    ...(data.labels.length ? [["label", "label"]] : []),
    ...(layer.groups.length ? [["cluster", "group on the map"]] : []),
    ["words", "number of words"],
    ...Object.keys(layer.more).map((name) => [name, WORDS[name] || name]),
  ];

  function split(values, last) {
    const rows = new Map();
    values.forEach((value, row) => (rows.has(value) ? rows.get(value).push(row) : rows.set(value, [row])));
    const byName = (a, b) => (last === null && a !== b ? (a < b ? -1 : 1) : 0); // labels of one size stand in the page's order
    const order = [...rows.keys()].filter((name) => name !== last).sort((a, b) => rows.get(b).length - rows.get(a).length || byName(a, b));
    const shown = order.length <= MOST ? order : order.slice(0, MOST - 1);
    const all = shown.map((name, place) => ({ name: name || "no label", rows: rows.get(name), colour: COLOURS[place % 8], sign: Math.floor(place / 8) % 3 }));
    const rest = order.slice(shown.length);
    if (rest.length) all.push({ name: `${number(rest.length)} others`, rows: rest.flatMap((name) => rows.get(name)), colour: GREY, sign: 0 });
    if (rows.has(last)) all.push({ name: last, rows: rows.get(last), colour: GREY, sign: 0 });
    return all;
  }

  function group() {
    const kind = colour.value;
    if (kind === "label") groups = split(data.labels, null);
    else if (kind === "cluster") groups = split(layer.groups, NONE);
    else groups = [{ name: "", rows: data.sentences.map((_, row) => row), colour: COLOURS[0], sign: 0 }];
    hidden = new Set([...hidden].filter((name) => groups.some((one) => one.name === name)));
    at("legend").hidden = groups.length < 2;
    at("legend").replaceChildren(...(groups.length < 2 ? [] : groups).map((one) => {
      const chip = make("button");
      const sign = make("span", "", `${SIGNS[one.sign]} `);
      sign.style.color = shade(one.colour);
      chip.type = "button";
      chip.title = "Press to hide or show";
      chip.append(sign, spoken("bdi", "", one.name), make("span", "quiet", ` ${number(one.rows.length)}`));
      chip.setAttribute("aria-pressed", String(!hidden.has(one.name)));
      chip.addEventListener("click", () => {
        if (!hidden.delete(one.name)) hidden.add(one.name);
        chip.setAttribute("aria-pressed", String(!hidden.has(one.name)));
        draw();
      });
      return chip;
    })); // prettier-ignore
  }

  function marker(one, rows) {
    const size = count > 20000 ? 3 : count < 500 ? 7 : 4;
    const seen = found ? { opacity: rows.map((row) => (found.has(row) ? 0.95 : 0.08)) } : { opacity: 0.7 };
    const values = colour.value === "words" ? words : layer.more[colour.value];
    if (!values) return { size, color: shade(one.colour), symbol: SYMBOLS[one.sign], ...seen };
    const { title, ends, share } = colour.value === "words" ? lengths : layer.scales[colour.value];
    const font = { color: style("--ink") };
    const bar = { thickness: 10, len: 0.6, outlinewidth: 0, tickfont: font, title: { text: title, side: "top", font }, ...(share ? { tickformat: ".0%" } : {}) };
    return { size, color: rows.map((row) => values[row]), cmin: ends[0], cmax: ends[1], colorscale: "Viridis", reversescale: night.matches, showscale: true, colorbar: bar, ...seen };
  }

  function traces() {
    const points = groups.map((one) => ({
      type: "scattergl", mode: "markers", hoverinfo: "none", showlegend: false, customdata: one.rows, visible: !hidden.has(one.name),
      x: one.rows.map((row) => layer.x[row]), y: one.rows.map((row) => layer.y[row]), marker: marker(one, one.rows),
    })); // prettier-ignore
    const x = [], y = [];
    for (const other of picked === null ? [] : neighbours(picked)) {
      x.push(layer.x[picked], layer.x[other], null);
      y.push(layer.y[picked], layer.y[other], null);
    }
    const ring = picked === null ? [] : [picked, ...neighbours(picked)];
    const ink = style("--ink");
    const bare = { type: "scattergl", hoverinfo: "skip", showlegend: false };
    return [...points, { ...bare, mode: "lines", x, y, line: { width: 1.2, color: ink }, opacity: 0.6 },
      { ...bare, mode: "markers", x: ring.map((row) => layer.x[row]), y: ring.map((row) => layer.y[row]),
        marker: { size: ring.map((row) => (row === picked ? 14 : 9)), color: "rgba(0,0,0,0)", line: { width: 2, color: ink } } }]; // prettier-ignore
  }

  function annotations() {
    if (!at("named").checked) return [];
    const wide = plot.clientWidth || 800, high = plot.clientHeight || 560;
    const [left, right] = plot._fullLayout?.xaxis?.range || [-1.08, 1.08];
    const [low, top] = plot._fullLayout?.yaxis?.range || [-1.08, 1.08];
    const kept = [];
    for (const one of layer.names) {
      const x = ((one.x - left) / (right - left)) * wide, y = ((top - one.y) / (top - low)) * high, half = 3.5 * one.text.length + 6;
      if (x < half || x > wide - half || y < 10 || y > high - 10) continue;
      if (kept.some((other) => Math.abs(x - other.px) < half + other.half && Math.abs(y - other.py) < 22)) continue;
      kept.push({ px: x, py: y, half, one });
    }
    return kept.map(({ one }) => ({ x: one.x, y: one.y, text: plain(one.text), showarrow: false, captureevents: false, opacity: 0.88, bgcolor: style("--ground"), font: { size: 12, color: style("--ink") } }));
  }

  async function draw() {
    const quiet = { visible: false, range: [-1.08, 1.08] };
    const layout = {
      uirevision: "kept", autosize: true, showlegend: false, hovermode: "closest", hoverdistance: 10, spikedistance: 20, dragmode: "pan",
      paper_bgcolor: style("--ground"), plot_bgcolor: style("--ground"), margin: { l: 4, r: 4, t: 34, b: 4 }, xaxis: quiet, yaxis: quiet, annotations: annotations(),
    }; // prettier-ignore
    const fresh = !plot.data;
    await Plotly.react(plot, traces(), layout, {
      displaylogo: false, showSendToCloud: false, responsive: true, scrollZoom: true, doubleClick: "reset", displayModeBar: true,
      modeBarButtons: [["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"], ["toImage"]],
      toImageButtonOptions: { format: "png", scale: 2, filename: `map-${data.title}` },
    }); // prettier-ignore
    if (!fresh) return;
    plot.on("plotly_click", (event) => event.points[0].customdata !== undefined && choose(event.points[0].customdata));
    plot.on("plotly_hover", (event) => event.points[0].customdata !== undefined && hover(event.points[0].customdata, event.event));
    plot.on("plotly_unhover", () => (tip.hidden = true));
    plot.on("plotly_relayout", (event) => "annotations" in event || Plotly.relayout(plot, { annotations: annotations() }));
    document.body.dataset.drawn = "yes";
  }

  function neighbours(row) {
    const each = layer.near.length / count;
    return Array.from(layer.near.slice(row * each, (row + 1) * each));
  }

  function hover(row, event) {
    const box = plot.getBoundingClientRect();
    const letters = Array.from(data.sentences[row]);
    tip.replaceChildren(spoken("span", "", letters.length > 160 ? `${letters.slice(0, 159).join("")}…` : letters.join("")));
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4))}px`;
    const y = event.clientY - box.top;
    tip.style.top = `${y + 18 + tip.offsetHeight > box.height ? y - tip.offsetHeight - 12 : y + 18}px`;
  }

  function choose(row) {
    picked = row;
    const list = make("ol");
    for (const other of neighbours(row)) {
      const item = make("li");
      const hit = spoken("button", "", data.sentences[other]);
      hit.type = "button";
      hit.addEventListener("click", () => choose(other));
      item.append(hit);
      list.append(item);
    }
    const close = make("button", "", "Close");
    close.style.float = "right";
    close.addEventListener("click", unpick);
    const facts = make("p", "quiet", "");
    if (data.labels[row]) facts.append(spoken("span", "label", data.labels[row]), " ");
    facts.append(`line ${number(data.lines[row])}`);
    card.replaceChildren(close, spoken("p", "", data.sentences[row]), facts, make("h2", "", `Nearest by ${layer.title}, in the original space`), list);
    card.hidden = false;
    draw().then(() => Plotly.Plots.resize(plot));
  }

  function unpick() {
    picked = null;
    card.hidden = true;
    draw().then(() => Plotly.Plots.resize(plot));
  }

  function describe() {
    at("layers").replaceChildren(...(layers.length < 2 ? [] : layers).map((one) => {
      const made = make("button", "", one.title);
      made.setAttribute("aria-pressed", String(one === layer));
      made.addEventListener("click", () => {
        layer = one;
        begin();
        if (picked !== null) choose(picked);
      });
      return made;
    })); // prettier-ignore
    const near = layer.faithful;
    at("trust").textContent = near == null ? "" : `About ${Math.round(10 * near)} of the 10 nearest points here are true neighbours: use the list, not the distances.${layer.trustworthy == null ? "" : ` Trustworthiness ${layer.trustworthy.toFixed(2)}.`}`;
    const all = data.total > count ? `${number(count)} of ${number(data.total)} sentences, drawn by chance` : `${number(count)} sentences`;
    at("count").textContent = found ? `${number(found.size)} of ${all}` : all;
  }

  function begin() {
    const kept = colour.value;
    const all = kinds();
    colour.replaceChildren(...all.map(([kind, text]) => new Option(text, kind)));
    colour.value = all.some(([kind]) => kind === kept) ? kept : all[0][0];
    group();
    describe();
    draw();
  }

  at("title").textContent = data.title;
  document.title = `${data.title} · map`;
  colour.addEventListener("change", () => (group(), draw()));
  at("named").addEventListener("change", draw);
  at("find").addEventListener("input", () => {
    const wanted = at("find").value.trim().toLowerCase();
    found = wanted ? new Set(data.sentences.flatMap((text, row) => (text.toLowerCase().includes(wanted) ? [row] : []))) : null;
    describe();
    draw();
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && picked !== null && unpick());
  night.addEventListener("change", () => (group(), draw()));
  begin();
})();
