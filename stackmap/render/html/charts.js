"use strict";
// Puts charts that can be hovered in the place of the still ones, and a button at what is there to copy.
// The page says everything without it.
(() => {
  const HEIGHT = 190, NARROW = 320; // of a chart in a folded section, until it is opened
  const root = document.documentElement;
  const drawn = [];

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // As the tables have it: two digits when small, none when large.
  const number = (value) =>
    value == null ? "-" : value.toFixed(value < 100 ? 2 : value < 10000 ? 1 : 0);

  const clock = (seconds, chart) => {
    const [day, time] = new Date(seconds * 1000).toISOString().split("T");
    const long = chart.x[chart.x.length - 1] - chart.x[0] > 86400;
    return `${long ? `${day} ` : ""}${time.slice(0, 8)} UTC`;
  };

  const utc = (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC");

  const faded = (name) => {
    const share = Math.round(parseFloat(colour("--fade")) * 255);
    return colour(name) + share.toString(16).padStart(2, "0");
  };

  const said = (line) => (_, value, __, at) => {
    if (at == null) return "";
    const low = line.low[at], high = line.high[at];
    const range = low == null || (low === value && high === value) ? "" : ` (${number(low)} to ${number(high)})`;
    return number(value) + range;
  };

  const where = (chart) => (_, value) => {
    if (value == null) return "";
    if (chart.axis === "time") return clock(value, chart);
    if (chart.axis === "number") return String(value);
    const next = chart.axis === "hour" ? ":00 to " + chart.names[value] + ":59" : " or more";
    return chart.names[value] + next;
  };

  // In UTC and 24 hours, as everywhere on the page.
  const marks = (chart) => {
    if (chart.axis === "time")
      return { values: (_, at, __, ___, step) => at.map((seconds) => {
        const [day, time] = new Date(seconds * 1000).toISOString().split("T");
        return step < 60 ? time.slice(0, 8) : step < 86400 ? time.slice(0, 5) : day.slice(5);
      }), space: 60 };
    if (!chart.names.length) return {};
    return {
      splits: () => chart.x.filter((at) => at % Math.ceil(chart.x.length / 12) === 0),
      values: (_, at) => at.map((place) => chart.names[place] ?? ""),
    };
  };

  // Spans of the x axis behind the lines, at least 2 pixels wide.
  const shade = (chart) => (plot) => {
    plot.ctx.save();
    plot.ctx.fillStyle = faded("--warning");
    const { left, top, width, height } = plot.bbox;
    for (const [begin, end] of chart.shaded) {
      const from = Math.max(left, plot.valToPos(begin, "x", true));
      const to = Math.min(left + width, plot.valToPos(end, "x", true));
      plot.ctx.fillRect(from, top, Math.max(2, to - from), height);
    }
    plot.ctx.restore();
  };

  const options = (chart, width) => {
    const bars = chart.names.length > 0;
    const ink = colour("--soft"), rule = colour("--rule");
    const columns = [chart.x], series = [{ label: { time: "at", number: "report", hour: "hour", size: "size" }[chart.axis], value: where(chart) }], bands = [];
    chart.lines.forEach((line, place) => {
      const name = `--s${place}`;
      columns.push(line.mean);
      series.push({
        label: line.label, stroke: colour(name), width: 1.8, value: said(line),
        points: { show: chart.x.length <= 30, size: 4 },
        ...(bars && {
          fill: colour(name), width: 0, points: { show: false },
          paths: uPlot.paths.bars({ size: [0.8 / chart.lines.length, 60], align: chart.lines.length < 2 ? 0 : place ? 1 : -1 }),
        }),
      });
      if (line.high.length && !bars) {
        const at = series.length;
        for (const edge of [line.high, line.low]) {
          columns.push(edge);
          series.push({ label: "", class: "u-hidden", stroke: "transparent", width: 0, points: { show: false } });
        }
        bands.push({ series: [at, at + 1], fill: faded(name) });
      }
    });
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    return [{
      width, height: HEIGHT, series, bands, tzDate: utc, legend: { markers: { width: 0, fill: (u, i) => u.series[i].stroke() } },
      hooks: { drawClear: [shade(chart)] },
      cursor: { y: false, points: { size: 6 } },
      scales: {
        x: { time: chart.axis === "time", ...(bars && { range: [-0.6, chart.x.length - 0.4] }) },
        y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
      },
      axes: [
        { ...axis, size: 28, grid: { show: false }, ...marks(chart) },
        { ...axis, size: 52 },
      ],
    }, columns];
  };

  const draw = (place) => {
    const chart = JSON.parse(document.getElementById(place.dataset.chart).textContent);
    const [how, columns] = options(chart, place.parentElement.clientWidth || NARROW);
    place.replaceChildren();
    const plot = new uPlot(how, columns, place);
    place.parentElement.classList.add("live");
    return plot;
  };

  const drawAll = () => {
    drawn.splice(0).forEach((plot) => plot.destroy());
    for (const place of document.querySelectorAll("[data-chart]")) drawn.push(draw(place));
  };

  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  // Charts in a section get its width when it is opened. Paper gets all sections.
  const folded = document.querySelectorAll("details:not(.screen)");
  for (const each of folded) each.addEventListener("toggle", drawAll);
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...folded].filter((each) => !each.open);
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of closed) each.open = false; });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  const copy = async (pre, button) => {
    const text = pre.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      getSelection().selectAllChildren(pre);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };

  for (const pre of document.querySelectorAll("pre.copy")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copier";
    button.textContent = "Copy";
    button.addEventListener("click", () => copy(pre, button));
    pre.before(button);
  }
  drawAll();
})();
