// Charts as SVG: lines, points over whole numbers, decision regions. Redrawn when their place changes its width.

const DASHES = [null, "6 3", "1.5 2.5", "6 3 1.5 3"];
const MARGIN = { top: 10, right: 14, bottom: 40, left: 52 };

function drawChart(place, chart) {
  if (chart.kind === "regions") return drawWhenSized(place, () => regionsOf(chart, place.clientWidth));
  const hidden = new Set();
  const body = element("div");
  const hasBands = chart.kind === "lines" && chart.series.some((series) => series.low.length > 0);
  const bands = element("input", { type: "checkbox", onchange: () => { chart.bands = bands.checked; redraw(); } });
  place.append(body, legendOf(chart, hidden, () => redraw()), ...(hasBands ? [element("label", { class: "check bands" }, bands, "show the middle half of the instances")] : []));
  const redraw = drawWhenSized(body, () => plotOf(chart, body.clientWidth, hidden));
  return redraw;
}

function drawWhenSized(place, draw) {
  let width = 0;
  const redraw = () => {
    if (place.clientWidth > 0) place.replaceChildren(draw());
  };
  new ResizeObserver(() => {
    if (place.clientWidth !== width) {
      width = place.clientWidth;
      redraw();
    }
  }).observe(place);
  return redraw;
}

function legendOf(chart, hidden, redraw) {
  const entries = chart.series.map((series, k) => {
    const sample = shape("svg", { width: 26, height: 12, role: "img", "aria-label": `line of ${series.name}` }, shape("title", {}, series.name));
    if (chart.kind !== "lines") sample.append(marker(k, 13, 6));
    else sample.append(shape("line", { x1: 1, x2: 25, y1: 6, y2: 6, ...lineStyle(k) }));
    const button = element("button", {
      type: "button", "aria-pressed": "true", title: "Show or hide",
      onclick: () => {
        if (!hidden.delete(k)) hidden.add(k);
        button.setAttribute("aria-pressed", String(!hidden.has(k)));
        redraw();
      },
    }, sample, shortened(series.name, 60));
    return button;
  });
  return element("div", { class: "legend" }, ...entries);
}

const lineStyle = (k) => ({
  style: `stroke:${colourOf(k)}`, "stroke-width": 2, fill: "none",
  "stroke-dasharray": DASHES[(Math.floor(k / COLOURS) + k) % DASHES.length],
});

function marker(k, x, y, size = 4.6) {
  const style = `fill:${colourOf(k)};stroke:var(--paper);stroke-width:.8`;
  const s = size;
  const corners = {
    1: [[-s, -s], [s, -s], [s, s], [-s, s]],
    2: [[0, -1.3 * s], [1.3 * s, 0], [0, 1.3 * s], [-1.3 * s, 0]],
    3: [[0, -1.2 * s], [1.15 * s, s], [-1.15 * s, s]],
    4: [[0, 1.2 * s], [1.15 * s, -s], [-1.15 * s, -s]],
  }[k % 5];
  if (!corners) return shape("circle", { cx: x, cy: y, r: s, style });
  return shape("polygon", { points: corners.map(([dx, dy]) => `${x + dx},${y + dy}`).join(" "), style });
}

function plotOf(chart, width, hidden) {
  if (chart.kind === "dots") return dotsOf(chart, width, hidden);
  const height = Math.round(Math.max(230, Math.min(330, width * 0.6)));
  const shown = chart.series.map((series, k) => [series, k]).filter(([, k]) => !hidden.has(k));
  const svg = shape("svg", { width, height, role: "img", "aria-label": `${chart.title}: ${chart.y_label} against ${chart.x_label}` }, shape("title", {}, chart.title));
  const all = chart.series.flatMap((series) => (chart.bands ? [...series.y, ...series.low, ...series.high] : series.y));
  const y = scaleOf(padded(all, chart.kind === "points" ? [1] : []), [height - MARGIN.bottom, MARGIN.top]);
  const xs = chart.series.flatMap((series) => series.x);
  const xRange = chart.kind === "points" ? [Math.min(...xs) - 0.5, Math.max(...xs) + 0.5] : [Math.min(...xs), Math.max(...xs)];
  const x = scaleOf(xRange, [MARGIN.left, width - MARGIN.right], chart.x_log);
  drawAxes(svg, chart, x, y, width, height, chart.kind === "points" ? [...new Set(xs)] : null);
  if (chart.kind === "points") drawPoints(svg, chart, shown, x, y);
  else drawLines(svg, chart, shown, x, y, width, height);
  return svg;
}

function padded(values, always) {
  const low = Math.min(...values, ...always);
  const high = Math.max(...values, ...always);
  const room = 0.05 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

function scaleOf([from, to], [start, end], isLog = false) {
  const map = isLog ? Math.log10 : (value) => value;
  const span = map(to) - map(from) || 1;
  const scale = (value) => start + ((map(value) - map(from)) / span) * (end - start);
  scale.invert = (place) => {
    const value = map(from) + ((place - start) / (end - start)) * span;
    return isLog ? 10 ** value : value;
  };
  scale.ticks = (count) => (isLog ? decades(from, to) : roundTicks(from, to, count));
  return scale;
}

function decades(from, to) {
  const ticks = [];
  for (let k = Math.ceil(Math.log10(from) - 1e-9); 10 ** k <= to * 1.000001; k += 1) ticks.push(Number(`1e${k}`));
  return ticks;
}

function roundTicks(from, to, count) {
  const raw = (to - from) / count;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= raw);
  const ticks = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + 1e-9 * step; k += 1) ticks.push(Number((k * step).toPrecision(10)));
  return ticks;
}

function drawAxes(svg, chart, x, y, width, height, xTicks) {
  const bottom = height - MARGIN.bottom;
  for (const value of y.ticks(5)) {
    svg.append(
      shape("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
      shape("text", { x: MARGIN.left - 7, y: y(value) + 4, "text-anchor": "end" }, number(value)));
  }
  for (const value of xTicks ?? x.ticks(Math.max(3, Math.floor(width / 90)))) {
    svg.append(
      shape("line", { class: "axis", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4 }),
      shape("text", { x: x(value), y: bottom + 17, "text-anchor": "middle" }, number(value)));
  }
  svg.append(
    shape("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    shape("text", { x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, chart.x_label),
    shape("text", { transform: `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.y_label));
}

const pathOf = (points, steps) =>
  points.map(([px, py], i) => (i === 0 ? `M${px},${py}` : steps ? `H${px}V${py}` : `L${px},${py}`)).join("");

function drawLines(svg, chart, shown, x, y, width, height) {
  for (const [series, k] of shown) {
    if (chart.bands && series.low.length > 0) {
      const up = series.x.map((value, i) => [x(value), y(series.high[i])]);
      const down = series.x.map((value, i) => [x(value), y(series.low[i])]).reverse();
      svg.append(shape("path", { d: `${pathOf([...up, ...down])}Z`, style: `fill:${colourOf(k)};opacity:.1` }));
    }
  }
  for (const [series, k] of shown) {
    const points = series.x.map((value, i) => [x(value), y(series.y[i])]);
    svg.append(shape("path", { d: pathOf(points, chart.steps), ...lineStyle(k) }));
    for (const [px, py] of series.marked) svg.append(marker(k, x(px), y(py)));
  }
  if (chart.current !== undefined && chart.current !== null) {
    svg.append(shape("line", { class: "current", x1: x(chart.current), x2: x(chart.current), y1: MARGIN.top, y2: height - MARGIN.bottom }));
  }
  const guide = shape("line", { class: "axis", y1: MARGIN.top, y2: height - MARGIN.bottom, "stroke-dasharray": "2 2", visibility: "hidden" });
  const area = shape("rect", {
    x: MARGIN.left, y: MARGIN.top, width: Math.max(0, width - MARGIN.left - MARGIN.right), height: height - MARGIN.top - MARGIN.bottom,
    fill: "transparent",
    onpointermove: (event) => {
      const at = x.invert(event.clientX - svg.getBoundingClientRect().left);
      guide.setAttribute("x1", x(at));
      guide.setAttribute("x2", x(at));
      guide.setAttribute("visibility", "visible");
      const lines = shown.map(([series]) => `${series.name}: ${number(valueAt(series, at))}`);
      showTip(event, [`${chart.x_label}: ${number(at, 3)}`, ...lines].join("\n"));
    },
    onpointerleave: () => {
      guide.setAttribute("visibility", "hidden");
      hideTip();
    },
  });
  svg.append(guide, area);
}

function valueAt(series, at) {
  let k = 0;
  while (k + 1 < series.x.length && series.x[k + 1] <= at) k += 1;
  return series.y[k];
}

function drawPoints(svg, chart, shown, x, y) {
  svg.append(shape("line", { class: "axis", x1: x.invert ? MARGIN.left : 0, x2: svg.getAttribute("width") - MARGIN.right, y1: y(1), y2: y(1), "stroke-dasharray": "5 4" }));
  const step = 0.7 / chart.series.length;
  for (const [series, k] of shown) {
    series.x.forEach((value, i) => {
      const point = marker(k, x(value + (k - (chart.series.length - 1) / 2) * step), y(series.y[i]));
      point.addEventListener("pointermove", (event) => showTip(event, `${series.labels[i]}\ndepth ${value}: ${number(series.y[i])}`));
      point.addEventListener("pointerleave", hideTip);
      svg.append(point);
    });
  }
}

function dotsOf(chart, width, hidden) {
  const row = 26;
  const names = chart.names.map((name) => shortened(name, 28));
  const left = 16 + 6.6 * Math.max(...names.map((name) => name.length));
  const height = MARGIN.top + row * chart.names.length + MARGIN.bottom;
  const svg = shape("svg", { width, height, role: "img", "aria-label": `${chart.title}: ${chart.x_label}` }, shape("title", {}, chart.title));
  const ends = chart.series.flatMap((series) => [...series.low, ...series.high]);
  const x = scaleOf(padded(ends, []), [left, width - MARGIN.right]);
  const bottom = height - MARGIN.bottom;
  for (const value of x.ticks(Math.max(2, Math.floor((width - left) / 80)))) {
    svg.append(
      shape("line", { class: "grid", x1: x(value), x2: x(value), y1: MARGIN.top, y2: bottom }),
      shape("text", { x: x(value), y: bottom + 16, "text-anchor": "middle" }, number(value)));
  }
  names.forEach((name, i) => svg.append(shape("text", { x: left - 10, y: MARGIN.top + row * (i + 0.5) + 4, "text-anchor": "end" }, name)));
  svg.append(shape("text", { x: (left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, chart.x_label));
  chart.series.forEach((series, k) => {
    if (hidden.has(k)) return;
    series.x.forEach((value, i) => {
      const y = MARGIN.top + row * (series.y[i] + 0.5) + 7 * (k - (chart.series.length - 1) / 2);
      const point = shape("g", {
        onpointermove: (event) => showTip(event, `${series.labels[i]}, ${series.name}: ${number(value)} ± ${number(series.high[i] - value, 2)}`),
        onpointerleave: hideTip,
      }, shape("line", { x1: x(series.low[i]), x2: x(series.high[i]), y1: y, y2: y, style: `stroke:${colourOf(k)}`, "stroke-width": 2 }), marker(k, x(value), y));
      svg.append(point);
    });
  });
  return svg;
}

function regionsOf(chart, width) {
  const [left, bottom] = [46, 34];
  const size = Math.min(width - left, 340);
  const around = 0.12;
  const scale = (value) => ((value + around) / (1 + 2 * around)) * size;
  const [across, up] = chart.feature_names.map((name) => shortened(name, 24));
  const whole = shape("svg", { width: size + left, height: size + bottom, role: "img", "aria-label": `Decision regions. ${chart.title}; ${up} against ${across}` }, shape("title", {}, chart.title));
  const svg = shape("g", { transform: `translate(${left} 0)` });
  whole.append(svg);
  for (const value of [0, 0.5, 1]) {
    whole.append(
      shape("text", { x: left + scale(value), y: size + 14, "text-anchor": "middle" }, number(value)),
      shape("text", { x: left - 6, y: size - scale(value) + 4, "text-anchor": "end" }, number(value)));
  }
  whole.append(
    shape("text", { x: left + size / 2, y: size + 29, "text-anchor": "middle" }, across),
    shape("text", { transform: `translate(9 ${size / 2}) rotate(-90)`, "text-anchor": "middle" }, up));
  for (const [x0, x1, y0, y1, label] of chart.rectangles) {
    svg.append(shape("rect", {
      x: scale(x0), y: size - scale(y1), width: scale(x1) - scale(x0), height: scale(y1) - scale(y0),
      style: `fill:${colourOf(label)};opacity:.18`,
    }));
  }
  const box = (2 * chart.radius * size) / (1 + 2 * around);
  for (const [x, y, label] of chart.samples) {
    svg.append(
      shape("rect", { x: scale(x) - box / 2, y: size - scale(y) - box / 2, width: box, height: box, style: `fill:none;stroke:${colourOf(label)};opacity:.3;stroke-width:.7` }),
      label === 0
        ? shape("circle", { cx: scale(x), cy: size - scale(y), r: 2.6, style: `fill:${colourOf(label)}` })
        : shape("rect", { x: scale(x) - 2.4, y: size - scale(y) - 2.4, width: 4.8, height: 4.8, style: `fill:${colourOf(label)}` }));
  }
  return whole;
}
