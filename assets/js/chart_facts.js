/* The numbers beside the chart, each with its meaning: first what the vector carries, then the losses, then how the vectors lie. */

const count = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const minus = (text) => text.replace("-", "−");
const three = (value) =>
  value == null ? "–" : Math.abs(value) >= 1000 ? count.format(value) : minus(value.toPrecision(3));
const percent = (share) => `${Math.round(100 * share)} %`;
const perplexity = (loss) => (loss > 14 ? "over a million" : three(Math.exp(loss)));
let unit = "nats per token"; // of the run's loss; only a token's has a perplexity
const meaning = (loss) => (loss == null || !unit.endsWith("token") ? "" : `perplexity ${perplexity(loss)}`);

/* What a look says of the vectors: key, label, how it is written, and what it means. */
const HEALTH = [
  ["mrr", "finds the sentence from its damaged form", (value) => value.toFixed(2),
    "Mean reciprocal rank of a held-out sentence among all of them, by the cosine to the vector of its damaged form. 1 is always first."],
  ["bits", "bits saved per sentence", three,
    "What the sentence's own vector saves the decoder against another sentence's. At 0 the decoder ignores the vector."],
  ["effective_rank", "directions used", three,
    "Effective rank: over how many directions the vectors spread. When it falls towards 1, the vectors collapse."],
  ["mean_cosine", "mean cosine", (value) => minus(value.toFixed(2)),
    "Mean cosine of two different sentences. Near 1 all vectors point the same way."],
  ["uniformity", "uniformity", (value) => minus(value.toFixed(2)),
    "How evenly the vectors lie on the sphere (Wang and Isola, 2020). Lower is more even; 0 means that all are the same."],
]; // prettier-ignore

function fact(name, value, more) {
  const part = make("span", "watch-fact");
  part.append(make("span", "watch-name", name), make("strong", "watch-number", value));
  if (more) part.append(make("span", "watch-more watch-number", `(${more})`));
  return part;
}

/* A loss is never alone: its meaning stands beside it. */
function losses(loss, look) {
  const parts = [];
  if (look.written != null) {
    const other = look.written_shuffled;
    const same = other != null && look.written - other < 0.01;
    const against = other == null ? "" : `with another sentence's vector ${percent(other)}${same ? ": no better yet" : ""}`;
    const words = fact("Words rebuilt from the vector:", percent(look.written), against);
    words.classList.add("watch-first");
    words.classList.toggle("watch-level", same);
    words.title =
      "Share of a held-out sentence's tokens that stand in the sentence which the decoder writes by itself from the vector of the damaged one. What another sentence's vector gives is the language alone.";
    parts.push(words);
  }
  if (look.held_out != null) {
    const other = look.shuffled == null ? "" : `; with another sentence's vector ${perplexity(look.shuffled)}`;
    parts.push(fact("Held-out loss:", three(look.held_out), meaning(look.held_out) + other));
  }
  if (loss != null) parts.push(fact("Training loss:", three(loss), meaning(loss)));
  return parts;
}

/* Whether the run made the encoder better: one sentence, and behind it the numbers before and after. */
const verdictBox = make("details", "watch-verdict");
verdictBox.hidden = true;

function sayVerdict(verdict) {
  verdictBox.hidden = !verdict;
  if (!verdict) return;
  const said = JSON.stringify(verdict);
  if (verdictBox.dataset.said === said) return; // it may be open
  verdictBox.dataset.said = said;
  verdictBox.dataset.word = verdict.word;
  const table = make("table", "watch-evidence");
  const row = (tag, cells) => {
    const line = make("tr");
    line.append(...cells.map((text, place) => make(tag, place ? "watch-number" : "", text)));
    return line;
  };
  const share = (name, value) => (/same label|words rebuilt/.test(name) ? percent(value) : three(value));
  table.append(
    row("th", ["On the held-out sentences", "before", "after"]),
    ...verdict.evidence.map(([name, before, after]) => row("td", [name, share(name, before), share(name, after)])),
  );
  verdictBox.replaceChildren(make("summary", "", verdict.text), table);
}

const healthFold = make("details", "watch-health");
const healthHead = make("summary");
const healthList = make("dl");
healthFold.append(healthHead, healthList);
healthHead.title = "What these numbers mean";

/* One line of numbers; opened, what each of them means. */
function sayHealth(look) {
  const known = HEALTH.filter(([key]) => look[key] != null);
  healthFold.hidden = !known.length;
  healthHead.replaceChildren(
    make("span", "watch-name", "Vectors:"),
    ...known.map(([key, name, write, text]) => {
      const part = make("span", "watch-small");
      part.title = text;
      part.append(make("strong", "watch-number", write(look[key])), ` ${name}`);
      return part;
    }),
  );
  if (healthList.childElementCount === 2 * known.length) return;
  healthList.replaceChildren(
    ...known.flatMap(([, name, , text]) => [make("dt", "", name[0].toUpperCase() + name.slice(1)), make("dd", "", text)]),
  );
}
