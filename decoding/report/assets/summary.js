// Summary: scores with intervals and differences, and below it curves and confidences.

function showSummary(report) {
  const answers = answersOf(report), { systems, metrics } = report;
  const chosen = { baseline: 0, best: false };
  const body = h("div", { class: "cards" });
  const draw = () => body.replaceChildren(...metrics.map((_, place) => h("div", { class: "card" }, systemTable(report, answers, place, chosen))));
  draw();
  const change = (name) => (value) => {
    chosen[name] = value;
    draw();
  };
  const lines = answers.flatMap(({ system, kind, name }) =>
    systems[system].scores[kind].flatMap((each) => (each?.rates ?? []).map((line) => `${line} ${name}`)));
  byId("summary-body").replaceChildren(
    ...(answers.length > 1 ? [h("div", { class: "tools" },
      h("label", { class: "hint" }, "differences from ", menu("Differences from", answers.map(({ number, name }) => [number, name]), 0, change("baseline"), { id: "baseline" })),
      (answers.length > 3 || systems.length > 1) && choice("Order", [[false, "as given"], [true, "best first"]], false, change("best")))] : []),
    body,
    ...(lines.length ? [h("details", { class: "rates", open: answers.length <= 6 }, h("summary", null, "As Kaldi's compute-wer has them"),
      h("pre", { tabindex: 0, "aria-label": "Rates" }, [...new Set(lines)].join("\n")))] : []),
    ...notes(report));
}

/** The answers under a metric, a row each. */
function systemTable(report, answers, place, { baseline, best }) {
  const metric = report.metrics[place], { systems } = report;
  const rows = answers.map((answer) => ({ answer, ...systems[answer.system].scores[answer.kind][place] })).filter(({ score }) => score !== undefined);
  const ends = rows.flatMap(({ interval, score }) => [score, ...(interval ?? [])]);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (best) rows.sort((one, other) => (metric.higher ? other.score - one.score : one.score - other.score));
  const compared = answers.length > 1;
  const shown = rows.some(({ answer }) => answer.number === baseline);
  return h("table", { class: "scores" },
    h("caption", null, h("strong", null, metric.label),
      h("span", { class: "hint" }, metric.higher ? "higher is better" : "lower is better"),
      metric.signature.toLowerCase() !== metric.label.toLowerCase() && h("code", null, metric.signature)),
    h("thead", null, h("tr", null,
      h("th", { scope: "col" }, systems.length > 1 ? "system" : "sentences"), h("th", { scope: "col", class: "number" }, metric.percent ? "score, %" : "score"),
      h("th", { scope: "col", class: "wide" }, `${100 * report.resampling.level} % interval`),
      compared && h("th", { scope: "col" }, `minus ${answers[baseline].name}`))),
    h("tbody", null, rows.map(({ answer, score, interval }) => h("tr", { class: answer.number === baseline ? "baseline" : "" },
      h("th", { scope: "row" }, mark(answer.kind), answer.name),
      h("td", { class: "number score" }, scoreText(score, metric)),
      h("td", { class: "wide" }, h("div", { class: "with-plot" }, intervalPlot({ score, interval }, low, high, answer.kind, 130),
        interval && h("span", { class: "hint" }, `${scoreText(interval[0], metric)} – ${scoreText(interval[1], metric)}`))),
      compared && h("td", null, answer.number !== baseline && shown && effectCell(differenceOf(report, place, answer.number, baseline), metric))))));
}

/** A difference, with what chance would do: by matched pairs where there are some, else by the bootstrap. */
function effectCell(effect, metric) {
  if (!effect) return "";
  const better = metric.higher ? effect.effect > 0 : effect.effect < 0;
  const p = effect.mapsswe ?? effect.p;
  const certain = p < 0.05;
  const verdict = certain ? (better ? "better" : "worse") : "even";
  const ends = effect.interval && `${scoreText(effect.interval[0], metric)} to ${scoreText(effect.interval[1], metric)}`;
  return h("span", { class: `effect ${verdict}`, title: ends },
    h("span", { class: "arrow", role: "img", "aria-label": certain ? verdict : "no significant difference" },
      certain ? (better ? "✓" : "✗") : "≈"),
    signedText(effect.effect, metric), h("span", { class: "hint" }, pValue(effect.p)), effect.mapsswe !== undefined && h("span", { class: "hint" }, `MAPSSWE ${pValue(effect.mapsswe)}`));
}

function notes({ systems, kinds, comparison, resampling }) {
  const matched = comparison.effects.some((pairs) => Object.values(pairs).some(({ mapsswe }) => mapsswe !== undefined));
  const found = [
    `Intervals and p-values by ${grouped(resampling.samples)} bootstrap resamples of the segments (paired for differences, ` +
    `two-sided, seed ${resampling.seed})${matched ? "; MAPSSWE is NIST's matched-pairs test of word errors, which decides where it is there" : ""}; ` +
    "✓ better and ✗ worse with p < 0.05, ≈ no significant difference.",
  ];
  if (kinds.oracle === "own oracle") found.push("own oracle: the sentence that is best under the metric that scores it; errors are those of the first metric's.");
  if (systems.some((system) => system.sentence_oracles))
    found.push("Oracles are sentence oracles: the best of each segment; together they need not make the best corpus (see fstmetrics oracle --corpus).");
  if (systems.length > 1) {
    const many = comparison.answers.length * (comparison.answers.length - 1) / 2;
    found.push(`${plural(comparison.shared, "segment")} in all systems` + systems
      .map(({ name }, number) => comparison.missing[number] ? `, ${grouped(comparison.missing[number])} missing in ${name}` : "").join("") +
      `; two systems are compared over what both have.${many > 5 ? ` Of ${many} differences, some may look significant by chance.` : ""}`);
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
    const draw = (metric) => place.replaceChildren(...CURVES.flatMap((curves) => curveCharts(report, curves, metric)));
    draw(0);
    cards.push(h("div", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, "Oracle in larger parts of the search space"),
      metrics.length > 1 && choice("Metric", metrics.map(({ label }, number) => [number, label]), 0, draw)), place));
  }
  const known = systems.filter(({ reliability }) => reliability);
  if (known.length) {
    const figures = known.flatMap(({ name, reliability }) => reliability.of.map((each) => h("figure", null,
      reliabilityChart(each, [name, each.name].join(", ")),
      h("figcaption", null,
        (known.length > 1 || reliability.of.length > 1) && h("strong", null, `${[known.length > 1 && name, reliability.of.length > 1 && each.name].filter(Boolean).join(", ")}: `),
        `${plural(reliability.words, "word")}; calibration error ${each.error.toFixed(3)}`,
        each.cross_entropy !== null && `, normalised cross entropy ${each.cross_entropy.toFixed(3)}`,
        reliability.without > 0 && `; ${plural(reliability.without, "segment")} without confidences`))));
    cards.push(h("div", { class: "card" },
      h("div", { class: "card-head" }, h("h3", null, "Reliability of confidences"),
        h("span", { class: "hint" }, known.every(({ reliability }) => reliability.kind === "mbr") ? "words of the MBR decision" : "words of the output")),
      h("div", { class: "pair" }, figures)));
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
  const cell = (row, score, place) => h("td", { class: "number", "data-label": metrics[place].label },
    row.own === place ? h("strong", null, scoreText(score, metrics[place])) : scoreText(score, metrics[place]), row.own === place && row.unproven > 0 && "*",
    row.intervals[place] && h("div", { class: "hint" }, row.intervals[place].map((end) => scoreText(end, metrics[place])).join(" – ")),
    row.effects[place] && h("div", null, effectCell(row.effects[place], { ...metrics[place], higher: metrics[place].higher_is_better })));
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

/** What curves are of: their kinds, what stands below the axis, and in words. */
const CURVES = [
  [["at"], "best sentences of the model", "The oracle among the k best sentences of the model."],
  [["random", "decisions"], "samples", "What to expect among k samples, drawn at random: of the oracle, and of the MBR decision."],
  [["densities"], "arcs for each word of the 1-best", "The oracle of lattices that are pruned to so many arcs."],
];

/** The curves of some kinds, of all systems that have them. */
function curveCharts({ systems, metrics, kinds, resampling }, [some, across, words], metric) {
  const known = systems.flatMap((system, number) => some.flatMap((kind) =>
    system.curves.filter((curve) => curve.kind === kind).map((curve) => ({ system, number, curve }))));
  if (!known.length) return [];
  const owners = new Set(known.map(({ number }) => number));
  const best = metrics.length > 1 ? `${metrics[0].label} oracle` : "oracle";
  const curves = known.map(({ system, number, curve: { kind, sizes, scores, intervals } }) => ({
    name: [owners.size > 1 && system.name, (owners.size === 1 || some.length > 1) && (kind === "decisions" ? kinds.mbr : best)].filter(Boolean).join(" "),
    kind: kind === "decisions" ? "mbr" : "oracle", number,
    points: sizes.map((size, at) => [size, scores[metric][at]]),
    bands: intervals && sizes.map((size, at) => [size, ...intervals[metric][at]]),
  }));
  const levels = owners.size > 1 || some.length > 1 ? [] : ["one_best", "mbr"].filter((each) => known[0].system.scores[each]?.[metric])
    .map((each) => ({ at: known[0].system.scores[each][metric].score, name: kinds[each], kind: each }));
  return [
    lineChart({ curves, levels, across, metric: metrics[metric], label: `${metrics[metric].label} by ${across}` }),
    h("p", { class: "hint" }, words,
      metric > 0 && ` Chosen under ${metrics[0].label}, scored by ${metrics[metric].label}.`,
      known.some(({ curve }) => curve.intervals) && ` Bands are ${100 * resampling.level} % intervals.`),
  ];
}
