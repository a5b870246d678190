// A reader of the interchange format, version 1, written from docs/schema.md alone.
//
//   node reader.mjs FILE ...     what each file holds, as the expected contents are written
//
// JSON lines need nothing but Node; Arrow files need the package apache-arrow, in NODE_PATH or beside.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const VERSION = "fstmetrics.format";
const KINDS = { arcs: "lattice", nbest: "nbest", edges: "forest" };

class Refused extends Error {}
const refuse = (what) => {
  throw new Refused(what);
};
const need = (condition, what) => condition || refuse(what);

// ---- values of JSON -------------------------------------------------------------------------

// JSON.parse keeps the last of equal keys and takes halves of characters: both are refused.
function parseJson(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    refuse("not JSON");
  }
  refuseRepeatedKeys(text);
  (function walk(each) {
    if (typeof each === "string") need(each.isWellFormed(), "half a character");
    else if (Array.isArray(each)) each.forEach(walk);
    else if (each !== null && typeof each === "object") {
      for (const [key, inner] of Object.entries(each)) {
        walk(key);
        walk(inner);
      }
    }
  })(value);
  return value;
}

function refuseRepeatedKeys(text) {
  const open = []; // the keys of each object that is open; null for a list
  let expectsKey = false;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/gs)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token[0] === '"' && expectsKey) {
      const key = JSON.parse(token);
      need(!open.at(-1).has(key), "a key twice in one object");
      open.at(-1).add(key);
    }
    expectsKey = token === "{" || (token === "," && open.at(-1) !== null);
  }
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isWhole = (value) => Number.isSafeInteger(value);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function numbers(values, what) {
  for (const value of values) need(isNumber(value), what);
  return values;
}
function list(object, key, missing) {
  const value = key in object ? object[key] : missing;
  need(Array.isArray(value), `${key} is no list`);
  return value;
}
function featuresOf(value) {
  if (value === undefined || value === null) return {};
  need(isObject(value), "features are an object");
  numbers(Object.values(value), "a feature that is no number");
  return value;
}
const splitWords = (text) => text.split(/[ \t\n\r\f\v]+/).filter((word) => word !== "");

// ---- contents -------------------------------------------------------------------------------

const add = (sum, row) => {
  const found = { ...sum };
  for (const [name, value] of Object.entries(row)) found[name] = (found[name] ?? 0) + value;
  return found;
};

// All paths of a lattice: arcs are [src, dst, word, score, features].
function pathsOf({ states, start, arcs, finals, times }) {
  need(start >= 0 && start < states, "a start beyond the number of states");
  const out = Array.from({ length: states }, () => []);
  for (const arc of arcs) {
    need(isWhole(arc[0]) && isWhole(arc[1]), "a state is no whole number");
    for (const state of arc.slice(0, 2)) {
      need(state >= 0 && state < states, "a state that is none of them");
    }
    out[arc[0]].push(arc);
  }
  refuseCycles(states, arcs);
  const found = [];
  (function walk(state, words, score, features, when) {
    if (finals.has(state)) {
      const [last, row] = finals.get(state);
      found.push({ words, score: score + last, features: add(features, row), times: when });
    }
    for (const [, dst, word, more, row] of out[state]) {
      const next = word === "" ? words : [...words, word];
      walk(dst, next, score + more, add(features, row), times && [...when, times[dst]]);
    }
  })(start, [], 0, {}, times && [times[start]]);
  return found;
}

function refuseCycles(states, arcs) {
  const waiting = new Array(states).fill(0);
  for (const [, dst] of arcs) waiting[dst] += 1;
  const free = [...waiting.keys()].filter((state) => waiting[state] === 0);
  let met = 0;
  while (free.length > 0) {
    const state = free.pop();
    met += 1;
    for (const [src, dst] of arcs) if (src === state && --waiting[dst] === 0) free.push(dst);
  }
  need(met === states, "a cycle");
}

// All derivations of a node: edges are {head, tails, rhs, score, features}, nodes by position.
function derivationsOf({ nodes, root, edges }) {
  need(root >= 0 && root < nodes, "a root that is no node");
  for (const { head, tails, rhs } of edges) {
    for (const node of [head, ...tails]) {
      need(isWhole(node) && node >= 0 && node < nodes, "a node that is none of them");
    }
    const slots = rhs.filter((part) => typeof part === "number").sort((a, b) => a - b);
    need(slots.length === tails.length && slots.every((slot, place) => slot === place), "each tail has one slot");
  }
  const open = new Set();
  const known = new Map();
  const below = (node) => {
    need(!open.has(node), "a forest that contains itself");
    if (known.has(node)) return known.get(node);
    open.add(node);
    const found = [];
    for (const edge of edges.filter((each) => each.head === node)) {
      let some = [{ parts: [], score: edge.score, features: edge.features }];
      for (const tail of edge.tails) {
        const inner = below(tail);
        some = some.flatMap((one) =>
          inner.map((other) => ({
            parts: [...one.parts, other.words],
            score: one.score + other.score,
            features: add(one.features, other.features),
          })),
        );
      }
      for (const { parts, score, features } of some) {
        found.push({ words: edge.rhs.flatMap((part) => (typeof part === "number" ? parts[part] : [part])), score, features });
      }
    }
    open.delete(node);
    known.set(node, found);
    return found;
  };
  for (let node = 0; node < nodes; ++node) below(node);
  return below(root);
}

// ---- JSON lines -----------------------------------------------------------------------------

const COMMON = ["id", "src", "refs", "feature_names", "arcs", "nbest", "edges", VERSION];
const OWN = {
  lattice: [...COMMON, "states", "start", "finals", "final_features", "times"],
  nbest: [...COMMON, "states", "start", "finals", "final_features", "times"],
  forest: [...COMMON, "nodes", "root"],
};

function readObject(object) {
  need(isObject(object), "not an object");
  if (VERSION in object) need(object[VERSION] === 1 || object[VERSION] === "1", "a version that is not known");
  const which = Object.keys(KINDS).filter((key) => key in object);
  need(which.length <= 1, "two kinds in one object");
  const kind = KINDS[which[0]] ?? "lattice";
  const id = object.id ?? "";
  need(typeof id === "string" || isWhole(id), "an id that is neither text nor a whole number");
  need(typeof (object.src ?? "") === "string", "src is no text");
  const refs = "refs" in object ? "refs" : "references";
  const references = list(object, refs, []).map((each) => {
    if (typeof each === "string") return each;
    need(isObject(each), "a reference is neither text nor lattice");
    return { paths: readLattice(each).paths };
  });
  const names = list(object, "feature_names", []);
  need(names.every((name) => typeof name === "string") && new Set(names).size === names.length, "feature names are different texts");
  const metadata = Object.fromEntries(Object.entries(object).filter(([key]) => !OWN[kind].includes(key) && key !== refs));
  const read = { lattice: readLattice, nbest: readList, forest: readForest }[kind];
  return { kind, id: String(id), source: object.src ?? "", references, metadata, ...read(object) };
}

function readLattice(object) {
  need("arcs" in object, "no arcs");
  need(isObject(object.finals), "no finals");
  const arcs = list(object, "arcs").map((row) => {
    need(Array.isArray(row) && row.length >= 3 && row.length <= 5, "an arc has three to five entries");
    const [src, dst, word, score = 0, features] = row;
    need(isWhole(src) && isWhole(dst), "a state is no whole number");
    need(typeof word === "string", "a word is no text");
    numbers([score], "a score is no number");
    return [src, dst, word, score, featuresOf(features)];
  });
  const later = object.final_features ?? {};
  const finals = new Map();
  for (const [key, value] of Object.entries(object.finals)) {
    need(/^[0-9]{1,18}$/.test(key), "a final state is no number");
    let [score, features] = [value, later[key]];
    if (Array.isArray(value)) {
      need(value.length === 2 && features === undefined, "a final has a score, or a score and features");
      [score, features] = value;
    }
    numbers([score], "the score of a final is no number");
    finals.set(Number(key), [score, featuresOf(features)]);
  }
  for (const key of Object.keys(later)) need(finals.has(Number(key)), "features of a state that is not final");
  const start = object.start ?? 0;
  const most = Math.max(start, ...arcs.map((arc) => Math.max(arc[0], arc[1])), ...finals.keys());
  const states = object.states ?? most + 1;
  need(isWhole(start) && isWhole(states), "states are whole numbers");
  for (const state of finals.keys()) need(state < states, "a final state beyond the number of states");
  const times = object.times;
  if (times !== undefined) {
    numbers(list(object, "times"), "a time is no number");
    need(times.length === states, "a time for each state");
  }
  return { states, arcs: arcs.length, paths: pathsOf({ states, start, arcs, finals, times }) };
}

function readList(object) {
  const entries = list(object, "nbest").map((entry) => {
    need(isObject(entry), "an entry is no object");
    const { words, score = 0, features } = entry;
    numbers([score], "a score is no number");
    if (typeof words === "string") return { words: splitWords(words), score, features: featuresOf(features) };
    need(Array.isArray(words) && words.every((word) => typeof word === "string" && word !== ""), "an entry without words");
    return { words, score, features: featuresOf(features) };
  });
  return { entries };
}

function readForest(object) {
  let ids = null;
  let nodes = object.nodes;
  if (Array.isArray(nodes)) {
    need(nodes.every(isObject), "a node is no object");
    ids = new Map(nodes.map((node, place) => [node.id ?? place, place]));
    need(ids.size === nodes.length, "two nodes of one id");
    for (const key of ["cat", "span"]) {
      const count = nodes.filter((node) => key in node).length;
      need(count === 0 || count === nodes.length, `${key} of all nodes or of none`);
    }
    nodes = nodes.length;
  }
  need(isWhole(nodes), "nodes are a list or a number");
  const place = (node) => (ids === null ? node : ids.has(node) ? ids.get(node) : refuse("no node has this id"));
  const edges = list(object, "edges").map((edge) => {
    need(isObject(edge) && isWhole(edge.head), "an edge without head");
    const { tails = [], rhs, score = 0, features } = edge;
    need(Array.isArray(tails) && Array.isArray(rhs), "tails and rhs are lists");
    for (const part of rhs) need(typeof part === "string" || isWhole(part), "a part of an rhs");
    numbers([score], "a score is no number");
    // the empty word in a target side is no slot
    return { head: place(edge.head), tails: tails.map(place), rhs: rhs.filter((part) => part !== ""), score, features: featuresOf(features) };
  });
  const root = "root" in object ? place(object.root) : nodes - 1;
  return { nodes, edges: edges.length, derivations: derivationsOf({ nodes, root, edges }) };
}

function readJsonLines(path) {
  const lines = readFileSync(path, "utf8").split("\n").filter((line) => line.trim() !== "");
  return lines.map((line, number) => orError(() => named(readObject(parseJson(line)), number)));
}

// A segment without an id is called by its number.
const named = (segment, number) => (segment.id === "" ? { ...segment, id: String(number) } : segment);

function orError(read) {
  try {
    return read();
  } catch (problem) {
    if (problem instanceof Refused) return { error: problem.message };
    throw problem;
  }
}

// ---- Arrow ----------------------------------------------------------------------------------

const NEEDED = {
  lattice: ["label", "score", "src", "dst", "final"],
  nbest: ["label", "score", "offset"],
  forest: ["label", "score", "offset", "nodes", "head", "tail", "tail_offset", "slot"],
};
const WORDS = ["label", "category", "feature_names"];

// whole numbers of 64 bits come as BigInt
const plain = (value) => (typeof value === "bigint" ? Number(value) : value);

async function readArrow(path) {
  const require = createRequire(join(process.env.NODE_PATH ?? process.cwd(), "x.js"));
  const arrow = require("apache-arrow");
  const table = arrow.tableFromIPC(readFileSync(path));
  const version = table.schema.metadata.get(VERSION);
  need(version === undefined || version === "1", "a version that is not known");
  const names = table.schema.fields.map((field) => field.name);
  for (const name of ["label", "score"]) need(names.filter((each) => each === name).length === 1, `one column ${name}`);
  for (const name of WORDS) {
    const field = table.schema.fields.find((each) => each.name === name);
    if (field === undefined) continue;
    const type = field.type.children[0].type;
    const inner = arrow.DataType.isDictionary(type) ? type.dictionary : type;
    need(arrow.DataType.isUtf8(inner) || arrow.DataType.isLargeUtf8(inner), `${name} holds no words`);
  }
  return Array.from({ length: table.numRows }, (_, number) => {
    const row = {};
    for (const name of names) {
      const value = table.getChild(name).get(number);
      row[name] = value !== null && typeof value === "object" ? [...value].map(plain) : plain(value);
    }
    return orError(() => named(readRow(row), number));
  });
}

function readRow(row) {
  const has = (name) => row[name] !== undefined && row[name] !== null;
  const kind = row.kind ?? (has("head") ? "forest" : has("offset") ? "nbest" : "lattice");
  need(kind in NEEDED, "a kind that is not known");
  for (const name of NEEDED[kind]) need(has(name), `a null where a ${kind} needs ${name}`);
  numbers(row.score, "a score is no number");
  let metadata = {};
  if (has("metadata")) {
    metadata = parseJson(row.metadata);
    need(isObject(metadata), "metadata that is no object");
  }
  const lattices = [...(row.reference_lattices ?? [])];
  const references = (row.references ?? []).map((text) => {
    if (text !== null) return text;
    need(lattices.length > 0, "a null among the references, and no reference lattice");
    return { paths: readObject(parseJson(lattices.shift())).paths };
  });
  need(lattices.length === 0, "more reference lattices than nulls");
  const common = { kind, id: row.id ?? "", source: row.source ?? "", references, metadata };
  const names = row.feature_names ?? [];
  const features = matrix(row, "feature", row.score.length, names);
  if (kind === "lattice") {
    const states = row.final.length;
    for (const name of ["src", "dst", "label"]) need(row[name].length === row.score.length, "columns of different lengths");
    if (has("times")) need(row.times.length === states, "a time for each state");
    const ends = matrix(row, "final_feature", states, names);
    const finals = new Map();
    row.final.forEach((score, state) => score === -Infinity || finals.set(state, [...numbers([score], "a final"), ends[state]]));
    const arcs = row.src.map((src, arc) => [src, row.dst[arc], row.label[arc], row.score[arc], features[arc]]);
    const times = has("times") ? row.times : undefined;
    return { ...common, states, arcs: arcs.length, paths: pathsOf({ states, start: row.start ?? 0, arcs, finals, times }) };
  }
  const words = cut(row.label, row.offset, row.score.length);
  if (kind === "nbest") {
    return { ...common, entries: words.map((some, entry) => ({ words: some, score: row.score[entry], features: features[entry] })) };
  }
  need(row.head.length === row.score.length, "a head for each edge");
  const tails = cut(row.tail, row.tail_offset, row.head.length);
  const slots = [...row.slot];
  const edges = row.head.map((head, edge) => ({
    head,
    tails: tails[edge],
    rhs: words[edge].map((word) => (word === "" ? slots.shift() ?? refuse("fewer slots than empty words") : word)),
    score: row.score[edge],
    features: features[edge],
  }));
  need(slots.length === 0, "more slots than empty words");
  const root = row.root ?? row.nodes - 1;
  return { ...common, nodes: row.nodes, edges: edges.length, derivations: derivationsOf({ nodes: row.nodes, root, edges }) };
}

// The pieces of a column between offsets.
function cut(column, offset, count) {
  need(offset.length === count + 1 && offset[0] === 0 && offset.at(-1) === column.length, "offsets that do not cut the column");
  return Array.from({ length: count }, (_, piece) => {
    need(offset[piece] <= offset[piece + 1], "offsets that do not ascend");
    return column.slice(offset[piece], offset[piece + 1]);
  });
}

// The rows of a sparse matrix, as objects.
function matrix(row, name, height, names) {
  const parts = ["offset", "index", "value"].map((part) => row[`${name}_${part}`] ?? null);
  if (parts.every((part) => part === null)) return new Array(height).fill({});
  need(!parts.includes(null), "a part of the features is null, and another is not");
  const [offset, index, value] = parts;
  numbers(value, "a feature that is no number");
  const values = cut(value, offset, height);
  return cut(index, offset, height).map((some, at) => {
    need(some.every((place, k) => place >= 0 && place < names.length && (k === 0 || some[k - 1] < place)), "a feature beyond the names, or twice");
    return Object.fromEntries(some.map((place, k) => [names[place], values[at][k]]));
  });
}

// ---- the command ----------------------------------------------------------------------------

const found = {};
for (const path of process.argv.slice(2)) {
  try {
    const segments = path.endsWith(".arrow") ? await readArrow(path) : readJsonLines(path);
    found[path] = { segments };
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    found[path] = { error: problem.message };
  }
}
console.log(JSON.stringify(found));
