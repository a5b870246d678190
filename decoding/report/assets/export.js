// Export: the segments that are listed, as tab-separated values or as JSON.

/** What is known of a segment: counts, scores and words of all answers. */
function segmentRecord(segments, row) {
  const { answers, report, ids } = segments;
  const known = answers.filter((answer) => segments.counts(answer, row));
  return {
    id: ids[row],
    ...(segments.group(row) && { group: segments.group(row) }),
    words: segments.words(row),
    reference: segments.reference(row),
    answers: Object.fromEntries(known.map((answer) => {
      const [, substitutions, insertions, deletions] = segments.counts(answer, row);
      const scores = Object.fromEntries(report.metrics.map(({ label }, metric) => [label, segments.score(answer, metric, row)]));
      const first = Object.keys(report.systems[answer.system].scores)[0] === answer.kind;
      return [answer.name, { substitutions, insertions, deletions, scores, ...(first && { text: segments.text(answer.system, row) }) }];
    })),
  };
}

function tsvText(segments, rows) {
  const { answers } = segments;
  const records = rows.map((row) => segmentRecord(segments, row));
  const plain = ["id", ...(segments.grouped ? ["group"] : []), "words", "reference"];
  const columns = [
    ...plain.map((name) => [name, (record) => record[name]]),
    ...answers.flatMap(({ name, system, kind }) => [
      ...["substitutions", "insertions", "deletions"].map((what) => [`${name} ${what}`, ({ answers: of }) => of[name]?.[what]]),
      ...segments.report.metrics.map(({ label }) => [`${name} ${label}`, ({ answers: of }) => of[name]?.scores[label]]),
      ...(Object.keys(segments.report.systems[system].scores)[0] === kind ? [[`${name} text`, ({ answers: of }) => of[name]?.text]] : []),
    ]),
  ];
  const cell = (value) => String(value ?? "").replace(/[\t\r\n]/g, " ");
  return [columns.map(([name]) => cell(name)), ...records.map((record) => columns.map(([, read]) => cell(read(record))))]
    .map((cells) => `${cells.join("\t")}\n`).join("");
}

/** Hand over a file that is made here. */
function saveFile(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function saveSegments(segments, rows, format) {
  if (format === "tsv") return saveFile("segments.tsv", "text/tab-separated-values", tsvText(segments, rows));
  return saveFile("segments.json", "application/json", `${JSON.stringify(rows.map((row) => segmentRecord(segments, row)), null, 1)}\n`);
}
