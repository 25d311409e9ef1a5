// Draws every chart of the page as wide as it may be, and again when that changes.
"use strict";

const DRAWING = {lines: drawLines, squares: drawSquares};

// The rows of a chart's table: what they are of, where that leads, the values in words.
function wordsOf(figure) {
  return [...figure.querySelectorAll("tbody tr")].map((row) => ({
    label: row.querySelector("th").textContent,
    link: row.querySelector("th a")?.getAttribute("href"),
    values: [...row.querySelectorAll("td")].map((cell) => cell.textContent),
  }));
}

for (const figure of document.querySelectorAll("figure[data-chart]")) {
  const numbers = JSON.parse(figure.querySelector("script").textContent);
  const plot = figure.querySelector(".plot");
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.floor(plot.clientWidth);
    if (!width || width === drawn) return;
    drawn = width;
    plot.replaceChildren(...DRAWING[figure.dataset.chart](figure, numbers, width));
  }).observe(plot);
}
