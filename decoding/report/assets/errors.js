// Errors: by group and by length of the reference, and the most frequent ones.

const OPERATIONS = [
  ["substitution", "s", "Substitutions"],
  ["insertion", "i", "Insertions"],
  ["deletion", "d", "Deletions"],
];

/** Show the errors of a kind of sentence; `narrow` filters the list of segments. */
function showErrors(report, narrow) {
  const { systems, kinds } = report;
  const chosen = { system: 0, kind: Object.keys(kinds).find((kind) => systems[0].errors[kind]) };
  const body = h("div", null);
  const draw = () => {
    const system = systems[chosen.system];
    if (!system.errors[chosen.kind]) chosen.kind = Object.keys(system.errors)[0];
    body.replaceChildren(
      h("div", { class: "cards" },
        system.groups && breakdown("By group", "group", system.groups, report, chosen, (group) => narrow({ group })),
        breakdown("By length of the reference", "words", system.lengths, report, chosen, (length) => narrow({ length }))),
      h("div", { class: "card" },
        h("div", { class: "card-head" }, h("h3", null, "Most frequent errors"), h("span", { class: "hint" }, "choose one to list its segments")),
        h("div", { class: "frequent" }, OPERATIONS.map(([operation, code, title]) =>
          frequent(operation, code, title, system.errors[chosen.kind], (error) => narrow({ error: { ...error, ...chosen } }))))));
  };
  const there = Object.entries(kinds).filter(([kind]) => systems.some((system) => system.errors[kind]));
  byId("errors-body").replaceChildren(
    h("div", { class: "tools" },
      systems.length > 1 && choice("System", systems.map(({ name }, number) => [number, name]), 0, (number) => { chosen.system = number; draw(); }),
      there.length > 1 && choice("Sentences", there, chosen.kind, (kind) => { chosen.kind = kind; draw(); }),
      legend()),
    body);
  draw();
}

const legend = () => h("p", { class: "legend" },
  h("span", { class: "cell s" }, "word"), " substitution ",
  h("span", { class: "cell i" }, "word"), " insertion ",
  h("span", { class: "cell d" }, "word"), " deletion");

function breakdown(title, heading, groups, { metrics, kinds }, { kind }, choose) {
  const rates = groups.map(({ counts }) => {
    const [words, ...errors] = counts[kind];
    return errors.map((count) => count / Math.max(1, words));
  });
  const most = Math.max(...rates.map((parts) => parts.reduce((one, other) => one + other)), 1e-9);
  const others = Object.keys(kinds).filter((each) => groups[0].scores[each]?.[0] !== undefined && groups[0].scores[each][0] !== null);
  return h("div", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, title), h("span", { class: "hint" }, `scores are ${headingOf(metrics[0])}; choose one to list its segments`)),
    h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, h("table", { class: "groups" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, heading), h("th", { scope: "col", class: "number" }, "segments"),
        h("th", { scope: "col", class: "bar-column" }, "errors a word"),
        others.map((each) => h("th", { scope: "col", class: "number", title: `${headingOf(metrics[0])} of the ${kinds[each]}` }, others.length > 1 ? [mark(each), kinds[each]] : headingOf(metrics[0]))))),
      h("tbody", null, groups.map((group, at) => h("tr", null,
        h("th", { scope: "row" }, h("button", { type: "button", class: "link", click: () => choose(group.group) }, group.group)),
        h("td", { class: "number" }, grouped(group.segments)),
        h("td", { class: "bar-column" }, stacked(rates[at], most)),
        others.map((each) => h("td", { class: "number" }, scoreText(group.scores[each][0], metrics[0])))))))));
}

/** A bar of substitutions, insertions and deletions. */
function stacked(parts, most) {
  const whole = parts.reduce((one, other) => one + other);
  let at = 0;
  const bars = parts.map((part, place) => {
    const bar = s("rect", { class: `fill-${OPERATIONS[place][1]}`, x: at, y: 3, width: (part / most) * 160, height: 12 },
      s("title", null, `${OPERATIONS[place][2].toLowerCase()}: ${percent(part)} of the words`));
    at += (part / most) * 160;
    return bar;
  });
  return h("span", { class: "with-bar" }, s("svg", { width: 162, height: 18, viewBox: "0 0 162 18", role: "img",
    "aria-label": OPERATIONS.map(([name], place) => `${name}s ${percent(parts[place])}`).join(", ") }, bars), h("span", { class: "hint" }, percent(whole)));
}

function frequent(operation, code, title, errors, choose) {
  const own = errors.filter((error) => error.operation === operation);
  return h("div", { class: "frequent-column" }, h("h4", null, title),
    own.length ? h("ol", null, own.map((error) => h("li", null,
      h("button", { type: "button", class: "error", click: () => choose(error) },
        h("span", { class: "words" },
          error.reference && h("span", { class: code === "d" ? "cell d" : "" }, error.reference),
          code === "s" && h("span", { class: "hint" }, " → "),
          error.hypothesis && h("span", { class: `cell ${code}` }, error.hypothesis)),
        h("span", { class: "times" }, `${grouped(error.times)}×`))))) : h("p", { class: "hint" }, "none"));
}
