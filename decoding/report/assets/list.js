// The list of segments: sorted, searched and filtered; only the rows in sight are in the page.

const ROW = 34;

class SegmentList {
  constructor(segments, open) {
    this.segments = segments;
    this.open = open;
    this.metric = 0;
    this.sorting = { column: null, down: false };
    this.filters = { text: "", which: "all", group: "", length: "", error: null };
    this.rows = segments.ids.map((_, row) => row);
    this.active = 0;
    this.build();
    this.refresh();
  }

  /** Columns with numbers: a kind of sentence of a system. */
  get kinds() {
    const { systems, kinds } = this.segments.report;
    return Object.entries(kinds).flatMap(([kind, label]) => systems
      .map((system, number) => ({ kind, label, number, name: systems.length > 1 ? system.name : "" }))
      .filter(({ number }) => systems[number].scores[kind]?.[this.metric]));
  }

  get columns() {
    const { segments } = this;
    const grouped = segments.indexes[0].group.length > 0;
    return [
      { key: "id", label: "segment", value: (row) => segments.ids[row], width: "minmax(6rem, 12rem)" },
      ...(grouped ? [{ key: "group", label: "group", value: (row) => segments.group(row), width: "6rem" }] : []),
      { key: "words", label: "words", number: true, value: (row) => segments.words(row), width: "4.5rem" },
      ...this.kinds.map(({ kind, label, number, name }) => ({
        key: `${kind}-${number}`, label, kind, note: name, number: true, width: "5.2rem",
        value: (row) => segments.score(number, kind, this.metric, row),
      })),
      { key: "text", label: "reference", value: (row) => segments.reference(row), width: "minmax(12rem, 1fr)" },
    ];
  }

  build() {
    const { report, indexes } = this.segments;
    this.search = h("input", { type: "search", placeholder: "Search ids and words", "aria-label": "Search ids and words", id: "search",
      input: () => this.narrow({ text: this.search.value }),
      keydown: (event) => {
        if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); this.box.focus(); }
        if (event.key === "Escape") { this.search.value = ""; this.narrow({ text: "" }); }
      } });
    this.which = h("select", { id: "which", "aria-label": "Which segments", change: () => this.narrow({ which: this.which.value }) },
      this.predicates().map(([value, text]) => h("option", { value }, text)));
    const names = [...new Set(indexes.flatMap((index) => index.groups))];
    this.group = h("select", { id: "group", "aria-label": "Group", change: () => this.narrow({ group: this.group.value }) },
      h("option", { value: "" }, "all groups"), names.map((name) => h("option", { value: name }, name)));
    const lengths = report.systems[0].lengths.map(({ group }) => group);
    this.length = h("select", { id: "length", "aria-label": "Length of the reference", change: () => this.narrow({ length: this.length.value }) },
      h("option", { value: "" }, "all lengths"), lengths.map((name) => h("option", { value: name }, `${name} words`)));
    this.chip = h("span", null);
    this.count = h("span", { class: "count", role: "status" });
    this.head = h("div", { class: "list-head", role: "row", "aria-rowindex": 1 });
    this.spacer = h("div", { class: "spacer", role: "presentation" });
    this.box = h("div", { class: "list-box", tabindex: 0, role: "rowgroup", "aria-label": "Segments", id: "list",
      scroll: () => this.schedule(), keydown: (event) => this.key(event) }, this.spacer);
    this.grid = h("div", { class: "list", role: "grid", "aria-label": "Segments" }, this.head, this.box);
    this.paper = h("div", { class: "paper" });
    byId("segments-body").replaceChildren(
      h("div", { class: "tools" }, this.search, this.which, names.length > 0 && this.group, this.length,
        report.metrics.length > 1 && choice("Metric", report.metrics.map(({ label }, number) => [number, label]), 0, (number) => {
          this.metric = number;
          this.refresh();
        }), this.chip, this.count),
      h("div", { class: "card flush" }, this.grid), this.paper,
      h("p", { class: "hint keys" }, h("kbd", null, "/"), " search, ", h("kbd", null, "↑"), " ", h("kbd", null, "↓"), " move, ",
        h("kbd", null, "Enter"), " open, ", h("kbd", null, "n"), " ", h("kbd", null, "p"), " next and previous, ", h("kbd", null, "Esc"), " close"));
    new ResizeObserver(() => this.schedule()).observe(this.box);
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => this.paper.replaceChildren());
  }

  /** What can be asked of segments: a value, what it is called, and a test of a row. */
  predicates() {
    const { segments } = this, { systems, kinds } = segments.report;
    const found = [["all", "all segments", () => true]];
    systems.forEach((system, number) => {
      const whose = systems.length > 1 ? `${system.name}: ` : "";
      const fewer = (one, other) => (row) => segments.place(number, row) >= 0 &&
        segments.errors(number, one, row) < segments.errors(number, other, row);
      const there = Object.keys(kinds).filter((kind) => system.scores[kind]);
      for (const kind of there)
        found.push([`errors-${kind}-${number}`, `${whose}errors in the ${kinds[kind]}`, (row) => segments.errors(number, kind, row) > 0]);
      for (const kind of there.filter((each) => each !== "one_best" && there.includes("one_best")))
        found.push([`gain-${kind}-${number}`, `${whose}${kinds[kind]} better than 1-best`, fewer(kind, "one_best")]);
      if (there.includes("mbr") && there.includes("one_best"))
        found.push([`loss-${number}`, `${whose}MBR worse than 1-best`, fewer("one_best", "mbr")]);
    });
    if (systems.length > 1) {
      for (const [kind, label] of Object.entries(kinds)) {
        if (!systems.every((system) => system.scores[kind])) continue;
        for (const [one, other] of [[0, 1], [1, 0]])
          found.push([`${kind}-${one}-wins`, `${label}: ${systems[one].name} better`, (row) =>
            segments.place(0, row) >= 0 && segments.place(1, row) >= 0 &&
            segments.errors(one, kind, row) < segments.errors(other, kind, row)]);
      }
      systems.forEach((system, number) => found.push([`only-${number}`, `only in ${system.name}`, (row) => segments.place(1 - number, row) < 0]));
    }
    return found;
  }

  /** Change filters, and show what they leave. */
  narrow(changes) {
    Object.assign(this.filters, changes);
    this.which.value = this.filters.which;
    this.group.value = this.filters.group;
    this.length.value = this.filters.length;
    this.refresh();
  }

  clear() {
    this.search.value = "";
    this.narrow({ text: "", which: "all", group: "", length: "", error: null });
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
      terms.every((term) => segments.haystack(row).includes(term)));
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
    this.spacer.style.setProperty("height", `${this.rows.length * ROW}px`);
    this.count.textContent = this.rows.length === segments.length ? plural(segments.length, "segment")
      : `${grouped(this.rows.length)} of ${plural(segments.length, "segment")}`;
    const { error } = filters;
    const narrowed = error || filters.text || filters.which !== "all" || filters.group || filters.length;
    this.chip.replaceChildren(...(narrowed ? [h("button", { type: "button", class: "chip", click: () => this.clear() },
      error ? `${[error.reference, error.hypothesis].filter(Boolean).join(" → ")} (${error.operation})` : "clear", h("span", { "aria-hidden": "true" }, " ✕"))] : []));
    this.grid.setAttribute("aria-rowcount", this.rows.length + 1);
    this.drawHead();
    this.draw();
  }

  drawHead() {
    const { columns, sorting } = this;
    this.grid.style.setProperty("--columns", columns.map(({ width }) => width).join(" "));
    this.head.replaceChildren(...columns.map(({ key, label, kind, note, number }) => {
      const sorted = sorting.column === key;
      return h("div", { role: "columnheader", class: `col-${key.replace(/-\d$/, "")}${number ? " number" : ""}`, "aria-sort": sorted ? (sorting.down ? "descending" : "ascending") : "none" },
        h("button", { type: "button", "data-key": key, click: () => this.sort(key) },
          kind && mark(kind), label, note && h("small", null, note), h("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (sorting.down ? "▼" : "▲") : "")));
    }));
  }

  sort(key) {
    const column = this.columns.find((each) => each.key === key);
    // the largest number is what one looks for; a third time is the order of the input
    const first = Boolean(column.number);
    if (this.sorting.column !== key) this.sorting = { column: key, down: first };
    else if (this.sorting.down === first) this.sorting.down = !first;
    else this.sorting = { column: null, down: false };
    this.refresh();
    this.head.querySelector(`[data-key="${key}"]`).focus();
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 4);
    const columns = this.columns;
    this.spacer.replaceChildren(...this.rows.slice(first, last).map((row, offset) => this.line(row, first + offset, columns)));
    if (!this.rows.length) this.spacer.replaceChildren(h("p", { class: "nothing" }, "No segment is like that."));
    this.box.setAttribute("aria-activedescendant", `row-${this.active}`);
  }

  line(row, place, columns) {
    return h("div", {
      class: "list-row", role: "row", id: `row-${place}`, "aria-rowindex": place + 2, "aria-selected": String(row === this.opened),
      "data-active": place === this.active, style: { top: `${place * ROW}px` },
      click: () => { this.active = place; this.openActive(); },
    }, columns.map(({ key, value, number }) => {
      const found = value(row);
      const text = !number ? found : key === "words" ? grouped(found) : fixed(found);
      return h("div", { role: "gridcell", class: `col-${key.replace(/-\d$/, "")}${number ? " number" : ""}${number && key !== "words" && found === 0 ? " zero" : ""}`, title: number ? null : text }, text);
    }));
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
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
    const top = this.active * ROW, { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    if (top + ROW > scrollTop + clientHeight) this.box.scrollTop = top + ROW - clientHeight;
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
      h("tbody", null, shown.map((row) => h("tr", null, columns.map(({ key, value, number }) =>
        h("td", { class: number ? "number" : "" }, !number ? value(row) : key === "words" ? grouped(value(row)) : fixed(value(row)))))))),
    ...(shown.length < this.rows.length ? [h("p", null, `… and ${grouped(this.rows.length - shown.length)} more`)] : []));
  }
}
