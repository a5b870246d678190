// The beginning: unpack, draw, and listen to the keyboard.

async function begin() {
  if (!("DecompressionStream" in window)) throw new Error("This page needs a browser of 2023 or newer.");
  const report = await unpack("report");
  document.title = report.title;
  byId("title").textContent = report.title;
  const { systems, settings } = report;
  const counts = new Set(systems.map((system) => [plural(system.segments, "segment"), system.failed > 0 && `${grouped(system.failed)} failed`].filter(Boolean).join(", ")));
  byId("about").textContent = [systems.length > 1 && `${systems.length} systems`, counts.size === 1 && [...counts][0]].filter(Boolean).join(" · ");
  byId("made").textContent = [`fstmetrics ${report.version}`, ...Object.entries(settings).map(([name, value]) => `${name} ${value}`)].join(" · ");
  showSummary(report);
  showCurves(report);
  showChoices(report);
  for (const link of document.querySelectorAll("nav a")) link.hidden = byId(link.hash.slice(1)).hidden;
  const indexes = await Promise.all(systems.map((_, number) => unpack(`index-${number}`)));
  const segments = new Segments(report, indexes);
  const list = new SegmentList(segments, (row, focus = true) => {
    list.mark(row);
    history.replaceState(null, "", `#segment=${encodeURIComponent(segments.ids[row])}`);
    return showSegment(segments, list, row, focus);
  });
  showErrors(report, (changes) => {
    list.narrow({ ...SegmentList.NOTHING, ...changes });
    byId("segments").scrollIntoView();
    list.box.focus({ preventScroll: true });
  });
  const commands = {
    "/": () => {
      list.search.focus();
      list.search.select();
    },
    j: () => move(1),
    k: () => move(-1),
    n: () => list.step(1),
    p: () => list.step(-1),
    a: () => showSegment.player && play(showSegment.player),
    c: () => list.clear(),
    Escape: () => byId("segment").hidden || closeSegment(list),
  };
  /** To another segment where one is open, else to another row. */
  const move = (steps) => {
    if (!byId("segment").hidden) return list.step(steps);
    list.box.focus({ preventScroll: document.activeElement === list.box });
    return list.move(steps);
  };
  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey || typing || !Object.hasOwn(commands, event.key)) return;
    event.preventDefault();
    commands[event.key]();
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
