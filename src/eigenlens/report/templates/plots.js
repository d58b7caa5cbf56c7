// Figures: what was chosen -> data and layout -> Plotly.react. Nothing else draws.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const figures = read("figures");
const rows = read("about");
const darkOf = read("dark-of");
const config = { displayModeBar: false, responsive: true, typesetMath: false };
const PRINTED = 680; // pixels, the width of a sheet between its margins
const ARROWS = 12;
const view = { colour: 0, dark: false, printing: false };
const drawn = new Set();

const all = (selector) => [...document.querySelectorAll(selector)];
const of = (values, places) => places.map((i) => values[i]);
const spread = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v ?? 0)), 0);

// What to show of each row, as text that plotly takes for text: names and values come escaped.
const told = rows.names.map((name, i) =>
  [`row ${name}`, ...rows.columns.map((column, j) => `${column}: ${rows.values[i]?.[j] ?? ""}`)].join("<br>"));

// The rows in groups of one look each, by the column that was chosen for the colour.
function groups() {
  const colour = rows.colours[view.colour];
  const every = told.map((_, i) => i);
  const marker = { size: rows.size, opacity: rows.opacity };
  const again = (i, value) => (rows.columns.includes(colour.name) ? told[i] : `${told[i]}<br>${colour.name}: ${value}`);
  if (colour.levels) {
    return colour.levels.map((level, code) => {
      const some = every.filter((i) => colour.codes[i] === code);
      const look = { color: rows.classes[code] ?? rows.quiet, symbol: rows.symbols[code % rows.symbols.length] };
      return { name: level, rows: some, marker: { ...marker, ...look }, customdata: some.map((i) => again(i, level)) };
    }).filter((group) => group.rows.length);
  }
  if (colour.numbers) {
    const bar = { title: { text: colour.name, side: "right" }, thickness: 12, outlinewidth: 0 };
    const look = { color: colour.numbers, colorscale: "Cividis", showscale: true, colorbar: bar };
    const text = every.map((i) => again(i, colour.numbers[i] ?? "unknown"));
    return [{ rows: every, marker: { ...marker, ...look }, customdata: text }];
  }
  return [{ rows: every, marker: { ...marker, color: rows.accent }, customdata: told }];
}

// Columns of the table as arrows: the longest in this plane, as long as the points allow.
function arrows(figure, { x, y }, box) {
  const length = ({ loadings }) => Math.hypot(loadings[x], loadings[y]);
  const shown = [...figure.arrows].sort((a, b) => length(b) - length(a)).slice(0, ARROWS).filter(length);
  if (!shown.length) return [];
  const reach = (axis) => spread(figure.columns[axis]) / Math.max(...shown.map((one) => Math.abs(one.loadings[axis])), 1e-9);
  const scale = 0.85 * Math.min(reach(x), reach(y));
  const tips = shown.map(({ loadings }) => [scale * loadings[x], scale * loadings[y]]);
  const text = shown.map(({ name, loadings }) => `${name}<br>loadings ${loadings[x].toFixed(2)}, ${loadings[y].toFixed(2)}`);
  const look = { type: "scatter", showlegend: false, hovertemplate: "%{customdata}<extra></extra>" };
  const lines = {
    ...look,
    mode: "lines+markers",
    x: tips.flatMap(([at]) => [0, at, null]),
    y: tips.flatMap(([, at]) => [0, at, null]),
    customdata: text.flatMap((one) => [null, one, null]),
    hoverinfo: tips.flatMap(() => ["skip", "all", "skip"]),
    line: { ...figure.arrow, width: 1.2 },
    marker: { ...figure.arrow, symbol: "arrow", angleref: "previous", size: tips.flatMap(() => [0, 9, 0]), opacity: 1 },
  };
  const named = roomFor(tips, shown, figure, { x, y }, box);
  const names = {
    ...look,
    mode: "text",
    x: named.map(({ tip }) => tip[0]),
    y: named.map(({ tip }) => tip[1]),
    text: named.map(({ name }) => name),
    textposition: named.map(({ side }) => side),
    textfont: { size: 12 },
    hovertemplate: null,
    hoverinfo: "skip",
  };
  return [lines, names];
}

// The arrows whose names fit beside them, within the figure and clear of the names of longer ones.
function roomFor(tips, shown, figure, picks, box) {
  const pixels = { x: (box.clientWidth || 700) - 100, y: figure.layout.height - 110 };
  const at = (axis, i) => {
    const reach = [...figure.columns[picks[axis]], ...tips.map((tip) => tip[i])].filter(Number.isFinite);
    const [low, high] = reach.reduce(([least, most], v) => [Math.min(least, v), Math.max(most, v)], [0, 0]);
    return (value) => (pixels[axis] * (value - low)) / (high - low || 1);
  };
  const [across, upwards] = [at("x", 0), at("y", 1)];
  const taken = [];
  return tips.flatMap((tip, i) => {
    const { name } = shown[i];
    const [wide, high] = [7 * name.replace(/&[a-z]+;/g, "x").length + 4, 17];
    const [top, outwards] = [tip[1] >= 0, tip[0] >= 0];
    const inside = (start) => start >= 0 && start + wide <= pixels.x + 20;
    const start = (right) => across(tip[0]) - (right ? 0 : wide);
    const right = inside(start(outwards)) ? outwards : !outwards;
    const [left, low] = [start(right), upwards(tip[1]) - (top ? 0 : high)];
    const free = taken.every(([l, b, w]) => left > l + w || left + wide < l || low > b + high || low + high < b);
    if (!free || !inside(left)) return [];
    taken.push([left, low, wide]);
    return [{ tip, name, side: `${top ? "top" : "bottom"} ${right ? "right" : "left"}` }];
  });
}

// The figure as chosen, in light colours.
function built(box) {
  const figure = figures[box.id];
  const layout = structuredClone(figure.layout);
  const options = all(`select[data-figure="${box.id}"]`).map((one) => figure.selects[one.dataset.select].options[one.value]);
  const picks = Object.assign({}, figure.picks, ...options.map((option) => option.columns));
  const fields = Object.fromEntries(Object.entries(picks).map(([field, j]) => [field, figure.columns[j]]));
  for (const option of options) {
    for (const [path, value] of Object.entries(option.layout)) {
      const keys = path.split(".");
      keys.slice(0, -1).reduce((part, key) => part[key], layout)[keys.at(-1)] = value;
    }
  }
  layout.uirevision = JSON.stringify(picks); // a zoom lasts until the axes change
  if (view.printing) layout.width = PRINTED;
  if (figure.rows === "plain") return { data: [{ ...figure.data[0], customdata: told }], layout };
  if (figure.rows !== "coloured") {
    const narrow = figure.narrow && box.clientWidth < 600;
    if (narrow) Object.assign(layout.xaxis, figure.narrow.xaxis);
    return { data: figure.data.map((trace) => ({ ...trace, ...fields, ...(narrow ? figure.narrow.data : {}) })), layout };
  }
  const data = groups().map(({ rows: some, ...look }) => ({
    ...figure.data[0], ...look, x: of(fields.x, some), y: of(fields.y, some),
  }));
  layout.showlegend = data.length > 1;
  const wanted = document.querySelector(`input[data-arrows="${box.id}"]`);
  return { data: wanted?.checked ? [...data, ...arrows(figure, picks, box)] : data, layout };
}

// The same in the dark: every colour by its dark twin.
const twin = (value) => (Array.isArray(value) ? value.map(twin) : (darkOf[value] ?? value));
function themed(value, key = "") {
  if (/color(scale)?$/.test(key)) return twin(value);
  if (Array.isArray(value)) return value.map((one) => (one?.constructor === Object ? themed(one) : one));
  if (value?.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, themed(v, k)]));
}

function draw(box) {
  drawn.add(box);
  const { data, layout } = built(box);
  const dark = view.dark && !view.printing;
  Plotly.react(box, dark ? themed(data) : data, dark ? themed(layout) : layout, config);
}

// To be drawn again, in its new size, when it comes near.
function forget(box) {
  Plotly.purge(box);
  drawn.delete(box);
}

const redraw = (wanted = () => true) => drawn.forEach((box) => wanted(figures[box.id]) && draw(box));

for (const control of all("select[data-figure], input[data-arrows]")) {
  const box = document.getElementById(control.dataset.figure ?? control.dataset.arrows);
  control.addEventListener("change", () => draw(box));
}
// one choice of the colour for all figures
for (const select of all("select[data-colour]")) {
  select.addEventListener("change", () => {
    view.colour = Number(select.value);
    all("select[data-colour]").forEach((other) => { other.value = select.value; });
    redraw((figure) => figure.rows === "coloured");
  });
}

// A figure is drawn when it comes near.
const near = new IntersectionObserver(
  (entries) => entries.filter((one) => one.isIntersecting && !drawn.has(one.target)).forEach((one) => draw(one.target)),
  { rootMargin: "1000px" },
);
all(".plot").forEach((box) => near.observe(box));
