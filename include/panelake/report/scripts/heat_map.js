// Heat maps of verdicts. Letters come as JSON; names, labels and links are read from the map's own table.
"use strict";

const KINDS = {p: ["passed", ""], w: ["warned", "!"], r: ["refused", "✗"], u: ["unaudited", "·"], m: ["missing", ""]};
const ROW = 24, AXIS = 36, LEAST = 14, GREATEST = 26;

function drawSquares(figure, {kinds}, width) {
  const names = [...figure.querySelectorAll("thead th")].slice(1).map((cell) => cell.textContent);
  const rows = wordsOf(figure);
  const labels = document.createElement("ul");
  labels.className = "names";
  labels.append(...names.map((name) => Object.assign(document.createElement("li"), {textContent: name, title: name})));
  const room = width - Math.min(200, width * 0.36);
  const step = Math.max(LEAST, Math.min(GREATEST, Math.floor(room / kinds.length)));
  const squares = kinds.flatMap((letters, column) => [...letters].map((letter, row) => ({column, row, kind: KINDS[letter], link: rows[column].link, title: `${rows[column].label}, ${names[row]}: ${rows[column].values[row]}`})));
  const svg = squaresPlot(squares, timesOf(rows, step), names.length, step);
  const scroll = document.createElement("div");
  scroll.className = "squares";
  scroll.append(svg);
  walked(svg, squares, names.length);
  // The newest is at the right end: there one begins.
  requestAnimationFrame(() => (scroll.scrollLeft = scroll.scrollWidth));
  return [labels, scroll];
}

// The times below the squares, as many as have room: the day where it begins, else the time of day alone.
function timesOf(rows, step) {
  const every = Math.ceil(84 / step);
  const labelled = d3.range(0, rows.length, every).filter((i) => i === 0 || (rows.length - i) * step >= 76);
  const [day, clock] = [0, 1].map((part) => rows.map((row) => row.label.split(" ")[part]));
  const text = (i, n) => (n === 0 || n === labelled.length - 1 || day[labelled[n - 1]] !== day[i] ? `${clock[i]}\n${day[i]}` : clock[i]);
  return {count: rows.length, labels: new Map(labelled.map((i, n) => [i, text(i, n)]))};
}

function squaresPlot(squares, times, count, step) {
  const place = {x: "column", y: "row"};
  const hollow = (one) => one.kind[0] === "unaudited" || one.kind[0] === "missing";
  const mark = (one) => one.kind[1];
  return Plot.plot({
    width: Math.max(times.count * step, 76) + 12,
    height: count * ROW + AXIS,
    margin: 0,
    marginBottom: AXIS,
    marginRight: Math.max(0, 76 - times.count * step) + 12,
    style: {fontSize: "12px"},
    x: {type: "band", domain: d3.range(times.count), padding: 0, label: null},
    y: {type: "band", domain: d3.range(count), padding: 0, label: null, axis: null},
    marks: [
      Plot.axisX({tickSize: 4, label: null, ticks: [...times.labels.keys()], tickFormat: (i) => times.labels.get(i), textAnchor: "start", dx: -step / 2}),
      Plot.cell(squares, {...place, inset: 1, rx: 3, href: "link", title: "title", className: "cells", fill: (one) => (hollow(one) ? "var(--card)" : `var(--${one.kind[0]})`), stroke: (one) => (hollow(one) ? "var(--soft)" : "none"), strokeDasharray: "3 2"}),
      Plot.text(squares.filter(mark), {...place, text: mark, fill: (one) => (hollow(one) ? "var(--text)" : "var(--on-mark)"), fontWeight: 700, pointerEvents: "none"}),
    ],
  });
}

// One stop for the tab key, the newest slice as a whole; arrow keys go on from there.
function walked(svg, squares, count) {
  const links = new Map();
  const drawn = svg.querySelectorAll(".cells rect");
  squares.forEach((one, number) => {
    const link = drawn[number].closest("a");
    if (!link) return;
    link.setAttribute("aria-label", one.title);
    link.setAttribute("tabindex", "-1");
    links.set(`${one.column} ${one.row}`, link);
    link.addEventListener("keydown", (event) => {
      const [right, down] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key] ?? [];
      if (right === undefined) return;
      event.preventDefault();
      for (let x = one.column + right, y = one.row + down; x >= 0 && y >= 0 && x <= squares.at(-1).column && y < count; x += right, y += down) {
        const next = links.get(`${x} ${y}`);
        if (next) return moved(link, next);
      }
    });
  });
  const newest = squares.findLast((one) => one.row === 0 && one.link);
  if (newest) links.get(`${newest.column} 0`).setAttribute("tabindex", "0");
}

function moved(from, to) {
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}
