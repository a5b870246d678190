// Charts: lines with an axis, intervals in a row, and how reliable confidences are.

/** Round numbers from low to high, about as many as asked for. */
function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(at);
  return found.map((value) => ({ value, text: value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9))) }));
}

/** Curves over a logarithmic axis; each has a name, a kind, points [x, y], and bands [x, low, high] or none; levels are dashed. */
function lineChart({ curves, levels, across, metric, label }) {
  const width = 520, height = 260, left = 52, right = 96, top = 12, bottom = 40;
  const points = curves.flatMap((curve) => curve.points);
  const xs = points.map(([x]) => x), bands = curves.flatMap((curve) => curve.bands ?? []);
  const ys = [...points.map(([, y]) => y), ...bands.flatMap(([, one, other]) => [one, other]), ...levels.map(({ at }) => at)];
  const low = Math.min(...ys), high = Math.max(...ys), pad = (high - low || 1) * 0.08;
  const [first, last] = [Math.log(Math.min(...xs)), Math.log(Math.max(...xs))];
  const x = (value) => left + ((Math.log(value) - first) / (last - first || 1)) * (width - left - right);
  const y = (value) => top + ((high + pad - value) / (high - low + 2 * pad)) * (height - top - bottom);
  const axis = [];
  const factor = metric.percent ? 100 : 1;
  for (const { value: shown, text } of ticks(factor * (low - pad), factor * (high + pad), 5)) {
    const value = shown / factor;
    axis.push(s("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      s("text", { class: "tick", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, text));
  }
  let free = -Infinity;
  for (const value of new Set(xs)) {
    if (x(value) < free) continue;
    free = x(value) + 34;
    axis.push(s("text", { class: "tick", x: x(value), y: height - bottom + 18, "text-anchor": "middle" },
      value < 10 ? String(Math.round(10 * value) / 10) : String(Math.round(value))));
  }
  const labels = [];
  const placeLabel = (at, text, kind, beside = width - right) => labels.push({ x: beside + 8, y: y(at) + 4, text, kind });
  const lines = levels.map(({ at, name, kind }) => {
    placeLabel(at, name, kind);
    return s("line", { class: `level ${kind}`, x1: left, x2: width - right, y1: y(at), y2: y(at) });
  });
  for (const { kind, bands: band } of curves.filter((curve) => curve.bands)) {
    const edge = [...band.map(([at, one]) => [at, one]), ...band.map(([at, , other]) => [at, other]).reverse()];
    lines.push(s("polygon", { class: `band ${kind}`, points: edge.map(([at, value]) => `${x(at)},${y(value)}`).join(" ") }));
  }
  curves.forEach((curve) => {
    const { kind, number } = curve;
    const path = curve.points.map(([at, value], place) => `${place ? "L" : "M"}${x(at)} ${y(value)}`).join("");
    lines.push(s("path", { class: `curve ${kind} system-${Math.min(number, 1)}`, d: path }));
    for (const [at, value] of curve.points)
      lines.push(s("circle", { class: `point ${kind} system-${Math.min(number, 1)}`, cx: x(at), cy: y(value), r: 3.5 },
        s("title", null, `${curve.name}: ${scoreText(value, metric)} at ${Math.round(10 * at) / 10}`)));
    placeLabel(curve.points.at(-1)[1], curve.name, kind, x(curve.points.at(-1)[0]));
  });
  labels.sort((one, other) => one.y - other.y);
  for (let place = 1; place < labels.length; place++)
    if (labels[place].x === labels[place - 1].x) labels[place].y = Math.max(labels[place].y, labels[place - 1].y + 14);
  return s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    axis,
    s("text", { class: "axis", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, across),
    lines,
    labels.map((each) => s("text", { class: `end ${each.kind}`, x: each.x, y: each.y }, each.text.length > 15 ? [`${each.text.slice(0, 14)}…`, s("title", null, each.text)] : each.text)));
}

/** A score and its interval, on the axis of a table. */
function intervalPlot(row, low, high, kind, width) {
  const height = 22, middle = height / 2;
  const x = (value) => 8 + ((value - low) / (high - low || 1)) * (width - 16);
  const marker = {
    one_best: (at) => s("rect", { x: at - 4, y: middle - 4, width: 8, height: 8 }),
    mbr: (at) => s("path", { d: `M${at - 5.5} ${middle}L${at} ${middle - 5.5}L${at + 5.5} ${middle}L${at} ${middle + 5.5}Z` }),
    oracle: (at) => s("circle", { cx: at, cy: middle, r: 4.5 }),
  }[kind];
  return s("svg", { class: `interval ${kind}`, width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    s("line", { class: "grid", x1: 0, x2: width, y1: middle, y2: middle }),
    row.interval && s("line", { class: "bar", x1: x(row.interval[0]), x2: x(row.interval[1]), y1: middle, y2: middle }),
    marker(x(row.score)));
}

/** Shares of right words by confidence, beside the diagonal on which they would be. */
function reliabilityChart(found, name) {
  const size = 220, left = 44, top = 12, below = 46, bottom = 38;
  const width = left + size + 16, height = top + size + below + bottom;
  const x = (value) => left + value * size, y = (value) => top + (1 - value) * size;
  const most = Math.max(...found.bins.map(([words]) => words));
  const base = top + size + below;
  const parts = ticks(0, 1, 5).map(({ value, text }) => [
    s("line", { class: "grid", x1: left, x2: left + size, y1: y(value), y2: y(value) }),
    s("text", { class: "tick", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, text),
    s("text", { class: "tick", x: x(value), y: base + 16, "text-anchor": "middle" }, text),
  ]);
  found.bins.forEach(([words, confidence, right], place) => {
    const wide = size / found.bins.length, at = left + place * wide;
    if (!words) return;
    const share = right / words, tall = (words / most) * (below - 10);
    const title = () => s("title", null,
      `${plural(words, "word")} of mean confidence ${confidence.toFixed(2)}: ${percent(share)} right`);
    parts.push(
      s("rect", { class: "share", x: at + 1.5, y: y(share), width: wide - 3, height: share * size }, title()),
      s("rect", { class: "count", x: at + 1.5, y: base - tall, width: wide - 3, height: tall }, title()),
      s("circle", { class: "point", cx: x(confidence), cy: y(share), r: 3.5 }, title()));
  });
  return s("svg", {
    class: "chart square", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${name}: share of right words by confidence`,
  },
  parts,
  s("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
  s("text", { class: "axis", x: left + size / 2, y: height - 4, "text-anchor": "middle" }, "confidence, and how many words have it"));
}
