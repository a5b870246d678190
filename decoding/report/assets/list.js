// The list of segments: sorted, searched and filtered; only the rows in sight are in the page.

/** Answers that have a column at first, and on a telephone, where the reference has a line of its own. */
const FIRST_COLUMNS = 6, PHONE_COLUMNS = 2;
const phone = matchMedia("(max-width: 640px)");

class SegmentList {
  constructor(segments, open) {
    this.segments = segments;
    this.open = open;
    this.measure = 0;
    this.shown = new Set(segments.answers.slice(0, FIRST_COLUMNS).map(({ number }) => number));
    this.added = [];
    this.sorting = { column: null, down: false };
    this.filters = { ...SegmentList.NOTHING };
    this.rows = segments.ids.map((_, row) => row);
    this.active = 0;
    this.build();
    this.refresh();
    phone.addEventListener("change", () => this.refresh());
  }

  static NOTHING = { text: "", scope: "all", which: "all", group: "", length: "", error: null, conditions: [] };

  get rowHeight() {
    return phone.matches ? 56 : 34;
  }

  /** Columns with numbers: the answers that are shown, and what else was sorted by. */
  get quantities() {
    const { segments } = this;
    const answers = segments.answers.filter(({ number }) => this.shown.has(number))
      .map(({ number }) => new Quantity(segments, this.measure, number))
      .filter(({ of, measure }) => measure === "errors" || segments.indexes[segments.answers[of].system].scores[segments.answers[of].kind][measure]);
    const all = [...answers, ...this.added.filter(({ key }) => !answers.some((each) => each.key === key))];
    if (!phone.matches) return all;
    const first = all.filter(({ key }) => key === this.sorting.column);
    return [...first, ...all.filter((each) => !first.includes(each))].slice(0, PHONE_COLUMNS);
  }

  get columns() {
    const { segments } = this, { answers } = segments;
    return [
      { key: "id", label: "segment", value: (row) => segments.ids[row], width: phone.matches ? "minmax(0, 1fr)" : "minmax(6rem, 12rem)" },
      ...(segments.grouped && !phone.matches ? [{ key: "group", label: "group", value: (row) => segments.group(row), width: "6rem" }] : []),
      { key: "words", label: "words", number: true, value: (row) => segments.words(row), text: grouped, width: phone.matches ? "3rem" : "4.5rem" },
      ...this.quantities.map((quantity) => {
        const plain = quantity.minus < 0 && quantity.measure === this.measure, answer = answers[quantity.of];
        return {
          key: quantity.key, number: true, width: phone.matches ? "4.2rem" : "5.4rem", title: quantity.label, kind: plain && answer.kind,
          label: plain ? answer.what || answer.whose : quantity.label, note: plain && answer.what ? answer.whose : "",
          value: (row) => quantity.value(row), text: (value) => quantity.text(value),
        };
      }),
      { key: "text", label: "reference", value: (row) => segments.reference(row), width: "minmax(12rem, 1fr)" },
    ];
  }

  build() {
    const { segments } = this, { report, indexes, answers } = segments;
    this.search = h("input", { type: "search", placeholder: "Search ids and words", "aria-label": "Search ids and words", id: "search",
      input: () => this.narrow({ text: this.search.value }),
      keydown: (event) => {
        if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); this.box.focus(); }
        if (event.key === "Escape") { this.search.value = ""; this.narrow({ text: "" }); }
      } });
    const select = (id, label, options) => {
      this[id] = menu(label, options, "", (value) => this.narrow({ [id]: value }), { id });
      return this[id];
    };
    const groups = [...new Set(indexes.flatMap((index) => index.groups))];
    const lengths = [...new Set(report.systems.flatMap((system) => system.lengths.map(({ group }) => group)))];
    this.chips = h("span", { class: "chips" });
    this.count = h("span", { class: "count", role: "status" });
    this.head = h("div", { class: "list-head", role: "row", "aria-rowindex": 1 });
    this.spacer = h("div", { class: "spacer", role: "presentation" });
    this.box = h("div", { class: "list-box", tabindex: 0, role: "rowgroup", "aria-label": "Segments", id: "list",
      scroll: () => this.schedule(), keydown: (event) => this.key(event) }, this.spacer);
    this.grid = h("div", { class: "list", role: "grid", "aria-label": "Segments" }, this.head, this.box);
    this.paper = h("div", { class: "paper" });
    const measures = [...report.metrics.map((metric, number) => [number, headingOf(metric)]), ["errors", "errors"]];
    const save = (format) => h("button", { type: "button", id: `save-${format}`, click: () => saveSegments(segments, this.rows, format) }, format);
    byId("segments-body").replaceChildren(
      h("div", { class: "tools" }, this.search,
        select("scope", "Search in", [["all", "in everything"], ["reference", "in the reference"], ...report.systems.map(({ name }, number) => [number, `in ${name}`])]),
        select("which", "Which segments", this.predicates().map(([value, text]) => [value, text])),
        groups.length > 0 && select("group", "Group", [["", "all groups"], ...groups.map((name) => [name, name])]),
        select("length", "Length of the reference", [["", "all lengths"], ...lengths.map((name) => [name, `${name} words`])])),
      quantityPicker(segments, {
        add: (condition) => this.narrow({ conditions: [...this.filters.conditions, condition] }),
        sort: (quantity) => {
          if (!this.added.some(({ key }) => key === quantity.key)) this.added.push(quantity);
          this.sort(quantity.key);
        },
      }),
      h("div", { class: "tools" },
        choice("Columns show", measures, this.measure, (measure) => {
          this.measure = measure;
          this.refresh();
        }),
        answers.length > 1 && h("details", { class: "columns" }, h("summary", null, "columns"), h("div", { class: "boxes" }, answers.map(({ number, name }) =>
          h("label", null, h("input", { type: "checkbox", checked: this.shown.has(number), change: (event) => {
            this.shown[event.target.checked ? "add" : "delete"](number);
            this.refresh();
          } }), name)))),
        h("span", { class: "buttons", role: "group", "aria-label": "Save the listed segments" }, h("span", { class: "hint" }, "save as "), save("tsv"), save("json")),
        this.chips, this.count),
      h("div", { class: "card flush" }, this.grid), this.paper,
      h("p", { class: "hint keys" }, [["/", "search"], ["j k", "down and up"], ["Enter", "open"], ["n p", "next and previous"],
        ...(report.audio ? [["a", "play"]] : []), ["c", "clear filters"], ["Esc", "close"]].flatMap(([keys, what]) =>
        [...keys.split(" ").map((key) => [h("kbd", null, key), " "]), what, ", "]).slice(0, -1)));
    new ResizeObserver(() => this.schedule()).observe(this.box);
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => this.paper.replaceChildren());
  }

  /** What can be asked of segments: a value, what it is called, and a test of a row. */
  predicates() {
    const { segments } = this, { answers, report: { systems } } = segments;
    const errors = (answer, row) => segments.errors(answer, row);
    const fewer = (one, other) => (row) => errors(one, row) !== null && errors(other, row) !== null && errors(one, row) < errors(other, row);
    const found = [["all", "all segments", () => true],
      ...answers.map((answer) => [`errors-${answer.number}`, `errors in ${answer.name}`, (row) => errors(answer, row) > 0])];
    for (const [number] of systems.entries()) {
      const own = answers.filter(({ system }) => system === number), first = own.find(({ kind }) => kind === "one_best");
      for (const each of own.filter(({ kind }) => first && kind !== "one_best"))
        found.push([`gain-${each.number}`, `${each.name} better than ${first.what}`, fewer(each, first)]);
      const decision = own.find(({ kind }) => kind === "mbr");
      if (first && decision) found.push([`loss-${decision.number}`, `${decision.name} worse than ${first.what}`, fewer(first, decision)]);
    }
    if (systems.length > 1) {
      // each system beside the first, kind by kind
      for (const one of answers.filter(({ system }) => system === 0)) {
        for (const other of answers.filter(({ system, kind }) => system > 0 && kind === one.kind))
          found.push([`wins-${one.number}-${other.number}`, `${one.name} better than ${other.name}`, fewer(one, other)],
            [`wins-${other.number}-${one.number}`, `${other.name} better than ${one.name}`, fewer(other, one)]);
      }
      found.push(["all-wrong", "errors in all", (row) => answers.every((answer) => errors(answer, row) !== 0)],
        ["differ", "different numbers of errors", (row) => new Set(answers.map((answer) => errors(answer, row))).size > 1],
        ...systems.map(({ name }, number) => [`missing-${number}`, `missing in ${name}`, (row) => segments.place(number, row) < 0]));
    }
    return found;
  }

  /** Change filters, and show what they leave. */
  narrow(changes) {
    Object.assign(this.filters, changes);
    this.search.value = this.filters.text;
    for (const name of ["scope", "which", "group", "length"]) if (this[name]) this[name].value = String(this.filters[name]);
    this.refresh();
  }

  clear() {
    this.narrow(SegmentList.NOTHING);
  }

  refresh() {
    const { segments, filters } = this;
    const terms = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
    const test = this.predicates().find(([value]) => value === filters.which)[2];
    let only = null;
    if (filters.error) {
      const ids = segments.indexes[filters.error.system].ids;
      only = new Set(filters.error.segments.map((place) => segments.rowOf.get(ids[place])));
    }
    this.rows = segments.ids.map((_, row) => row).filter((row) =>
      (!only || only.has(row)) && test(row) &&
      (!filters.group || segments.group(row) === filters.group) &&
      (!filters.length || lengthGroup(segments.words(row)) === filters.length) &&
      filters.conditions.every(({ quantity, relation: [, , holds], value }) => {
        const found = quantity.value(row);
        return found !== null && holds(found, value);
      }) &&
      terms.every((term) => segments.haystack(filters.scope, row).includes(term)));
    const column = this.columns.find(({ key }) => key === this.sorting.column);
    if (column) {
      const keys = new Map(this.rows.map((row) => [row, column.value(row)]));
      const sign = this.sorting.down ? -1 : 1;
      const text = new Intl.Collator(undefined, { numeric: true }).compare;
      // what has no value comes last, either way; equals keep the order of the input
      this.rows.sort((one, other) => {
        const [a, b] = [keys.get(one), keys.get(other)];
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (column.number ? a - b : text(a, b));
      });
    }
    this.active = 0;
    this.box.scrollTop = 0;
    this.spacer.style.setProperty("height", `${this.rows.length * this.rowHeight}px`);
    this.count.textContent = this.rows.length === segments.length ? plural(segments.length, "segment")
      : `${grouped(this.rows.length)} of ${plural(segments.length, "segment")}`;
    this.drawChips();
    this.grid.setAttribute("aria-rowcount", this.rows.length + 1);
    this.drawHead();
    this.draw();
  }

  /** What narrows the list, each with a button that takes it away. */
  drawChips() {
    const { error, conditions, text, which, group, length } = this.filters;
    const chip = (label, changes) => h("button", { type: "button", class: "chip", "aria-label": `take away: ${label}`, click: () => this.narrow(changes) },
      label, h("span", { "aria-hidden": "true" }, " ✕"));
    const parts = [
      ...(error ? [chip(`${[error.reference, error.hypothesis].filter(Boolean).join(" → ")} (${error.operation})`, { error: null })] : []),
      ...conditions.map((each) => chip(`${each.quantity.label} ${each.relation[1]} ${each.value}`, { conditions: conditions.filter((other) => other !== each) })),
    ];
    if (parts.length > 1 || text || which !== "all" || group || length) parts.push(chip("clear", SegmentList.NOTHING));
    this.chips.replaceChildren(...parts);
  }

  drawHead() {
    const { columns, sorting } = this;
    this.grid.style.setProperty("--columns", columns.filter(({ key }) => !(phone.matches && key === "text")).map(({ width }) => width).join(" "));
    this.grid.style.setProperty("--least", phone.matches ? "0" : `${24 + 6.2 * (columns.length - 3)}rem`);
    this.head.replaceChildren(...columns.map(({ key, label, kind, note, number, title }) => {
      const sorted = sorting.column === key;
      return h("div", { role: "columnheader", class: `col-${number && key !== "words" ? "number number" : key}${number ? " number" : ""}`, "aria-sort": sorted ? (sorting.down ? "descending" : "ascending") : "none" },
        h("button", { type: "button", "data-key": key, title: title ?? null, click: () => this.sort(key) },
          kind && mark(kind), label, note && h("small", null, note), h("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (sorting.down ? "▼" : "▲") : "")));
    }));
  }

  sort(key) {
    const column = this.columns.find((each) => each.key === key);
    // the largest number is what one looks for; a third time is the order of the input
    const first = column ? Boolean(column.number) : true;
    if (this.sorting.column !== key) this.sorting = { column: key, down: first };
    else if (this.sorting.down === first) this.sorting.down = !first;
    else this.sorting = { column: null, down: false };
    this.refresh();
    this.head.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const high = this.rowHeight;
    const first = Math.max(0, Math.floor(this.box.scrollTop / high) - 4);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / high) + 4);
    const columns = this.columns;
    this.spacer.replaceChildren(...this.rows.slice(first, last).map((row, offset) => this.line(row, first + offset, columns)));
    if (!this.rows.length) this.spacer.replaceChildren(h("p", { class: "nothing" }, "No segment is like that."));
    this.box.setAttribute("aria-activedescendant", `row-${this.active}`);
  }

  line(row, place, columns) {
    return h("div", {
      class: "list-row", role: "row", id: `row-${place}`, "aria-rowindex": place + 2, "aria-selected": String(row === this.opened),
      "data-active": place === this.active, style: { top: `${place * this.rowHeight}px`, height: `${this.rowHeight}px` },
      click: () => { this.active = place; this.openActive(); },
    }, columns.map(({ key, value, number, text }) => {
      const found = value(row);
      return h("div", { role: "gridcell", "data-column": key, class: `col-${number && key !== "words" ? "number" : key}${number ? " number" : ""}${number && key !== "words" && found === 0 ? " zero" : ""}`,
        title: number ? null : found }, text ? text(found) : found);
    }));
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.move(steps[event.key]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.openActive();
    }
  }

  move(steps) {
    this.active = Math.min(this.rows.length - 1, Math.max(0, this.active + steps));
    const high = this.rowHeight, top = this.active * high, { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    if (top + high > scrollTop + clientHeight) this.box.scrollTop = top + high - clientHeight;
    this.draw();
  }

  openActive() {
    if (this.rows.length) this.open(this.rows[this.active]);
  }

  /** Open the next or the previous segment of those that are listed. */
  step(steps) {
    const place = this.rows.indexOf(this.opened);
    if (place >= 0) this.active = place;
    this.move(steps);
    this.openActive();
  }

  /** Mark a row as the one that is open, or none. */
  mark(row) {
    this.opened = row;
    const place = this.rows.indexOf(row);
    if (place >= 0) this.active = place;
    this.move(0);
  }

  /** On paper there is no scrolling: the first rows as a plain table. */
  print() {
    const shown = this.rows.slice(0, 200), columns = this.columns;
    this.paper.replaceChildren(h("table", null,
      h("thead", null, h("tr", null, columns.map(({ label, note }) => h("th", null, [note, label].filter(Boolean).join(" "))))),
      h("tbody", null, shown.map((row) => h("tr", null, columns.map(({ value, number, text }) =>
        h("td", { class: number ? "number" : "" }, text ? text(value(row)) : value(row))))))),
    ...(shown.length < this.rows.length ? [h("p", null, `… and ${grouped(this.rows.length - shown.length)} more`)] : []));
  }
}
