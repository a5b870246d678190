// The lattice where its paths differ: layers from left to right, the oracle straight through the middle.

const ON_ORACLE = 1, ON_BEST = 2, ON_MBR = 4, OF_REFERENCE = 8, FOLDED = 16;
const HEIGHTS = { word: 37, state: 22, bend: 14 };

/** States in even layers, a node for the word of each arc and bends in the layers between. */
function layered({ states, start, arcs }) {
  const rank = Array(states).fill(-1);
  rank[start] = 0;
  // likely words are near the oracle, by turns above and below it
  const side = new Map([...arcs].sort((one, other) => other[3] - one[3]).map((arc, place) => [arc, place % 2 ? place : -place]));
  // states are in topological order, and so are the arcs
  const ordered = arcs.map((arc, number) => ({ arc, number })).sort((one, other) => one.arc[0] - other.arc[0]);
  for (const { arc: [from, to] } of ordered) rank[to] = Math.max(rank[to], rank[from] + 1);
  const layers = Array.from({ length: 2 * Math.max(...rank) + 1 }, () => []);
  const nodes = [];
  const add = (layer, kind, more) => {
    const node = { layer, kind, ...more, side: more.spine ? 0 : side.get(more.arc) ?? 0, before: [], after: [], y: 0 };
    layers[layer].push(node);
    nodes.push(node);
    return node;
  };
  const link = (one, other) => {
    one.after.push(other);
    other.before.push(one);
  };
  const circles = rank.map((at, state) => (at < 0 ? null : add(2 * at, "state", { state })));
  const chains = ordered.map(({ arc }) => {
    const [from, to, , , marks] = arc;
    const first = 2 * rank[from] + 1, last = 2 * rank[to] - 1;
    const middle = first + 2 * Math.floor((last - first) / 4);
    const chain = [circles[from]];
    const spine = Boolean(marks & ON_ORACLE);
    if (spine) circles[from].spine = circles[to].spine = true;
    for (let layer = first; layer <= last; layer++) {
      const node = layer === middle ? add(layer, "word", { arc, spine }) : add(layer, "bend", { arc, spine });
      link(chain.at(-1), node);
      chain.push(node);
    }
    link(chain.at(-1), circles[to]);
    chain.push(circles[to]);
    return { arc, chain };
  });
  return { layers, nodes, chains, circles };
}

/** Put the nodes of a layer where their neighbours are, the oracle's at 0, without overlaps. */
function settle(layer, neighbours) {
  for (const node of layer) {
    const near = node[neighbours];
    node.wish = near.length ? near.reduce((sum, other) => sum + other.y, 0) / near.length : node.y;
  }
  layer.sort((one, other) => one.wish - other.wish || one.side - other.side);
  const middle = layer.findIndex((node) => node.spine);
  const from = middle < 0 ? 0 : middle;
  layer[from].y = middle < 0 ? layer[from].wish : 0;
  for (const [step, end] of [[1, layer.length], [-1, -1]]) {
    for (let at = from + step; at !== end; at += step) {
      const beside = layer[at - step], room = (HEIGHTS[layer[at].kind] + HEIGHTS[beside.kind]) / 2;
      layer[at].y = step > 0 ? Math.max(layer[at].wish, beside.y + room) : Math.min(layer[at].wish, beside.y - room);
    }
  }
}

const arcClass = (marks) => ["arc", marks & OF_REFERENCE && "reference", marks & FOLDED && "folded", marks & ON_ORACLE && "oracle", marks & ON_BEST && "one_best", marks & ON_MBR && "mbr"].filter(Boolean).join(" ");
const arcMarks = (marks) => [[ON_ORACLE, "oracle"], [ON_BEST, "one_best"], [ON_MBR, "mbr"]].filter(([bit]) => marks & bit).map(([, kind]) => kind);

function latticePicture(lattice) {
  const { layers, nodes, chains, circles } = layered(lattice);
  for (let sweep = 0; sweep < 12; sweep++) {
    const forwards = sweep % 2 === 0;
    for (const layer of forwards ? layers : [...layers].reverse()) settle(layer, forwards ? "before" : "after");
  }
  const label = ([, , word, , marks]) => {
    const words = marks & FOLDED ? word.split(" ") : [];
    return words.length > 2 ? `${words[0]} … ${words.at(-1)}` : word || (marks & OF_REFERENCE ? "∅" : "ε");
  };
  const wide = (node) => (node.kind === "word" ? textWidth(label(node.arc), 13) + 18 + 11 * arcMarks(node.arc[4]).length : node.kind === "state" ? 12 : 4);
  let x = 14;
  for (const layer of layers) {
    const width = Math.max(...layer.map(wide));
    for (const node of layer) node.x = x + width / 2;
    x += width + 16;
  }
  const top = Math.min(...nodes.map(({ y }) => y)) - 24, bottom = Math.max(...nodes.map(({ y }) => y)) + 24;
  const finals = new Set(lattice.finals);
  const lines = [], words = [];
  // those of the paths come last, and so on top
  for (const { arc, chain } of [...chains].sort((one, other) => one.arc[4] - other.arc[4] || one.arc[3] - other.arc[3])) {
    const [, , , posterior, marks] = arc;
    let path = `M${chain[0].x} ${chain[0].y}`;
    for (let at = 1; at < chain.length; at++) {
      const [one, other] = [chain[at - 1], chain[at]], half = (one.x + other.x) / 2;
      path += `C${half} ${one.y} ${half} ${other.y} ${other.x} ${other.y}`;
    }
    lines.push(s("path", { class: arcClass(marks), d: path, "stroke-width": (1 + 4 * posterior).toFixed(2) }));
    const node = chain.find(({ kind }) => kind === "word"), width = wide(node);
    words.push(s("g", { class: `word ${arcClass(marks)}${arc[2] || marks & OF_REFERENCE ? "" : " silent"}`, transform: `translate(${node.x} ${node.y})` },
      s("rect", { x: -width / 2, y: -11, width, height: 22, rx: 6 }),
      s("text", { class: "label", "text-anchor": "middle", y: 4.5 },
        arcMarks(marks).map((kind) => s("tspan", { class: `mark ${kind}` }, MARKS[kind])), arcMarks(marks).length > 0 && " ", label(arc)),
      !(marks & (OF_REFERENCE | FOLDED)) && s("text", { class: "posterior", "text-anchor": "middle", y: 22 }, posterior >= 0.005 ? posterior.toFixed(2).replace(/^0/, "") : "0"),
      s("title", null, marks & OF_REFERENCE ? `the reference: ${arc[2] || "nothing"}` : marks & FOLDED ? `all paths: ${arc[2]}` : `${label(arc)}: posterior ${posterior}`)));
  }
  const dots = circles.filter(Boolean).map(({ x: at, y, state }) => s("g", null,
    s("circle", { class: "state", cx: at, cy: y, r: 5 }), finals.has(state) && s("circle", { class: "state ring", cx: at, cy: y, r: 8 })));
  const width = Math.ceil(x), height = Math.ceil(bottom - top + 12);
  const apart = chains.filter(({ arc: [, , , , marks] }) => marks & OF_REFERENCE || !(marks & ON_BEST) !== !(marks & ON_ORACLE)).map(({ chain }) => chain[0].x);
  return h("div", { class: "picture", "data-at": Math.round(Math.min(...apart, width)), "data-middle": Math.round(-top), tabindex: 0, role: "region", "aria-label": "Lattice where paths differ" },
    s("svg", { class: "lattice", width, height, viewBox: `0 ${top} ${width} ${height}`, role: "img",
      "aria-label": `${lattice.arcs.length} of ${lattice.all} arcs` }, lines, dots, words));
}
