// The page itself: tables, cards of charts, the list of fits with filters, and the dialog of one fit.

const COLUMNS = [
  { key: "dataset", title: "data set", text: true },
  ...(new Set(report.fits.map((fit) => fit.experiment)).size > 1 ? [{ key: "experiment", title: "experiment", text: true }] : []),
  { key: "method", title: "method", text: true },
  { key: "radius", title: "ε" },
  { key: "depth", title: "depth" },
  { key: "test_adversarial_accuracy", title: "test, attacked", show: percent },
  { key: "test_accuracy", title: "test", show: percent },
  { key: "train_adversarial_accuracy", title: "training, attacked", show: percent },
  { key: "objective", title: "errors" },
  { key: "bound", title: "bound" },
  { key: "gap", title: "gap", show: percent },
  { key: "status", title: "status", text: true },
  { key: "seconds", title: "seconds", show: (value) => value.toFixed(2) },
];
const FIRST_ROWS = 200;
const FILTERS = ["experiment", "dataset", "method", "radius", "depth", "status"];

const find = (id) => document.getElementById(id);
const state = { sort: "dataset", descending: false, filters: {}, text: "", folds: false, all: false };

function showAbout() {
  const told = report.experiments.find((one) => one.found.length);
  find("headline").textContent = told ? told.found[0] : "";
  find("about").textContent = [
    `${report.experiments.length} ${report.experiments.length === 1 ? "experiment" : "experiments"}, ${report.fits.length} fits, ${report.failures.length} failures.`,
    report.machines.length ? `Run on ${report.machines.join("; ")}.` : "",
  ].filter(Boolean).join(" ");
}

function showQuestions() {
  document.querySelector("#questions .cards").append(...report.experiments.map((one) => element("article", { class: "card", "data-experiment": one.name },
    element("h3", {}, one.title), element("p", {}, one.asked),
    one.found.length > 6 ? folded(one.found) : listOf(one.found.length ? one.found : ["Nothing has been run yet."]))));
  find("questions").hidden = report.experiments.length === 0;
}

const listOf = (texts) => element("ul", {}, ...texts.map((text) => element("li", {}, text)));

function folded(texts) {
  return element("div", {}, listOf(texts.slice(0, 5)), element("details", {}, element("summary", {}, `${texts.length - 5} more`), listOf(texts.slice(5))));
}

// Where a page holds several experiments, a title alone does not tell which one it is of.
function titled(title, experiment) {
  return report.experiments.length > 1 && title !== experiment ? `${experiment}: ${title}` : title;
}

function showTables() {
  const section = find("tables");
  for (const table of report.tables) {
    section.append(
      element("h3", {}, titled(table.title, table.experiment)),
      element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": table.title, "data-table": table.name }, plainTable(table)),
      ...table.notes.map((note) => element("p", { class: "note" }, note)));
  }
  section.hidden = report.tables.length === 0;
}

function showCharts() {
  const cards = document.querySelector("#charts .cards");
  for (const { name, experiment, panels } of report.charts) {
    const isRegions = panels[0].kind === "regions";
    const card = element("article", { class: panels.length > 1 || isRegions ? "card wide" : "card", "data-chart": name });
    const holder = element("div", { class: panels.length > 1 ? "panels" : null });
    if (panels.length > 1) card.append(element("h3", {}, titled("Decision regions, with the boxes an attacker can move samples in (dots: class 0, squares: class 1)", experiment)));
    card.append(holder);
    cards.append(card);
    for (const panel of panels) {
      const place = element("div");
      holder.append(element("div", {}, element("h3", {}, panels.length > 1 ? panel.title : titled(panel.title, experiment)), place));
      drawChart(place, panel);
    }
  }
  find("charts").hidden = report.charts.length === 0;
}

function showFilters() {
  const form = document.querySelector(".filters");
  const search = element("input", { type: "search", id: "search", placeholder: "any text", oninput: () => update({ text: search.value.toLowerCase() }) });
  form.append(element("label", {}, "search", search));
  for (const key of FILTERS) {
    const values = [...new Set(report.fits.map((fit) => fit[key]))].sort(compare);
    if (values.length < 2) continue;
    const select = element("select", { id: `filter-${key}`, onchange: () => update({ filters: { ...state.filters, [key]: select.value } }) },
      element("option", { value: "" }, "all"), ...values.map((value) => element("option", { value }, String(value))));
    form.append(element("label", {}, key === "dataset" ? "data set" : key === "radius" ? "ε" : key, select));
  }
  if (report.fits.some((fit) => fit.fold !== null)) {
    const box = element("input", { type: "checkbox", id: "folds", onchange: () => update({ folds: box.checked }) });
    form.append(element("label", { class: "check" }, box, "fits on folds too"));
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  find("more").addEventListener("click", () => update({ all: true }));
}

function update(change) {
  Object.assign(state, change);
  showRows();
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

function chosenFits() {
  const passes = (fit) =>
    (state.folds || fit.fold === null) &&
    FILTERS.every((key) => !state.filters[key] || String(fit[key]) === state.filters[key]) &&
    (!state.text || [fit.dataset, fit.method, fit.status, fit.stopped_by].join(" ").toLowerCase().includes(state.text));
  const sign = state.descending ? -1 : 1;
  return report.fits.filter(passes).sort((a, b) => sign * compare(a[state.sort], b[state.sort]) || compare(a.dataset, b.dataset) || a.radius - b.radius || a.depth - b.depth);
}

function showRows() {
  const fits = chosenFits();
  const shown = state.all ? fits : fits.slice(0, FIRST_ROWS);
  const head = COLUMNS.map((column) => {
    const sort = () => update({ sort: column.key, descending: state.sort === column.key && !state.descending });
    const direction = state.sort !== column.key ? "none" : state.descending ? "descending" : "ascending";
    return element("th", { class: column.text ? "text" : null, scope: "col", "aria-sort": direction, "data-key": column.key }, element("button", { type: "button", onclick: sort }, column.title));
  });
  const table = find("rows");
  const focused = document.activeElement?.closest?.("th")?.dataset.key;
  table.tHead.replaceChildren(element("tr", {}, ...head));
  if (focused) table.tHead.querySelector(`th[data-key="${focused}"] button`).focus();
  table.tBodies[0].replaceChildren(...shown.map(rowOf));
  find("count").textContent = `${fits.length} ${fits.length === 1 ? "fit" : "fits"}${shown.length < fits.length ? `, the first ${shown.length} shown` : ""}`;
  const more = find("more");
  more.hidden = shown.length === fits.length;
  more.textContent = `Show all ${fits.length}`;
}

function rowOf(fit) {
  const cells = COLUMNS.map(({ key, text, show }) => {
    let content = text ? fit[key] : show ? show(fit[key]) : number(fit[key]);
    if (key === "dataset" && fit.fold !== null) content += `, fold ${fit.fold + 1}`;
    if (key === "radius" && fit.radius_factor !== 1) content += ` (×${fit.radius_factor})`;
    return element("td", { class: [text && "text", key === "status" && content === "optimal" && "proof"].filter(Boolean).join(" ") || null }, String(content));
  });
  if (!fit.tree) return element("tr", { class: "closed" }, ...cells);
  const open = () => showDetail(fit);
  return element("tr", { tabindex: 0, onclick: open, onkeydown: (event) => event.key === "Enter" && open() }, ...cells);
}

function showDetail(fit) {
  const trained = fit.radius_factor === 1 ? "" : `, trained at ${fit.radius_factor} ε`;
  find("detail-title").textContent = `${fit.method} on ${fit.dataset}, ε = ${number(fit.radius)}, depth ${fit.depth}${trained}`;
  const facts = [
    ["test, attacked", percent(fit.test_adversarial_accuracy)],
    ["test", percent(fit.test_accuracy)],
    ["training, attacked", percent(fit.train_adversarial_accuracy)],
    ["training", percent(fit.train_accuracy)],
    ["training errors", `${number(fit.objective)} of ${fit.n_train}`],
    ["proven bound", number(fit.bound)],
    ["status", fit.status],
    ["ended by", fit.stopped_by],
    ["seconds", fit.seconds.toFixed(2)],
  ];
  find("facts").replaceChildren(...facts.map(([name, value]) => element("div", {}, element("span", {}, name), value)));
  find("detail").showModal();
  find("detail").scrollTop = 0;
  drawTree(find("tree"), fit, (k) => describeNode(find("node"), fit, k));
  const place = element("div");
  find("convergence").replaceChildren(place);
  drawChart(place, convergenceOf(fit));
}

function convergenceOf(fit) {
  const trace = fit.trace.map(([seconds, errors, bound]) => [Math.max(seconds, 1e-3), errors, bound]);
  const last = [Math.max(fit.seconds, 1.001e-3), fit.objective, fit.bound];
  const line = (name, k) => {
    const points = [...trace, last].filter((point) => point[k] !== null);
    return { name, x: points.map((point) => point[0]), y: points.map((point) => point[k]), low: [], high: [], labels: [], marked: [] };
  };
  return { kind: "lines", title: "Convergence", x_label: "seconds", y_label: "training errors", x_log: true, steps: true, series: [line("best tree", 1), line("proven bound", 2)] };
}

function showFailures() {
  if (report.failures.length === 0) return;
  const rows = report.failures.map(({ cell, error }) => [cell.dataset, cell.learner ? cell.learner.solver : cell.kind, cell.depth ?? "–", error]);
  find("failures").hidden = false;
  find("failures").append(element("div", { class: "scroll" }, plainTable({ columns: ["data set", "solver", "depth", "error"], rows, left: 4 })));
}

find("close").addEventListener("click", () => find("detail").close());
find("detail").addEventListener("click", (event) => event.target === find("detail") && find("detail").close());
find("detail").addEventListener("close", hideTip);
showAbout();
showQuestions();
showCharts();
showTables();
showFilters();
showRows();
showFailures();
