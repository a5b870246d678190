// An opened segment: alignments, confusion network, lattice or list, for each system.

async function showSegment(segments, list, row, focus) {
  const { report, answers } = segments;
  const details = await Promise.all(report.systems.map((_, system) => segments.detail(system, row)));
  if (list.opened !== row) return;
  const place = byId("segment"), several = report.systems.length > 1;
  const metric = typeof list.measure === "number" ? list.measure : 0;
  const sentences = details.flatMap((detail, system) => (detail?.sentences ?? []).map((sentence) => ({
    ...sentence, system, edits: readEdits(sentence), score: scoreText(sentence.scores[metric], report.metrics[metric]),
    name: answers.find((answer) => answer.system === system && answer.kind === sentence.kind && detail.sentences.length === 1)?.name
      ?? (several ? `${report.systems[system].name} ` : "") + sentence.label,
  })));
  const alignments = h("div", { class: "alignments" });
  const heading = h("h2", { tabindex: -1, id: "segment-title" }, segments.ids[row]);
  const facts = [segments.group(row), plural(segments.words(row), "word"),
    `scores are ${headingOf(report.metrics[metric])}`, `aligned by ${report.aligner}`].filter(Boolean);
  const address = recordingOf(report, segments.ids[row]), recording = address && audioPlayer(address);
  showSegment.player?.pause();
  showSegment.player = recording?.player;
  const listen = recording && ((begin) => play(recording.player, begin));
  place.hidden = false;
  place.setAttribute("aria-labelledby", "segment-title");
  place.replaceChildren(
    h("div", { class: "card-head" }, h("div", null, heading, h("p", { class: "hint" }, facts.join(" · "))),
      recording?.element,
      h("div", { class: "buttons" },
        h("button", { type: "button", click: () => list.step(-1) }, "← previous"),
        h("button", { type: "button", click: () => list.step(1) }, "next →"),
        h("button", { type: "button", click: () => closeSegment(list) }, "close ✕"))),
    h("div", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, "Alignment"), legend()), alignments, scoreTable(report, sentences)),
    ...details.flatMap((detail, system) => detail === null
      ? [h("p", { class: "hint" }, `${report.systems[system].name} does not have this segment.`)]
      : systemParts(detail, several ? report.systems[system].name : "", listen)));
  const lay = () => alignments.replaceChildren(...alignmentTables(sentences, alignments.clientWidth || 800, listen));
  lay();
  // the lattice may be wider than the page: begin where paths differ
  for (const picture of place.querySelectorAll("[data-at]")) {
    const { at, middle } = picture.dataset;
    if (Number(at) < picture.scrollWidth - 20) picture.scrollLeft = Number(at) - picture.clientWidth / 3;
    picture.scrollTop = Number(middle) - picture.clientHeight / 2;
  }
  let width = alignments.clientWidth;
  showSegment.watch?.disconnect();
  showSegment.watch = new ResizeObserver(() => {
    if (alignments.clientWidth !== width) {
      width = alignments.clientWidth;
      lay();
    }
  });
  showSegment.watch.observe(alignments);
  if (focus) {
    heading.focus({ preventScroll: true });
    place.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
}

function closeSegment(list) {
  showSegment.player?.pause();
  byId("segment").hidden = true;
  byId("segment").replaceChildren();
  list.mark(null);
  history.replaceState(null, "", location.pathname + location.search);
  list.box.focus({ preventScroll: true });
  byId("segments").scrollIntoView({ block: "nearest" });
}

/** All scores of all sentences, and what the model says of them if it says anything. */
function scoreTable({ metrics }, sentences) {
  const modelled = sentences.some(({ model }) => typeof model === "number");
  const number = { scope: "col", class: "number" };
  return h("div", { class: "scroll" }, h("table", { class: "sentence-scores" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "sentence"), h("th", number, "errors"),
      metrics.map((metric) => h("th", number, headingOf(metric))), modelled && h("th", number, "model score"))),
    h("tbody", null, sentences.map(({ kind, name, edits, scores, model }) => h("tr", null,
      h("th", { scope: "row" }, mark(kind), name),
      h("td", { class: "number" }, String(edits.filter(({ code }) => "sid".includes(code)).length)),
      scores.map((score, place) => h("td", { class: "number" }, scoreText(score, metrics[place]))),
      modelled && h("td", { class: "number" }, typeof model === "number" ? model.toFixed(3) : "not in the space"))))));
}

function systemParts(detail, name, listen) {
  const whose = () => name && h("strong", { class: "hint" }, name);
  const parts = [];
  if (detail.network) {
    parts.push(h("div", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, "Confusion network"), whose(),
      h("span", { class: "hint" }, `the words of the MBR decision${detail.method ? ` (${detail.method}, expected ${fixed(detail.expected)})` : ""} and what else stands in their places; ✓ is the reference's`)), networkPicture(detail, listen)));
  }
  if (detail.trouble) parts.push(h("p", { class: "notice" }, detail.trouble));
  if (detail.lattice) {
    parts.push(h("div", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, "Lattice where paths differ"), whose(),
      h("span", { class: "hint" }, `${grouped(detail.lattice.arcs.length)} of ${plural(detail.lattice.all, "arc")}, words of one span together; `,
        mark("oracle"), "oracle ", mark("one_best"), "1-best ", mark("mbr"), "MBR ", h("span", { class: "cell wanted" }, "word"), " reference; numbers and widths are posteriors")), latticePicture(detail.lattice)));
  }
  if (detail.list) parts.push(sentenceList(detail, whose()));
  return parts;
}

/** Bins as columns, the most probable word on top. */
function networkPicture({ network, sentences }, listen) {
  const spoken = readEdits(sentences.find(({ kind }) => kind === "mbr")).filter(({ code }) => code !== "d");
  const own = network.filter(([chosen]) => chosen).length === spoken.length ? [...spoken] : [];
  // what the reference has in the place of a word, where the two are aligned
  const right = network.map(([chosen]) => (chosen && own.length ? own.shift() : null)).map((edit) => edit?.wanted ?? null);
  return h("div", { class: "picture", tabindex: 0, role: "region", "aria-label": "Confusion network" },
    h("ol", { class: "network" }, network.map(([chosen, begin, end, alternatives], bin) => h("li", { class: chosen ? "" : "between" },
      h("ul", null, alternatives.map(([word, posterior]) => h("li", { class: word === chosen ? "chosen" : "" },
        h("span", { class: "alternative" }, word || "∅", word && word === right[bin] && h("span", { class: "right", title: "the word of the reference" }, " ✓")),
        h("span", { class: "mass" }, posterior.toFixed(2)),
        s("svg", { class: "meter", width: 60, height: 3, viewBox: "0 0 60 3", "aria-hidden": "true" }, s("rect", { width: 60 * posterior, height: 3 }))))),
      begin !== null && h(listen ? "button" : "span", { class: "hint time", ...(listen && { type: "button", title: "play from here", click: () => listen(begin) }) },
        `${begin.toFixed(2)} – ${end.toFixed(2)} s`)))));
}

function sentenceList({ list, sentences }, whose) {
  const known = new Map();
  for (const { kind, edits } of sentences) {
    if (!kind) continue;
    const words = edits.filter(([code]) => code !== "d").map(([, word]) => word).join(" ");
    known.set(words, [...(known.get(words) ?? []), kind]);
  }
  const count = list.all === null ? plural(list.rows.length, "sentence") : `${list.rows.length} of ${plural(list.all, "entry").replace("entrys", "entries")}`;
  return h("div", { class: "card" }, h("div", { class: "card-head" }, h("h3", null, "Best sentences of the model"), whose, h("span", { class: "hint" }, count)),
    h("div", { class: "scroll" }, h("table", { class: "sentences" },
      h("thead", null, h("tr", null, h("th", { scope: "col", class: "number" }, "rank"), h("th", { scope: "col", class: "number" }, "posterior"),
        h("th", { scope: "col", class: "number" }, "model score"), h("th", { scope: "col" }, "sentence"))),
      h("tbody", null, list.rows.map(([text, posterior, score], place) => h("tr", null, h("td", { class: "number" }, String(place + 1)),
        h("td", { class: "number" }, fixed(posterior)), h("td", { class: "number" }, score.toFixed(3)),
        h("td", null, (known.get(text) ?? []).map(mark), text)))))));
}
