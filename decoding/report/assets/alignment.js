// Alignments: sentences below their reference, word below word, broken to the width of the page.

const SAID = { s: "substitution", i: "insertion", d: "deletion", "~": "soft match" };

/** The words of the reference, and for each sentence what stands before and at each of them. */
function alignedColumns(sentences) {
  const reference = sentences[0].edits.filter(([code]) => code !== "i").map((edit) => edit.at(-1));
  const parts = sentences.map(({ edits }) => {
    const inserted = Array.from({ length: reference.length + 1 }, () => []), at = [];
    for (const edit of edits) {
      if (edit[0] === "i") inserted[at.length].push(edit);
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

/** The word of a cell: of a deletion the one that is missing. */
const shownWord = (edit) => (edit ? edit[1] : "");

function alignmentCell(edit) {
  if (!edit) return h("td", null);
  const [code, word] = edit;
  if (code === "=") return h("td", null, word);
  return h("td", null, h("span", { class: `cell ${code === "~" ? "soft" : code}`, title: SAID[code] }, word),
    h("span", { class: "unseen" }, ` (${SAID[code]})`));
}

/** Tables of sentences that share a reference; `width` is what there is for one. */
function alignmentTables(sentences, width) {
  const byReference = new Map();
  for (const sentence of sentences) {
    const words = sentence.edits.filter(([code]) => code !== "i").map((edit) => edit.at(-1)).join(" ");
    if (!byReference.has(words)) byReference.set(words, []);
    byReference.get(words).push(sentence);
  }
  const several = byReference.size > 1;
  return [...byReference.values()].flatMap((some) => {
    const label = Math.min(170, 40 + Math.max(...some.map((each) => textWidth(`${each.system}${each.label} ${each.score}`))));
    const chunks = [[]];
    let used = label;
    for (const column of alignedColumns(some)) {
      const wide = 24 + Math.max(...[column.word, ...column.cells.map(shownWord)].map((word) => textWidth(word)));
      if (used + wide > width && chunks.at(-1).length) {
        chunks.push([]);
        used = label;
      }
      chunks.at(-1).push(column);
      used += wide;
    }
    return chunks.map((columns, number) => h("table", { class: "alignment" },
      h("tbody", null,
        h("tr", { class: "reference" }, h("th", { scope: "row" }, several ? `reference ${some[0].reference + 1}` : "reference"),
          columns.map(({ word }) => h("td", null, word || h("span", { class: "gap", "aria-hidden": "true" }, "·")))),
        some.map((sentence, row) => h("tr", null,
          h("th", { scope: "row" }, mark(sentence.kind), sentence.system && h("small", null, sentence.system, " "), sentence.label,
            number === 0 && h("span", { class: "hint" }, ` ${sentence.score}`)),
          columns.map(({ cells }) => alignmentCell(cells[row])))))));
  });
}
