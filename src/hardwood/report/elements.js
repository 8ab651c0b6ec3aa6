// Elements and numbers: the small vocabulary of the page.

const report = JSON.parse(document.getElementById("data").textContent);

function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return String(value);
  return Number(value.toPrecision(digits)).toString();
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);

// The palette stands in the style sheet, once for light and once for dark pages.
const COLOURS = Number(getComputedStyle(document.documentElement).getPropertyValue("--colours"));
const colourOf = (k) => `var(--colour-${k % COLOURS})`;

const tip = document.getElementById("tip");

function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  // A modal dialog lies above everything outside of it, so the tip moves into the open one.
  const host = document.querySelector("dialog[open]") ?? document.body;
  if (tip.parentNode !== host) host.append(tip);
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 6))}px`;
  tip.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18}px`;
}

function hideTip() {
  tip.hidden = true;
}

function plainTable({ columns, rows, left = 1, bold = [] }) {
  const isBold = new Set(bold.map(([i, k]) => `${i},${k}`));
  const head = columns.map((name, k) => element("th", { class: k < left ? "text" : null, scope: "col" }, name));
  const body = rows.map((row, i) =>
    element("tr", {}, ...row.map((cell, k) =>
      element("td", { class: [k < left && "text", isBold.has(`${i},${k}`) && "best"].filter(Boolean).join(" ") || null },
        String(cell)))));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
}
