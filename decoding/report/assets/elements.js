// Elements of the page. What comes from files becomes text nodes and attribute values, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Give an element attributes, listeners (functions), styles (an object) and children. */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style")
      for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);

const fixed = (number, digits = 4) => (number === null || number === undefined ? "–" : number.toFixed(digits));
/** A score, in percent where the metric is a rate of errors or of matches. */
const scoreText = (score, { percent: rate }) =>
  (rate && score !== null && score !== undefined ? fixed(100 * score, 2) : fixed(score));
const signedText = (number, metric) =>
  (number > 0 ? "+" : number < 0 ? "−" : "±") + scoreText(Math.abs(number), metric);
const headingOf = ({ label, percent: rate }) => (rate ? `${label} %` : label);
const grouped = (number) => number.toLocaleString("en");
const percent = (share) => (100 * share).toFixed(share < 0.0995 ? 1 : 0) + " %";
const plural = (count, word) => `${grouped(count)} ${word}${count === 1 ? "" : "s"}`;

/** A p-value; one that is estimated by so many samples is never less than one of them. */
const pValue = (p) => (p < 0.0015 ? "p ≤ 0.001" : `p = ${p < 0.1 ? p.toFixed(3) : p.toFixed(2)}`);

/** A choice of one of many. */
const menu = (label, options, chosen, choose, attributes) =>
  h("select", { "aria-label": label, ...attributes, change: (event) => choose(options[event.target.selectedIndex][0]) },
    options.map(([value, text]) => h("option", { value: String(value), selected: value === chosen }, text)));

/** A choice of one of a few: buttons of which one is pressed; of more than four a menu. */
function choice(label, options, chosen, choose) {
  if (options.length > 4) return menu(label, options, chosen, choose);
  const buttons = options.map(([value, text]) =>
    h("button", {
      type: "button",
      "aria-pressed": String(value === chosen),
      click: () => {
        for (const each of buttons) each.setAttribute("aria-pressed", String(each === buttons[place(value)]));
        choose(value);
      },
    }, text));
  const place = (value) => options.findIndex(([other]) => other === value);
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

/** The width of text as the page would set it. */
const ruler = document.createElement("canvas").getContext("2d");
function textWidth(text, size = 14) {
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** What marks a kind of sentence besides its colour. */
const MARKS = { one_best: "■", mbr: "◆", oracle: "●" };
const mark = (kind) => h("span", { class: `mark ${kind}`, "aria-hidden": "true" }, MARKS[kind] ?? "○");
