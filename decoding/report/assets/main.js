// The beginning: unpack, draw, and listen to the keyboard.

async function begin() {
  if (!("DecompressionStream" in window)) throw new Error("This page needs a browser of 2023 or newer.");
  const report = await unpack("report");
  document.title = report.title;
  byId("title").textContent = report.title;
  const { systems, settings } = report;
  byId("about").textContent = systems.map((system) =>
    [systems.length > 1 && system.name, plural(system.segments, "segment"), system.failed > 0 && `${grouped(system.failed)} failed`].filter(Boolean).join(", ")).join(" · ");
  byId("made").textContent = [`fstmetrics ${report.version}`, ...Object.entries(settings).map(([name, value]) => `${name} ${value}`)].join(" · ");
  showSummary(report);
  showCurves(report);
  showChoices(report);
  const indexes = await Promise.all(systems.map((_, number) => unpack(`index-${number}`)));
  const segments = new Segments(report, indexes);
  const list = new SegmentList(segments, (row, focus = true) => {
    list.mark(row);
    history.replaceState(null, "", `#segment=${encodeURIComponent(segments.ids[row])}`);
    return showSegment(segments, list, row, focus);
  });
  showErrors(report, (changes) => {
    list.narrow({ group: "", length: "", error: null, ...changes });
    byId("segments").scrollIntoView();
    list.box.focus({ preventScroll: true });
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      list.search.focus();
      list.search.select();
    } else if (!byId("segment").hidden && !typing) {
      if (event.key === "Escape") closeSegment(list);
      if (event.key === "n") list.step(1);
      if (event.key === "p") list.step(-1);
    }
  });
  const follow = () => {
    // as forms have it, for unlike decodeURIComponent it takes whatever people have typed
    const id = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B")).get("segment");
    const row = segments.rowOf.get(id);
    if (row !== undefined && row !== list.opened) list.open(row);
  };
  addEventListener("hashchange", follow);
  byId("notice").remove();
  document.body.dataset.ready = String(Math.round(performance.now()));
  follow();
}

begin().catch((problem) => {
  byId("notice").textContent = `This page could not be shown: ${problem.message}`;
  console.error(problem);
});
