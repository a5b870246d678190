// Summary: scores with intervals and differences, and below it curves and confidences.

function showSummary(report) {
  const { systems, metrics, kinds, comparison, resampling } = report;
  const two = systems.length > 1;
  const tables = metrics.map((metric, place) => {
    const rows = systems.flatMap((system, number) =>
      Object.entries(kinds).filter(([kind]) => system.scores[kind]?.[place]).map(([kind, label]) =>
        ({ kind, label, number, system, ...system.scores[kind][place] })));
    const ends = rows.flatMap(({ interval, score }) => [score, ...(interval ?? [])]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    return h("table", { class: "scores" },
      h("caption", null, h("strong", null, metric.label),
        h("span", { class: "hint" }, metric.higher ? "higher is better" : "lower is better"),
        metric.signature.toLowerCase() !== metric.label.toLowerCase() && h("code", null, metric.signature)),
      h("thead", null, h("tr", null,
        h("th", { scope: "col" }, "sentences"), h("th", { scope: "col", class: "number" }, "score"),
        h("th", { scope: "col", class: "wide" }, `${100 * resampling.level} % interval`), h("th", { scope: "col" }, "minus 1-best"),
        two && h("th", { scope: "col" }, `minus ${systems[1].name}`))),
      h("tbody", null, rows.map((row, at) => [
        two && (at === 0 || rows[at - 1].number !== row.number) &&
          h("tr", { class: "system" }, h("th", { colspan: 5, scope: "rowgroup" }, row.system.name)),
        h("tr", null,
          h("th", { scope: "row" }, mark(row.kind), row.label),
          h("td", { class: "number score" }, fixed(row.score)),
          h("td", { class: "wide" }, h("div", { class: "with-plot" }, intervalPlot(row, low, high, row.kind, two ? 100 : 150),
            row.interval && h("span", { class: "hint" }, `${fixed(row.interval[0])} – ${fixed(row.interval[1])}`))),
          h("td", null, effectCell(row.effect, metric)),
          two && h("td", null, row.number === 0 && effectCell(comparison.effects[row.kind]?.[place], metric))),
      ])));
  });
  byId("summary-body").replaceChildren(
    h("div", { class: "cards" }, tables.map((table) => h("div", { class: "card" }, table))), ...notes(report));
}

/** A difference, with what chance would do. */
function effectCell(effect, metric) {
  if (!effect) return "";
  const better = metric.higher ? effect.effect > 0 : effect.effect < 0;
  const certain = effect.p < 0.05;
  const verdict = certain ? (better ? "better" : "worse") : "even";
  return h("span", { class: `effect ${verdict}`, title: `${fixed(effect.interval[0])} to ${fixed(effect.interval[1])}` },
    h("span", { class: "arrow", "aria-label": certain ? verdict : "no significant difference" },
      certain ? (better ? "✓" : "✗") : "≈"),
    signed(effect.effect), h("span", { class: "hint" }, pValue(effect.p)));
}

function notes({ systems, kinds, comparison, resampling }) {
  const found = [
    `Intervals and p-values by ${grouped(resampling.samples)} bootstrap resamples of the segments (paired for differences, ` +
    `two-sided, seed ${resampling.seed}); ✓ better and ✗ worse with p < 0.05, ≈ no significant difference.`,
  ];
  if (kinds.oracle === "own oracle") found.push("own oracle: the sentence that is best under the metric that scores it; errors are those of the first metric's.");
  if (systems.some((system) => system.sentence_oracles))
    found.push("Oracles are sentence oracles: the best of each segment; together they need not make the best corpus (see fstmetrics oracle --corpus).");
  if (comparison) {
    found.push(`${plural(comparison.shared, "segment")} in both systems` + systems
      .map((system, number) => comparison.only[number] ? `, ${grouped(comparison.only[number])} only in ${system.name}` : "").join("") + ".");
  }
  const failures = [];
  for (const system of systems) {
    const who = systems.length > 1 ? `${system.name}: ` : "";
    if (system.unscored) found.push(`${who}the model has no scores in ${plural(system.unscored, "segment")}: the 1-best is arbitrary there.`);
    if (system.unproven) found.push(`${who}the oracles of ${plural(system.unproven, "segment")} are not proven to be the best.`);
    if (system.failed) failures.push(h("details", { class: "failures" },
      h("summary", null, `${who}${plural(system.failed, "segment")} failed and ${system.failed === 1 ? "is" : "are"} not in any score`),
      h("ul", null, system.failures.map(([id, place, reason]) =>
        h("li", null, h("code", null, place), id && h("strong", null, ` ${id}`), `: ${reason}`))),
      system.failed > system.failures.length && h("p", null, `… and ${grouped(system.failed - system.failures.length)} more`)));
  }
  return [h("ul", { class: "notes" }, found.map((note) => h("li", null, note))), ...failures];
}

function showCurves(report) {
  const { systems, metrics } = report;
  const cards = [];
  if (systems.some(({ curves }) => curves.length)) {
    const place = h("div", null);
    const draw = (metric) => place.replaceChildren(...["at", "densities"].flatMap((kind) => curveCharts(report, kind, metric)));
    draw(0);
    cards.push(h("div", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, "Oracle in larger parts of the search space"),
      metrics.length > 1 && choice("Metric", metrics.map(({ label }, number) => [number, label]), 0, draw)), place));
  }
  const known = systems.filter(({ reliability }) => reliability);
  if (known.length) {
    cards.push(h("div", { class: "card" },
      h("div", { class: "card-head" }, h("h3", null, "Reliability of confidences"),
        h("span", { class: "hint" }, "words of the MBR decision")),
      h("div", { class: "pair" }, known.map(({ name, reliability }) => h("figure", null,
        reliabilityChart(reliability, name),
        h("figcaption", null, known.length > 1 && h("strong", null, `${name}: `),
          `${plural(reliability.words, "word")}; calibration error ${reliability.error.toFixed(3)}`,
          reliability.cross_entropy !== null && `, normalised cross entropy ${reliability.cross_entropy.toFixed(3)}`,
          reliability.without > 0 && `; ${plural(reliability.without, "segment")} without confidences`))))));
  }
  if (cards.length) byId("curves-body").replaceChildren(h("div", { class: "cards" }, cards));
  else byId("curves").hidden = true;
}

/** A row for each way to choose, a column for each metric; the metric that a row is best under is strong. */
function showChoices({ choices }) {
  byId("choices").hidden = !choices;
  if (!choices) return;
  const { metrics, rows, nbest, segments } = choices;
  const among = ({ among, method, label }) =>
    among === "list" ? `${nbest}-best` : among === "space" ? (label === "MBR" ? `whole (${method})` : "whole") : "";
  const cell = (row, score, place) => h("td", { class: "number" },
    row.own === place ? h("strong", null, fixed(score)) : fixed(score), row.own === place && row.unproven > 0 && "*",
    row.intervals[place] && h("div", { class: "hint" }, `${fixed(row.intervals[place][0])} – ${fixed(row.intervals[place][1])}`),
    row.effects[place] && h("div", null, effectCell(row.effects[place], { higher: metrics[place].higher_is_better })));
  byId("choices-body").replaceChildren(h("div", { class: "card" },
    h("table", { class: "scores" },
      h("caption", null, `Scores of ${plural(segments, "segment")}, by what is chosen of each`),
      h("thead", null, h("tr", null, ["choice", "of", "under"].map((name) => h("th", { scope: "col" }, name)),
        metrics.map(({ label, metric, higher_is_better: higher }) => h("th", { scope: "col", class: "number",
          title: `${metric}, ${higher ? "higher" : "lower"} is better` }, label)))),
      h("tbody", null, rows.map((row) => h("tr", null, h("th", { scope: "row" }, row.label), h("td", null, among(row)),
        h("td", null, metrics[row.own]?.label ?? ""), row.scores.map((score, place) => cell(row, score, place)))))),
    rows.some(({ unproven }) => unproven > 0) && h("p", { class: "hint" }, "* not proven to be the best"),
    rows.some(({ effects }) => effects.some(Boolean)) && h("p", { class: "hint" },
      "Below a score its difference from the 1-best and a p-value; ✓ better and ✗ worse with p < 0.05, ≈ no significant difference.")));
}

/** The curves of one kind, of all systems that have it. */
function curveCharts({ systems, metrics, kinds }, kind, metric) {
  const known = systems.map((system) => ({ system, curve: system.curves.find((each) => each.kind === kind) })).filter(({ curve }) => curve);
  if (!known.length) return [];
  const curves = known.map(({ system, curve }) => ({
    name: systems.length > 1 ? system.name : metrics.length > 1 ? `${metrics[0].label} oracle` : "oracle",
    points: curve.sizes.map((size, at) => [size, curve.scores[metric][at]]),
  }));
  const levels = systems.length > 1 ? [] : ["one_best", "mbr"].filter((each) => systems[0].scores[each]?.[metric])
    .map((each) => ({ at: systems[0].scores[each][metric].score, name: kinds[each], kind: each }));
  const across = kind === "at" ? "best sentences of the model" : "arcs for each word of the 1-best";
  return [
    lineChart({ curves, levels, across, label: `${metrics[metric].label} of the oracle by ${across}` }),
    h("p", { class: "hint" }, kind === "at" ? "The oracle among the k best sentences of the model." :
      "The oracle of lattices that are pruned to so many arcs.",
    metric > 0 && ` Oracles under ${metrics[0].label}, scored by ${metrics[metric].label}.`),
  ];
}
