// The page to explore: two sliders choose a tree; everything else follows them.

const find = (id) => document.getElementById(id);
const distinct = (values) => [...new Set(values)].sort((a, b) => a - b);
const radii = distinct(report.cells.map((cell) => cell.radius));
const depths = distinct(report.cells.map((cell) => cell.depth));
const cellAt = (radius, depth) => report.cells.find((cell) => cell.radius === radius && cell.depth === depth);
const state = { radius: 0, depth: 0, row: null, onlyLost: true, label: "" };

// Where an interrupted run left a gap, the nearest tree that is there is shown.
function chosenCell() {
  const radius = radii[state.radius], depth = depths[state.depth];
  const away = (cell) => 1000 * Math.abs(cell.depth - depth) + Math.abs(cell.radius - radius);
  return cellAt(radius, depth) ?? [...report.cells].sort((a, b) => away(a) - away(b))[0];
}

const times = (radius) => (radius === 0 ? "no attack" : radius === 1 ? "the attack itself" : `${number(radius)} times the attack`);

function showControls() {
  const radius = find("radius"), depth = find("depth");
  radius.max = radii.length - 1;
  depth.max = depths.length - 1;
  const one = radii.indexOf(1);
  state.radius = one < 0 ? radii.length - 1 : one;
  state.depth = depths.length - 1;
  radius.value = state.radius;
  depth.value = state.depth;
  radius.addEventListener("input", () => update({ radius: Number(radius.value) }));
  depth.addEventListener("input", () => update({ depth: Number(depth.value) }));
  find("depth-control").hidden = depths.length < 2;
  radius.disabled = radii.length < 2;
}

function update(change) {
  Object.assign(state, change);
  const cell = chosenCell();
  find("radius-shown").textContent = times(cell.radius);
  find("radius").setAttribute("aria-valuetext", times(cell.radius));
  find("depth-shown").textContent = `${cell.depth} ${cell.depth === 1 ? "split" : "splits"} on a path`;
  find("depth").setAttribute("aria-valuetext", find("depth-shown").textContent);
  showHeadline(cell);
  showCurves(cell);
  showAttack(cell);
  showTree(cell);
  showChanges(cell);
  showSamples(cell);
}

function showHeadline(cell) {
  const heldOut = cell.test === null ? "" : ` On the ${report.n_test} held out: ${percent(cell.test.accuracy)} right as they are, ${percent(cell.test.attacked)} under attack.`;
  const bound = report.bounds.find((one) => one.radius === cell.radius);
  find("headline").replaceChildren(
    element("strong", {}, cell.radius === 0 ? `Nobody attacks: ${cell.n_lost} of ${report.n_train} samples are wrong.` : `Under ${times(cell.radius)} ${cell.n_lost} of ${report.n_train} samples are lost.`),
    ` ${percent(cell.train.attacked)} stay right whatever the attacker does; no model of any kind keeps more than ${bound ? percent(bound.bound) : "–"}, and always answering the most frequent class keeps ${percent(report.majority)}.${heldOut}`);
}

function curve(name, points, cell) {
  const kept = points.filter(([, y]) => y !== null && y !== undefined);
  const here = kept.filter(([x]) => x === cell.radius);
  return { name, x: kept.map(([x]) => x), y: kept.map(([, y]) => y), low: [], high: [], labels: [], marked: here };
}

function showCurves(cell) {
  const line = report.cells.filter((one) => one.depth === cell.depth);
  const series = [
    curve("no model keeps more", report.bounds.map((one) => [one.radius, one.bound]), cell),
    curve("this tree, attacked", line.map((one) => [one.radius, one.train.attacked]), cell),
    curve("this tree, as is", line.map((one) => [one.radius, one.train.accuracy]), cell),
  ];
  if (cell.test !== null) series.push(curve("held out, attacked", line.map((one) => [one.radius, one.test.attacked]), cell));
  const place = element("div");
  find("curves").replaceChildren(place);
  drawChart(place, {
    kind: "lines", title: `Accuracy over the strength of the attack, depth ${cell.depth}`, x_label: "strength of the attack (multiples)", y_label: "share that stays right",
    x_log: false, steps: false, series, current: cell.radius,
  });
  find("curves-hint").textContent = report.is_one_model
    ? "One tree under attacks of growing strength."
    : "At each strength the best tree for it is another one; points mark the one that is shown.";
}

const scaled = (value, radius) => (value === null ? null : value * radius);

function reachText({ name, down, up, changes, is_whole: isWhole }, radius) {
  const whole = isWhole ? ", in whole numbers" : "";
  if (changes) return `may change ${name} from ${changes.slice(0, 6).join(", from ")}${changes.length > 6 ? " and so on" : ""}`;
  const [least, most] = [scaled(down, radius), scaled(up, radius)];
  if (least === most) return least === null ? `may set ${name} to anything` : `may move ${name} by up to ${number(least, 3)} either way${whole}`;
  const parts = [];
  if (least !== 0) parts.push(least === null ? "lower it without limit" : `lower it by up to ${number(least, 3)}`);
  if (most !== 0) parts.push(most === null ? "raise it without limit" : `raise it by up to ${number(most, 3)}`);
  return `may take ${name} and ${parts.join(" or ")}${whole}`;
}

function showAttack(cell) {
  const every = report.attack.groups.length === 1;
  const blocks = report.attack.groups.map(({ classes, features }) => {
    const who = every ? "any sample" : `a sample of class ${classes.join(" or ")}`;
    if (cell.radius === 0 || features.length === 0) return [element("p", {}, `To ${who} the attacker can do nothing.`)];
    const texts = features.map((feature) => reachText(feature, cell.radius));
    const list = element("ul", { class: "moves" }, ...texts.map((text) => element("li", {}, text)));
    const shown = texts.length > 8 ? element("details", {}, element("summary", {}, `all ${texts.length} features`), list) : list;
    return [element("p", {}, `Of ${who} the attacker`), ...(texts.length > 8 ? [element("ul", { class: "moves" }, ...texts.slice(0, 4).map((text) => element("li", {}, text)))] : []), shown];
  });
  find("attack").replaceChildren(
    ...blocks.flat(),
    element("p", {}, "and knows the tree. A sample is lost if any such change makes the tree answer wrongly; all features may change at once."),
    ...(report.rows.some((row) => row.values.includes("missing")) ? [element("p", {}, "A missing value may be anything.")] : []),
    ...(report.attack.typed ? [element("p", { class: "hint" }, `Written as: --attack ${report.attack.typed}`)] : []));
}

function showTree(cell) {
  const seconds = cell.seconds === null ? "" : ` (${cell.seconds.toFixed(2)} s)`;
  find("proof").textContent = `${cell.leaves} ${cell.leaves === 1 ? "leaf" : "leaves"}; ${cell.proof}${seconds}.`;
  drawTree(find("tree"), cell, (k) => describeNode(find("node"), cell, k));
}

function showChanges(cell) {
  const title = find("changed-title"), list = find("changed");
  title.hidden = list.hidden = report.is_one_model || cell.changed === null;
  if (list.hidden) return;
  const lines = cell.changed.length ? cell.changed : ["Nothing: the same tree is best for both."];
  list.replaceChildren(...lines.map((text) => element("li", {}, text)));
}

function showSamples(cell) {
  const lost = new Set(cell.lost);
  const chosen = report.rows.map((row, i) => [row, i]).filter(([row, i]) => (!state.onlyLost || lost.has(i)) && (!state.label || row.label === state.label));
  // What an attacker takes comes before what is wrong anyway, and the most fragile first.
  const rank = (bears) => (bears === "none" ? 1e9 : bears === "any" ? 1e8 : bears);
  chosen.sort(([, a], [, b]) => rank(cell.bears[a]) - rank(cell.bears[b]) || a - b);
  const head = ["line", "class", "the tree says", "bears", "lost"].map((name, k) => element("th", { class: k < 3 ? "text" : null, scope: "col" }, name));
  const table = find("samples");
  const focused = document.activeElement?.closest?.("#samples tr")?.dataset.row;
  table.tHead.replaceChildren(element("tr", {}, ...head));
  table.tBodies[0].replaceChildren(...chosen.map(([row, i]) => element("tr", { "data-row": i, "aria-current": i === state.row ? "true" : null },
    element("td", { class: "text" }, element("button", { type: "button", class: "link", onclick: () => chooseRow(i) }, `line ${row.line}`)),
    element("td", { class: "text" }, row.label), element("td", { class: "text" }, cell.says[i]),
    element("td", {}, bearsText(cell.bears[i])), element("td", {}, lost.has(i) ? "lost" : ""))));
  if (focused) table.querySelector(`tr[data-row="${focused}"] button`)?.focus();
  const listed = report.rows.length < report.n_train ? ` (of ${report.rows.length} that are listed; ${cell.n_lost} of all ${report.n_train} are lost)` : "";
  find("count").textContent = `${chosen.length} ${chosen.length === 1 ? "sample" : "samples"}${listed}`;
  if (!chosen.some(([, i]) => i === state.row)) state.row = chosen.length ? chosen[0][1] : null;
  showSample(cell);
}

const bearsText = (bears) => (bears === "any" ? "any attack" : bears === "none" ? "wrong as it is" : `${number(bears, 3)} ×`);

function chooseRow(i) {
  state.row = i;
  for (const row of document.querySelectorAll("#samples tbody tr")) {
    if (Number(row.dataset.row) === i) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  showSample(chosenCell());
}

function showSample(cell) {
  const place = find("sample");
  if (state.row === null) return place.replaceChildren(element("p", {}, "No sample is lost here."));
  const row = report.rows[state.row], bears = cell.bears[state.row], changes = cell.changes[state.row];
  document.querySelector(`#samples tr[data-row="${state.row}"]`)?.setAttribute("aria-current", "true");
  const says = cell.says[state.row];
  const verdict = bears === "none" ? `The tree says ${says}, which is wrong without any attack.`
    : bears === "any" ? "No multiple of this attack changes the answer."
    : bears === 0 ? "The smallest attack changes the answer."
    : `It stays right up to ${number(bears, 4)} times the attack. ${bears >= cell.radius ? `Under ${times(cell.radius)} it is safe.` : `Under ${times(cell.radius)} it is lost.`}`;
  const used = new Set(cell.tree.feature.filter((j) => j >= 0).map((j) => cell.tree.feature_names[j].split(" = ")[0]));
  const values = report.features.map((name, j) => [name, row.values[j]]);
  place.replaceChildren(
    element("h3", {}, `Line ${row.line}: ${report.target} is ${row.label}`),
    element("p", {}, verdict),
    ...(bears !== "none" && changes.length
      ? [element("p", {}, element("strong", {}, "The cheapest attack on it: ")),
         element("ul", {}, ...changes.map(([name, before, after]) => element("li", {}, `${name} from ${before} to ${after}`)))]
      : []),
    element("details", {}, element("summary", {}, "Its features"),
      element("div", { class: "scroll" }, plainTable({ columns: ["feature", "value", "asked by the tree"], rows: values.map(([name, value]) => [name, value, used.has(name) ? "yes" : ""]), left: 1 }))));
}

function showAbout() {
  document.title = `hardwood: ${report.title}`;
  find("title").textContent = report.title;
  const heldOut = report.n_test === null ? "" : `, ${report.n_test} held out`;
  find("about").textContent = report.is_one_model
    ? `One model on ${report.n_train} samples, attacked with growing strength. What is said is exact. hardwood ${report.version}.`
    : `${report.n_train} samples to learn from${heldOut}. For each strength of the attack and each depth the tree that loses the fewest samples was searched for; each says whether that is proven. hardwood ${report.version}.`;
  const classes = [...new Set(report.rows.map((row) => row.label))].sort();
  find("which-class").append(element("option", { value: "" }, "all"), ...classes.map((label) => element("option", { value: label }, label)));
  find("which-class").addEventListener("change", (event) => update({ label: event.target.value }));
  find("only-lost").addEventListener("change", (event) => update({ onlyLost: event.target.checked }));
  find("which").addEventListener("submit", (event) => event.preventDefault());
}

showAbout();
showControls();
update({});
