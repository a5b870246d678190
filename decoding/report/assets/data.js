// Data of the page: compressed, and unpacked when it is needed.

async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The segments of all systems in one table: each has an id and its place in each system. */
class Segments {
  constructor(report, indexes) {
    this.report = report;
    this.indexes = indexes;
    this.ids = [...indexes[0].ids];
    const rows = new Map(this.ids.map((id, row) => [id, row]));
    this.places = indexes.map(() => []);
    indexes.forEach((index, system) => {
      index.ids.forEach((id, place) => {
        if (!rows.has(id)) rows.set(id, this.ids.push(id) - 1);
        this.places[system][rows.get(id)] = place;
      });
    });
    this.rowOf = rows;
    this.starts = indexes.map((index) => {
      let start = 0;
      return index.blocks.map((size) => (start += size) - size);
    });
    this.blocks = new Map();
  }

  get length() {
    return this.ids.length;
  }

  place(system, row) {
    return this.places[system][row] ?? -1;
  }

  /** The first system that has a segment, and its place there. */
  first(row) {
    const system = this.places.findIndex((of) => of[row] !== undefined);
    return [system, this.places[system][row]];
  }

  score(system, kind, metric, row) {
    const column = this.indexes[system].scores[kind]?.[metric];
    const place = this.place(system, row);
    return column && place >= 0 ? column[place] : null;
  }

  reference(row) {
    const [system, place] = this.first(row);
    return this.indexes[system].texts[2 * place];
  }

  words(row) {
    const [system, place] = this.first(row);
    return Object.values(this.indexes[system].counts)[0][0][place];
  }

  group(row) {
    const [system, place] = this.first(row);
    const { group, groups } = this.indexes[system];
    return group.length ? groups[group[place]] : "";
  }

  errors(system, kind, row) {
    const counts = this.indexes[system].counts[kind];
    const place = this.place(system, row);
    return counts && place >= 0 ? counts[1][place] + counts[2][place] + counts[3][place] : 0;
  }

  /** What is searched, in lower case; made when it is first asked for. */
  haystack(row) {
    this.haystacks ??= this.ids.map((id, at) => {
      const texts = this.indexes.flatMap((index, system) => {
        const place = this.place(system, at);
        return place < 0 ? [] : [index.texts[2 * place], index.texts[2 * place + 1]];
      });
      return [id, ...texts].join("\n").toLowerCase();
    });
    return this.haystacks[row];
  }

  /** What is shown of an opened segment by a system; the last few blocks are kept. */
  async detail(system, row) {
    const place = this.place(system, row);
    if (place < 0) return null;
    const starts = this.starts[system];
    let block = starts.length - 1;
    while (starts[block] > place) block -= 1;
    const key = `block-${system}-${block}`;
    const known = this.blocks.get(key) ?? unpack(key);
    this.blocks.delete(key);
    this.blocks.set(key, known);
    if (this.blocks.size > 8) this.blocks.delete(this.blocks.keys().next().value);
    return (await known)[place - starts[block]];
  }
}

/** The group of a reference by its length, as fstmetrics.statistics.breakdown has it. */
function lengthGroup(words) {
  if (words < 2) return String(words);
  const low = 2 ** Math.floor(Math.log2(words));
  return `${low}-${2 * low - 1}`;
}
