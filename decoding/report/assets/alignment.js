// Alignments: sentences below their reference, word below word, broken to the width of the page.

const SAID = { s: "substitution", i: "insertion", d: "deletion", "~": "soft match" };

/** The edits of a sentence, each with what was said, what is wanted, and when the word begins. */
function readEdits({ edits, times }) {
  let spoken = 0;
  return edits.map((edit) => {
    const said = edit[0] !== "d";
    return { code: edit[0], word: edit[1], wanted: edit[0] === "i" ? null : edit.at(-1), begin: said ? times?.[spoken++]?.[0] ?? null : null };
  });
}

const wantedWords = (edits) => edits.filter(({ wanted }) => wanted !== null).map(({ wanted }) => wanted);

/** The words of the reference, and for each sentence what stands before and at each of them. */
function alignedColumns(sentences) {
  const reference = wantedWords(sentences[0].edits);
  const parts = sentences.map(({ edits }) => {
    const inserted = Array.from({ length: reference.length + 1 }, () => []), at = [];
    for (const edit of edits) {
      if (edit.code === "i") inserted[at.length].push(edit);
      else at.push(edit);
    }
    return { inserted, at };
  });
  const columns = [];
  for (let place = 0; place <= reference.length; place++) {
    const most = Math.max(...parts.map(({ inserted }) => inserted[place].length));
    for (let extra = 0; extra < most; extra++)
      columns.push({ word: "", cells: parts.map(({ inserted }) => inserted[place][extra] ?? null) });
    if (place < reference.length) columns.push({ word: reference[place], cells: parts.map(({ at }) => at[place]) });
  }
  return columns;
}

/** A word of a sentence, of a deletion the one that is missing; a click plays the recording from there. */
function alignmentCell(edit, listen) {
  if (!edit) return h("td", null);
  const { code, word, begin } = edit;
  const shown = listen && begin !== null
    ? h("button", { type: "button", class: "listen", title: `play from ${begin.toFixed(2)} s`, click: () => listen(begin) }, word) : word;
  if (code === "=") return h("td", null, shown);
  return h("td", null, h("span", { class: `cell ${code === "~" ? "soft" : code}`, title: SAID[code] }, shown),
    h("span", { class: "unseen" }, ` (${SAID[code]})`));
}

/** Tables of sentences that share a reference; `width` is what there is for one. */
function alignmentTables(sentences, width, listen) {
  const byReference = new Map();
  for (const sentence of sentences) {
    const words = wantedWords(sentence.edits).join(" ");
    if (!byReference.has(words)) byReference.set(words, []);
    byReference.get(words).push(sentence);
  }
  const several = byReference.size > 1;
  return [...byReference.values()].flatMap((some) => {
    const widest = 40 + Math.max(...some.map((each) => textWidth(`${each.name} ${each.score}`)));
    const label = Math.min(width < 480 ? 96 : 220, widest);
    const chunks = [[]];
    let used = label;
    for (const column of alignedColumns(some)) {
      const wide = 24 + Math.max(...[column.word, ...column.cells.map((edit) => edit?.word ?? "")].map((word) => textWidth(word)));
      if (used + wide > width && chunks.at(-1).length) {
        chunks.push([]);
        used = label;
      }
      chunks.at(-1).push(column);
      used += wide;
    }
    return chunks.map((columns, number) => h("table", { class: "alignment", style: { "--label": `${label}px` } },
      h("tbody", null,
        h("tr", { class: "reference" }, h("th", { scope: "row" }, several ? `reference ${some[0].reference + 1}` : "reference"),
          columns.map(({ word }) => h("td", null, word || h("span", { class: "gap", "aria-hidden": "true" }, "·")))),
        some.map((sentence, row) => h("tr", null,
          h("th", { scope: "row", title: sentence.name }, mark(sentence.kind), sentence.name,
            number === 0 && h("span", { class: "hint" }, ` ${sentence.score}`)),
          columns.map(({ cells }) => alignmentCell(cells[row], listen)))))));
  });
}
