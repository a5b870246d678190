// Quantities: what can be said of a segment in a number, to be shown, sorted by and filtered by.

const RELATIONS = [
  ["least", "≥", (one, other) => one >= other],
  ["most", "≤", (one, other) => one <= other],
  ["same", "=", (one, other) => Math.abs(one - other) < 1e-9],
  ["other", "≠", (one, other) => Math.abs(one - other) >= 1e-9],
];

/** Words, or the errors or the score of an answer, or of one less those of another. */
class Quantity {
  /** `measure` is "words", "errors", "range" (most errors less fewest) or the number of a metric. */
  constructor(segments, measure, of = 0, minus = -1) {
    const single = measure === "words" || measure === "range";
    Object.assign(this, { segments, measure, of, minus: single ? -1 : minus, key: single ? measure : `${measure}:${of}${minus < 0 ? "" : `-${minus}`}` });
    const { answers, report } = segments;
    const names = [answers[of], answers[this.minus]].filter(Boolean).map(({ name }) => name).join(" − ");
    const what = { words: "words", errors: "errors", range: "range of errors" }[measure] ?? headingOf(report.metrics[measure]);
    this.label = single ? what : `${what}: ${names}`;
    this.names = names;
    this.factor = report.metrics[measure]?.percent ? 100 : 1;
  }

  /** The value of a segment as people see it, null where there is none. */
  value(row) {
    const { segments, measure } = this, { answers } = segments;
    if (measure === "words") return segments.words(row);
    if (measure === "range") {
      const errors = answers.map((each) => segments.errors(each, row)).filter((each) => each !== null);
      return Math.max(...errors) - Math.min(...errors);
    }
    const read = measure === "errors" ? (answer) => segments.errors(answer, row) : (answer) => segments.score(answer, measure, row);
    const one = read(answers[this.of]), other = this.minus < 0 ? 0 : read(answers[this.minus]);
    return one === null || other === null ? null : this.factor * (one - other);
  }

  text(value) {
    if (value === null) return "–";
    const sign = this.minus >= 0 && value > 0 ? "+" : "";
    return sign + (typeof this.measure === "string" ? grouped(value) : value.toFixed(this.factor > 1 ? 2 : 4)).replace("-", "−");
  }
}

/** Controls that name a quantity, and what to do with it. */
function quantityPicker(segments, { add, sort }) {
  const { answers, report } = segments;
  const chosen = { measure: "errors", of: 0, minus: -1, relation: 0 };
  const names = answers.map(({ name, number }) => [number, name]);
  const measures = [["errors", "errors"], ...report.metrics.map((metric, number) => [number, headingOf(metric)]), ["words", "words"],
    ...(answers.length > 1 ? [["range", "range of errors"]] : [])];
  const value = h("input", { type: "number", step: "any", value: "1", "aria-label": "Number" });
  const show = () => {
    for (const part of parts.querySelectorAll("[data-answers]"))
      part.hidden = typeof chosen.measure === "string" && chosen.measure !== "errors";
  };
  const take = (name) => (found) => {
    chosen[name] = found;
    show();
  };
  const quantity = () => new Quantity(segments, chosen.measure, chosen.of, chosen.minus);
  const parts = h("div", { class: "tools picker", role: "group", "aria-label": "Sort and filter by a number" },
    menu("What is counted", measures, chosen.measure, take("measure"), { id: "measure" }),
    h("span", { "data-answers": true }, "of ", menu("Of which sentences", names, 0, take("of"), { id: "of" })),
    names.length > 1 && h("span", { "data-answers": true }, "minus ", menu("Minus those of", [[-1, "nothing"], ...names], -1, take("minus"), { id: "minus" })),
    h("span", { class: "together" }, menu("Relation", RELATIONS.map(([, sign], number) => [number, sign]), 0, take("relation"), { id: "relation" }), value,
      h("button", { type: "button", class: "plain", id: "filter", click: () => value.value !== "" && add({ quantity: quantity(), relation: RELATIONS[chosen.relation], value: Number(value.value) }) }, "Filter")),
    h("button", { type: "button", class: "plain", id: "order", click: () => sort(quantity()) }, "Sort"));
  return parts;
}
