/* Beside the map: what a point says when pointed at or pressed, and the table of the selected. Part of map.js. */

async function hover(point, event) {
  if (point === undefined) return;
  const box = stage.getBoundingClientRect();
  tip.dataset.point = point;
  if (!texts.has(point)) {
    const got = await server.sentences(run, map.key, [point]);
    if (got.error) return;
    texts.set(point, got[0]);
  }
  if (tip.dataset.point !== String(point)) return;
  const one = texts.get(point);
  const text = Array.from(one.sentence);
  tip.replaceChildren(inDirection(make("span", "", text.length > 120 ? `${text.slice(0, 119).join("")}…` : one.sentence)));
  if (one.label) tip.append(inDirection(make("small", "", one.label)));
  tip.hidden = false;
  const left = event.clientX - box.left, above = event.clientY - box.top;
  tip.style.left = `${Math.max(4, Math.min(left + 14, box.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${above + 18 + tip.offsetHeight > box.height ? above - tip.offsetHeight - 12 : above + 18}px`;
}

async function choose(point) {
  if (point === undefined || !map) return;
  const mine = turn, by = which;
  const card = await server.card(run, map.key, map.layouts[by].place, point);
  if (mine !== turn || by !== which || card.error) return;
  showCard(card, by);
}

/* The card of a point, or of a sentence that was typed (`at` is where it was placed). */
function showCard(card, by) {
  picked = card;
  const within = side.contains(document.activeElement);
  const close = button("map-close", "Close", unpick);
  close.title = "Close (Escape)";
  const list = make("ol", "map-near");
  const top = Math.max(0.01, ...card.near.map((one) => one.score));
  for (const one of card.near) {
    const item = make("li");
    const hit = button("map-hit", "", () => choose(one.point));
    const facts = make("span", "near-facts");
    const score = make("span", "near-bar");
    const share = make("span", "near-part");
    share.style.width = `${Math.max(2, Math.round((100 * Math.max(0, one.score)) / Math.max(1, top)))}%`;
    score.append(share);
    facts.append(score, make("span", "near-score", one.score.toFixed(3)));
    if (one.label) facts.append(inDirection(make("span", "near-label", one.label)));
    hit.append(inDirection(make("span", "near-text", one.sentence)), facts);
    item.append(hit);
    list.append(item);
  }
  const head = make("p", "map-facts", "");
  if (card.label) head.append(inDirection(make("span", "near-label", card.label)));
  head.append(make("span", "", card.at ? "typed, placed between its nearest" : `line ${number(card.line)}`));
  side.replaceChildren(close, inDirection(make("p", "map-sentence", card.sentence)), head,
    make("h4", "", card.known !== false ? `Nearest by ${by === "base" ? "the base" : by === "trained" ? "the trained encoder" : by.replace("-", " ")}, in the original space` : "The nearest sentences come with the UMAP"), list); // prettier-ignore
  side.hidden = false;
  side.scrollTop = 0;
  if (within) close.focus(); // the pressed neighbour is gone, the keyboard's place is not
  relink();
}

function relink() {
  const last = groups.length + 1;
  const [lines, rings] = links();
  if (plot.data) {
    Plotly.restyle(plot, { x: [lines.x, rings.x], y: [lines.y, rings.y], "marker.size": [6, rings.marker.size] }, [last, last + 1]);
  }
}

function unpick() {
  picked = null;
  side.hidden = true;
  side.replaceChildren();
  relink();
}

async function select(points) {
  const rows = [...new Set(points.filter((point) => point !== undefined))];
  const mine = turn;
  const got = rows.length ? await server.sentences(run, map.key, rows) : [];
  if (mine !== turn || !rows.length || got.error) return void chosen.replaceChildren();
  const table = make("table", "map-table");
  const page = 100;
  const more = (from) => {
    for (const one of got.slice(from, from + page)) {
      const row = make("tr");
      row.append(inDirection(make("td", "", one.sentence)), inDirection(make("td", "", one.label)), make("td", "map-line", number(one.line)));
      table.append(row);
    }
    further.hidden = table.rows.length >= got.length;
  };
  const further = button("watch-button", "Show more", () => more(table.rows.length));
  const head = make("div", "map-chosen-head");
  head.append(make("strong", "", `${number(rows.length)} selected`));
  if (rows.length > got.length) head.append(make("span", "quiet", `the first ${number(got.length)} are listed`));
  const rows_of = () => csv(["sentence", "label", "line"], got.map((one) => [one.sentence, one.label, one.line]));
  head.append(button("watch-button", "Save as CSV", () => download("selected.csv", "text/csv", rows_of())));
  more(0);
  chosen.replaceChildren(head, table, further);
}
