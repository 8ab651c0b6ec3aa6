// A tree as SVG, and what an attacker can do at each of its nodes.

const NODE = { width: 132, height: 58, gapX: 12, gapY: 46 };

const sum = (values) => values.reduce((total, value) => total + value, 0);

function drawTree(place, fit, onChoose) {
  const { tree, nodes } = fit;
  const at = layout(tree);
  const columns = Math.max(...at.map((spot) => spot.column)) + 1;
  const rows = Math.max(...at.map((spot) => spot.row)) + 1;
  const width = columns * (NODE.width + NODE.gapX) + NODE.gapX;
  const height = rows * (NODE.height + NODE.gapY) - NODE.gapY + 24;
  const centre = (k) => NODE.gapX + at[k].column * (NODE.width + NODE.gapX) + NODE.width / 2;
  const top = (k) => 12 + at[k].row * (NODE.height + NODE.gapY);
  const svg = shape("svg", { width, height, role: "group", "aria-label": "Decision tree" }, shape("title", {}, "Decision tree"));
  const total = sum(nodes[0].reach) || 1;
  tree.left.forEach((left, k) => {
    if (left < 0) return;
    for (const [child, word] of isCategory(tree, k) ? [[left, "yes"], [tree.right[k], "no"]] : [[left, "≤"], [tree.right[k], ">"]]) {
      const x0 = centre(k), y0 = top(k) + NODE.height, x1 = centre(child), y1 = top(child), middle = (y0 + y1) / 2;
      svg.append(
        shape("path", { class: "tree-edge", d: `M${x0},${y0}C${x0},${middle} ${x1},${middle} ${x1},${y1}`, "stroke-width": 1 + (9 * sum(nodes[child].reach)) / total }),
        shape("text", { x: (x0 + x1) / 2 + (x1 < x0 ? -10 : 10), y: middle - 4, "text-anchor": "middle" }, word));
    }
  });
  const groups = tree.left.map((left, k) => nodeShape(fit, k, centre(k) - NODE.width / 2, top(k), () => choose(k)));
  const choose = (k) => {
    groups.forEach((group, i) => group.classList.toggle("chosen", i === k));
    onChoose(k);
  };
  svg.append(...groups);
  place.replaceChildren(svg);
  place.scrollLeft = centre(0) - place.clientWidth / 2;
  choose(0);
}

function layout(tree) {
  const at = [];
  let leaves = 0;
  const visit = (k, row) => {
    if (tree.left[k] < 0) {
      at[k] = { column: leaves, row };
      leaves += 1;
      return at[k].column;
    }
    const column = (visit(tree.left[k], row + 1) + visit(tree.right[k], row + 1)) / 2;
    at[k] = { column, row };
    return column;
  };
  visit(0, 0);
  return at;
}

// A split on a category asks "is it this one?", and its left side is yes.
const isCategory = (tree, k) => Boolean(tree.is_category?.[tree.feature[k]]);

const questionOf = (tree, k, digits) =>
  isCategory(tree, k) ? featureName(tree, tree.feature[k]) : `${featureName(tree, tree.feature[k])} ≤ ${number(tree.threshold[k], digits)}`;

const featureName = (tree, j) => (tree.feature_names ? tree.feature_names[j] : `x[${j}]`);

function nodeShape(fit, k, x, y, choose) {
  const { tree, nodes } = fit;
  const isLeaf = tree.left[k] < 0;
  const label = isLeaf ? `class ${tree.classes[tree.label[k]]}` : questionOf(tree, k, 3);
  const group = shape("g", {
    class: "tree-node", tabindex: 0, role: "button", "aria-label": `Node ${k}: ${label}`, "data-node": k, transform: `translate(${x} ${y})`,
    onclick: choose,
    onkeydown: (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose();
      }
    },
  });
  const text = isLeaf || isCategory(tree, k) ? shortened(label, 20) : `${shortened(featureName(tree, tree.feature[k]), 9)} ≤ ${number(tree.threshold[k], 3)}`;
  group.append(
    shape("title", {}, label),
    shape("rect", { class: "box", width: NODE.width, height: NODE.height, rx: isLeaf ? 16 : 6 }),
    shape("text", { x: NODE.width / 2, y: 20, "text-anchor": "middle", style: isLeaf ? `fill:${colourOf(tree.label[k])};font-weight:700` : null }, text));
  const node = nodes[k];
  const parts = isLeaf
    ? [[sum(node.reach) - node.lost, colourOf(tree.label[k])], [node.lost, "var(--fragile)"]]
    : [[sum(node.left), "var(--quiet)"], [sum(node.both), "var(--pushed)"], [sum(node.right), "var(--quiet)"]];
  drawBar(group, parts, 10, 28, NODE.width - 20);
  const caption = isLeaf ? `${sum(node.reach)} reach, ${node.lost} lost` : parts.map(([count]) => count).join(" | ");
  group.append(shape("text", { class: "small", x: NODE.width / 2, y: 50, "text-anchor": "middle" }, caption));
  return group;
}

function drawBar(group, parts, x, y, width) {
  const total = sum(parts.map(([count]) => count)) || 1;
  let from = x;
  for (const [count, colour] of parts) {
    const length = (width * count) / total;
    if (count > 0) group.append(shape("rect", { x: from, y, width: Math.max(1, length - 0.8), height: 8, style: `fill:${colour}` }));
    from += length;
  }
}

const sampleName = (sample) => (report.lines ? `line ${report.lines[sample]}` : `#${sample}`);

function describeNode(place, fit, k) {
  const { tree, nodes } = fit;
  const node = nodes[k];
  const classes = tree.classes.map((name) => `class ${name}`);
  if (tree.left[k] < 0) {
    place.replaceChildren(
      element("strong", {}, `Leaf ${k}: predicts class ${tree.classes[tree.label[k]]}`),
      element("p", {}, `${sum(node.reach)} samples can be made to end here; ${node.lost} of them are of another class and lost.`),
      plainTable({
        columns: ["", ...classes],
        rows: [["can reach this leaf", ...node.reach], ["reach no other leaf", ...node.certain]],
      }));
    return;
  }
  const name = featureName(tree, tree.feature[k]);
  const across = sum(node.both);
  place.replaceChildren(
    element("strong", {}, `Node ${k}: ${questionOf(tree, k, 6)}`),
    element("p", {}, `${sum(node.reach)} samples can be made to come by. An attacker can push ${across} of them across. ` +
      (node.margin === null || isCategory(tree, k) ? "" : `The nearest box that stays on one side ends ${number(node.margin, 3)} from the threshold (the margin).`)),
    plainTable({
      columns: ["", ...classes],
      rows: [["go left for certain", ...node.left], ["can be pushed across", ...node.both], ["go right for certain", ...node.right]],
    }));
  if (across > 0) {
    const rows = node.across.map(([sample, label, value, lost]) => [
      sampleName(sample), String(tree.classes[label]), number(value), number(Math.abs(value - tree.threshold[k]), 3), lost ? "yes" : "no",
    ]);
    place.append(
      element("p", {}, across > rows.length ? `The ${rows.length} of them nearest to the threshold:` : "These samples:"),
      element("div", { class: "scroll" }, plainTable({ columns: ["sample", "class", name, "distance", "lost"], rows, left: 2 })));
  }
}
