"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const config = { displayModeBar: false, responsive: true, typesetMath: false };

function draw(box) {
  if (box.dataset.drawn) return;
  box.dataset.drawn = "yes";
  const { data, layout } = figures[box.id];
  Plotly.newPlot(box, data, layout, config);
}

// An option moves columns of the figure to its axes, one array for each trace.
function choose(box, figure, option) {
  draw(box);
  const moved = Object.entries(option.columns).map(([axis, j]) => [axis, figure.columns[j]]);
  Plotly.update(box, Object.fromEntries(moved), option.layout);
}

for (const select of document.querySelectorAll("select[data-figure]")) {
  const box = document.getElementById(select.dataset.figure);
  const figure = figures[box.id];
  select.addEventListener("change", () => {
    choose(box, figure, figure.selects[select.dataset.select].options[select.value]);
  });
}

// A figure is drawn when it comes near, and all of them for a printer.
const boxes = document.querySelectorAll(".plot");
const near = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target)),
  { rootMargin: "1000px" },
);
boxes.forEach((box) => near.observe(box));
window.addEventListener("beforeprint", () => boxes.forEach(draw));
