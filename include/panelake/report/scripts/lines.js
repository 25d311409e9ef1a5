// Line charts. Numbers come as JSON; what they are in words is read from the chart's own table.
"use strict";

const DASHES = [null, "7 3", "2 4", "10 3 2 3", null, "4 4", "12 5"];
const CLOCK = [["s", 1], ["min", 60], ["h", 3600], ["d", 86400]];

function drawLines(figure, numbers, width) {
  const at = d3.range(numbers.places.length);
  const place = numbers.places.map((one) => (numbers.timed ? new Date(one) : one));
  const rows = wordsOf(figure);
  const x = (i) => place[i];
  const follow = {x, maxRadius: Infinity};
  const values = valueAxis(numbers);
  const svg = Plot.plot({
    width,
    height: 200,
    marginLeft: 50,
    marginRight: 16,
    marginTop: 12,
    marginBottom: 38,
    style: {fontSize: "12px", overflow: "visible"},
    x: {type: numbers.timed ? "utc" : "linear", label: null, domain: d3.extent(widened(place))},
    y: {label: null, reverse: numbers.unit === "rank", domain: values.domain},
    marks: [
      Plot.gridY(values.ticks, {stroke: "var(--rule)", strokeOpacity: 1}),
      Plot.axisY(values.ticks, {tickSize: 0, tickFormat: values.say, label: null}),
      Plot.axisX({tickSize: 4, label: null, ticks: Math.max(2, Math.floor(width / 80)), tickFormat: numbers.timed ? clockTick : shortNumber}),
      ...numbers.series.flatMap((line, number) => linesOf(line, number, at, x, numbers.unit)),
      Plot.ruleX(at, Plot.pointerX({...follow, stroke: "var(--soft)"})),
      Plot.tip(at, Plot.pointerX({...follow, y: (i) => highest(numbers, i), title: (i) => said(figure, rows, i), stroke: "var(--rule)", pointerSize: 6, lineWidth: Math.min(24, width / 14)})),
    ],
  });
  return steered(figure, svg, rows, (i) => [svg.scale("x").apply(place[i]), svg.scale("y").apply(highest(numbers, i) ?? values.domain[0])]);
}

function linesOf(line, number, at, x, unit) {
  const known = (i) => line[i] !== undefined && line[i] !== null;
  const alone = at.filter((i) => known(i) && !known(i - 1) && !known(i + 1));
  const colour = `var(--s${number})`;
  return [
    Plot.lineY(at, {x, y: (i) => line[i] ?? NaN, stroke: colour, strokeWidth: 2, strokeDasharray: DASHES[number], curve: unit === "rank" ? "bump-x" : "linear", className: "line"}),
    Plot.dot(alone, {x, y: (i) => line[i], fill: colour, r: 3.5}),
  ];
}

// A place alone lies in the middle.
function widened(place) {
  return place.length > 1 ? place : [place[0] - 60000, +place[0] + 60000].map((one) => (place[0] instanceof Date ? new Date(one) : one));
}

function highest(numbers, i) {
  return d3.max(numbers.series, (line) => line[i]) ?? null;
}

function said(figure, rows, i) {
  const names = [...figure.querySelectorAll("thead th")].slice(1).map((cell) => cell.textContent);
  return [rows[i].label, ...names.map((name, n) => (names.length > 1 ? `${name}: ${rows[i].values[n]}` : rows[i].values[n]))].join("\n");
}

function valueAxis(numbers) {
  const known = numbers.series.flat().filter((value) => value !== null);
  let [low, high] = d3.extent(known);
  if (numbers.unit === "rank") return {domain: [0.6, numbers.series.length + 0.4], ticks: d3.range(1, numbers.series.length + 1), say: String};
  if (numbers.fromZero) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  const [suffix, size] = numbers.unit === "seconds" ? clockUnit(Math.max(-low, high)) : ["", 1];
  const scale = d3.scaleLinear([low / size, high / size], [0, 1]).nice(4);
  const say = (value) => (numbers.unit === "share" ? d3.format(".3~%")(value) : `${shortNumber(+(value / size).toPrecision(12))}${suffix && " " + suffix}`);
  return {domain: scale.domain().map((value) => value * size), ticks: scale.ticks(4).map((value) => value * size), say};
}

// The largest unit that the longest time is at least two of.
function clockUnit(longest) {
  return CLOCK.findLast(([, size]) => longest >= 2 * size) ?? CLOCK[0];
}

function shortNumber(value) {
  return Math.abs(value) >= 1000 ? d3.format(".4~s")(value) : String(+value.toPrecision(4));
}

// The time of day, with the day below where it begins; the day alone where no time of day is shown.
function clockTick(tick, number, ticks) {
  const day = d3.utcFormat("%Y-%m-%d"), midnight = (one) => +one === +d3.utcDay.floor(one);
  if (ticks.every(midnight)) return day(tick);
  const clock = d3.utcFormat(ticks.every((one) => +one === +d3.utcMinute.floor(one)) ? "%H:%M" : "%H:%M:%S")(tick);
  return number === 0 || day(ticks[number - 1]) !== day(tick) ? `${clock}\n${day(tick)}` : clock;
}

// The arrow keys move what the pointer would: the tip shows the place, and a reader of the screen hears it.
function steered(figure, svg, rows, pointOf) {
  let at = rows.length;
  const heard = document.createElement("p");
  heard.className = "unseen";
  heard.setAttribute("aria-live", "polite");
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${figure.querySelector("figcaption").textContent}, ${rows[0].label} to ${rows.at(-1).label}; arrow keys read it place by place`);
  svg.addEventListener("keydown", (event) => {
    const next = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: rows.length - 1}[event.key];
    if (next === undefined) return;
    event.preventDefault();
    at = Math.max(0, Math.min(rows.length - 1, next));
    const box = svg.getBoundingClientRect(), [x, y] = pointOf(at);
    svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + y, pointerType: "mouse", bubbles: true}));
    heard.textContent = said(figure, rows, at).replaceAll("\n", ", ");
  });
  svg.addEventListener("blur", () => svg.dispatchEvent(new PointerEvent("pointerleave", {pointerType: "mouse"})));
  return [svg, heard];
}
