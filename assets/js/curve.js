/* The losses of a run as a curve: every row that ever came, an average that forgets, and what a picture has room for. */

const curve = { steps: [], losses: [], rates: [], smooth: [] };
let average = { sum: 0, weight: 0, at: 0 };

function clearCurve() {
  for (const rows of Object.values(curve)) rows.length = 0;
  average = { sum: 0, weight: 0, at: 0 };
}

function addToCurve(row) {
  curve.steps.push(row.step);
  curve.losses.push(row.loss);
  curve.rates.push(row.lr ?? null);
}

/* Smooth the rows that are not smoothed yet, or all of them anew. The average forgets by steps, not by rows, so that a
   thinned curve is smoothed like the whole one. It looks back on a share of the steps so far, and on a few rows at least. */
function smoothCurve(share, anew = false) {
  const { steps, losses, smooth } = curve;
  if (anew) {
    smooth.length = 0;
    average = { sum: 0, weight: 0, at: 0 };
  }
  for (let i = smooth.length; i < steps.length; i++) {
    const apart = Math.max(steps[i] - (i ? average.at : steps[i] - 1), 1e-9);
    const window = share && Math.max(share * (steps[i] - steps[0]), 150 * share * Math.min(apart, 100));
    const stay = window ? Math.exp(-apart / window) : 0;
    if (losses[i] !== null) {
      average.sum = average.sum * stay + losses[i] * (1 - stay);
      average.weight = average.weight * stay + (1 - stay);
    }
    average.at = steps[i];
    smooth.push(average.weight ? average.sum / average.weight : null);
  }
}

/* Positions of the rows between two steps, thinned to the lowest and the highest loss of each of `buckets` parts. */
function visible(from, to, buckets) {
  const { steps, losses } = curve;
  const first = Math.max(0, search(from) - 1);
  const last = Math.min(steps.length, search(to) + 2);
  const size = Math.ceil((last - first) / buckets);
  const places = [];
  if (size <= 2) {
    for (let i = first; i < last; i++) places.push(i);
    return places;
  }
  for (let start = first; start < last; start += size) {
    let low = start;
    let high = start;
    for (let i = start; i < Math.min(start + size, last); i++) {
      if (losses[i] < losses[low]) low = i;
      if (losses[i] > losses[high]) high = i;
    }
    places.push(...(low < high ? [low, high] : low > high ? [high, low] : [low]));
  }
  if (places[places.length - 1] !== last - 1) places.push(last - 1);
  return places;
}

function search(step) {
  let [low, high] = [0, curve.steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}
