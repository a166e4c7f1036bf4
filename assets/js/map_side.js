/* Beside the map: what a point says when pointed at or pressed, its true neighbours, its damaged and its rebuilt form. Part of
   map.js. */

let pointer = { clientX: 0, clientY: 0 }; // in space Plotly does not tell where
let hovered; // the point under the mouse

function unhover() {
  hovered = undefined;
  tip.hidden = true;
}

async function hover(point, event) {
  if (point === undefined) return;
  hovered = point;
  const box = stage.getBoundingClientRect();
  tip.dataset.point = point;
  if (!texts.has(point)) {
    const got = await server.sentences(run, map.key, [point]);
    if (got.error) return;
    texts.set(point, got[0]);
  }
  if (tip.dataset.point !== String(point) || hovered !== point) return;
  const one = texts.get(point);
  const text = Array.from(one.sentence);
  tip.replaceChildren(inDirection(make("span", "", text.length > 120 ? `${text.slice(0, 119).join("")}…` : one.sentence)));
  if (one.label) tip.append(inDirection(make("small", "", one.label)));
  tip.hidden = false;
  const left = (event?.clientX ?? pointer.clientX) - box.left, above = (event?.clientY ?? pointer.clientY) - box.top;
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

const encoderWords = (by) => ({ base: "the base", trained: "the trained encoder", also })[by] || by.replace("-", " ");

/* One sentence of a list, with its similarity if the list is ranked; pressed, it becomes the chosen one. */
function hitItem(one) {
  const item = make("li");
  const hit = button("map-hit", "", () => choose(one.point));
  const facts = make("span", "near-facts");
  if (one.score !== undefined) {
    const score = make("span", "near-bar");
    const share = make("span", "near-part");
    share.style.width = `${Math.max(2, Math.round(100 * Math.max(0, Math.min(1, one.score))))}%`;
    score.append(share);
    facts.append(score, make("span", "near-score", one.score.toFixed(3)));
  } else facts.append(make("span", "near-score", `line ${number(one.line)}`));
  if (one.label) facts.append(inDirection(make("span", "near-label", one.label)));
  hit.append(inDirection(make("span", "near-text", one.sentence)), facts);
  item.append(hit);
  return item;
}

/* What came last stands first beside the map. */
function onTop(part) {
  beside.prepend(part);
  beside.scrollTop = 0;
}

/* The card of a point, or of a sentence that was typed (`at` is where it was placed). */
function showCard(card, by) {
  onTop(side);
  picked = card;
  const within = side.contains(document.activeElement);
  const close = button("map-close", "Close", unpick);
  close.title = "Close (Escape)";
  const list = make("ol", "map-near");
  list.append(...card.near.map(hitItem));
  const head = make("p", "map-facts", "");
  if (card.label) head.append(inDirection(make("span", "near-label", card.label)));
  head.append(make("span", "", card.at ? `typed, placed ${axes ? "by its own similarity to the two phrases" : "between its nearest"}` : `line ${number(card.line)}`));
  side.replaceChildren(close, inDirection(make("p", "map-sentence", card.sentence)), head, ...(map.said.decoder ? [rebuiltFold(card, by)] : []),
    make("h4", "", card.known !== false ? `Nearest by ${encoderWords(by)}, in the original space` : "The nearest sentences come with the UMAP"), list); // prettier-ignore
  side.hidden = false;
  side.scrollTop = 0;
  if (within) close.focus(); // the pressed neighbour is gone, the keyboard's place is not
  relink();
}

function relink() {
  const last = groups.length + 1;
  const [lines, rings] = links();
  if (plot.data) {
    const z = shown.z ? { z: [lines.z, rings.z] } : {};
    Plotly.restyle(plot, { x: [lines.x, rings.x], y: [lines.y, rings.y], ...z, "marker.size": [6, rings.marker.size] }, [last, last + 1]);
  }
}

function unpick() {
  picked = null;
  side.hidden = true;
  side.replaceChildren();
  relink();
}

/* What the encoder sees of the sentence when it is damaged, and what the decoder rebuilds: asked for when the fold is opened,
   and at once while it stays open from card to card. */
function rebuiltFold(card, by) {
  const fold = make("details", "map-rebuilt");
  const box = make("div", "map-rebuilt-box");
  fold.append(make("summary", "", "Damaged and rebuilt"), box);
  fold.open = !!remembered.rebuilt;
  let seed = 0;
  const ask = async () => {
    const here = () => picked === card && box.isConnected;
    box.setAttribute("aria-busy", "true");
    if (!box.childElementCount) box.append(make("p", "watch-more", "Rebuilding …"));
    const got = await server.rebuilt(run, map.key, map.layouts[by].place, card.at ? card.sentence : card.point, seed).catch(() => ({ error: "The app does not answer." }));
    if (!here()) return;
    box.removeAttribute("aria-busy");
    if (got.error !== undefined) return void box.replaceChildren(make("p", "watch-more", got.error));
    const again = button("watch-button", "Damage again", () => ((seed += 1), ask()));
    const facts = [got.recovered == null ? "nothing was deleted" : `${Math.round(100 * got.recovered)} % of the deleted words recovered`, `loss ${got.loss.toFixed(2)}`];
    const focused = box.contains(document.activeElement);
    const deleting = got.damaged.every((one) => one.s === "kept") && got.original.some((one) => one.s === "deleted");
    box.replaceChildren(
      make("h4", "", "What the encoder sees"), sentence(deleting ? got.original : got.damaged),
      make("h4", "", "Rebuilt from the vector alone"), got.rebuilt.length ? sentence(got.rebuilt) : make("p", "watch-more", "(nothing)"),
      make("p", "watch-more", `${facts.join(", ")}${got.by ? "; by the trained decoder, as the base has none" : ""}`), again, legend(),
    ); // prettier-ignore
    if (focused) again.focus({ preventScroll: true });
  };
  fold.addEventListener("toggle", () => {
    remembered.rebuilt = fold.open;
    remember();
    if (fold.open && !box.childElementCount) ask();
  });
  return fold;
}
