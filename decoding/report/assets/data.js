// Data of the page: compressed, and unpacked when it is needed.

async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** The sentences of which there is one in each segment: a kind of a system, with a name. */
function answersOf({ systems, kinds, comparison }) {
  const several = ({ scores }) => Object.keys(scores).length > 1;
  return comparison.answers.map(([system, kind], number) => {
    const whose = systems.length > 1 || !several(systems[system]) ? systems[system].name : "";
    const what = several(systems[system]) ? kinds[kind] : "";
    return { number, system, kind, whose, what, name: [whose, what].filter(Boolean).join(" ") };
  });
}

/** The difference of two answers under a metric, from the one that is stored. */
function differenceOf({ comparison }, metric, one, other) {
  const effects = comparison.effects[metric];
  if (one < other) return effects[`${one}-${other}`];
  const found = effects[`${other}-${one}`];
  return found && { ...found, effect: -found.effect, interval: found.interval.map((end) => -end).reverse() };
}

/** The segments of all systems in one table: each has an id and its place in each system. */
class Segments {
  constructor(report, indexes) {
    this.report = report;
    this.indexes = indexes;
    this.answers = answersOf(report);
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

  get grouped() {
    return this.indexes.some(({ groups }) => groups.length > 0);
  }

  place(system, row) {
    return this.places[system][row] ?? -1;
  }

  /** The first system that has a segment, and its place there. */
  first(row) {
    const system = this.places.findIndex((of) => of[row] !== undefined);
    return [system, this.places[system][row]];
  }

  score({ system, kind }, metric, row) {
    const column = this.indexes[system].scores[kind][metric];
    const place = this.place(system, row);
    return column && place >= 0 ? column[place] : null;
  }

  /** Words of the reference, substitutions, insertions and deletions; null where there is no answer. */
  counts({ system, kind }, row) {
    const place = this.place(system, row);
    return place < 0 ? null : this.indexes[system].counts[kind].map((column) => column[place]);
  }

  errors({ system, kind }, row) {
    const place = this.place(system, row), counts = this.indexes[system].counts[kind];
    return place < 0 ? null : counts[1][place] + counts[2][place] + counts[3][place];
  }

  reference(row) {
    const [system, place] = this.first(row);
    return this.indexes[system].texts[2 * place];
  }

  /** What a system says, of several kinds of sentences the first. */
  text(system, row) {
    const place = this.place(system, row);
    return place < 0 ? null : this.indexes[system].texts[2 * place + 1];
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

  /** What is searched, in lower case: all there is, or one text; made when it is first asked for. */
  haystack(scope, row) {
    this.haystacks ??= new Map();
    if (!this.haystacks.has(scope)) {
      const texts = {
        all: (at) => [this.ids[at], this.reference(at), ...this.indexes.map((_, system) => this.text(system, at) ?? "")].join("\n"),
        reference: (at) => this.reference(at),
      };
      this.haystacks.set(scope, this.ids.map((_, at) => (texts[scope] ?? ((place) => this.text(scope, place) ?? ""))(at).toLowerCase()));
    }
    return this.haystacks.get(scope)[row];
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
