"use strict";
// Unpacks the page's data, draws its charts in the colours of the page, and starts the explorer.
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 720px)");
  const SEQUENTIAL = ["#f4f8f8", "#00697a"];
  const SEQUENTIAL_DARK = ["#222b30", "#4cc3d5"];

  async function unpack() {
    const packed = atob(document.getElementById("packed").textContent.trim());
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function variable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // the colours of a trace are those of the light page; a dark one has its own for each
  function recoloured(trace, data, isDark) {
    const copy = { ...trace };
    const swap = (colour) => (isDark && data.colours.includes(colour) ? data.dark[data.colours.indexOf(colour)] : colour);
    for (const key of ["line", "marker"]) {
      if (copy[key]) copy[key] = { ...copy[key], color: swap(copy[key].color) };
    }
    if (copy.error_y) copy.error_y = { ...copy.error_y, color: copy.type === "bar" ? variable("--ink") : undefined, thickness: 1.2, width: 3 };
    if (copy.type === "heatmap" && copy.texttemplate) {
      const [low, high] = isDark ? SEQUENTIAL_DARK : SEQUENTIAL;
      copy.colorscale = [[0, low], [1, high]];
      copy.showscale = false;
    }
    return copy;
  }

  function themed(layout) {
    const ink = variable("--ink"), grid = variable("--grid"), line = variable("--line");
    const copy = {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, size: 12, family: "system-ui, sans-serif" },
      margin: { t: 12, r: 14, b: 12, l: 12 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      hoverlabel: { bgcolor: variable("--card"), bordercolor: line, font: { color: ink } },
      dragmode: false,
    };
    for (const key of Object.keys(layout).filter((name) => /^[xy]axis/.test(name))) {
      copy[key] = { ...layout[key], gridcolor: grid, zerolinecolor: line, linecolor: line, automargin: true };
      if (narrow.matches && layout[key].type !== "category") copy[key].nticks = 6;
    }
    for (const key of Object.keys(layout).filter((name) => /^scene/.test(name))) {
      // from far enough away that no corner is cut off
      copy[key] = { ...layout[key], bgcolor: "rgba(0,0,0,0)", aspectmode: "cube", camera: { eye: { x: 1.7, y: 1.7, z: 0.9 } } };
      for (const axis of ["xaxis", "yaxis", "zaxis"]) {
        copy[key][axis] = { ...layout[key][axis], color: ink, gridcolor: line, zerolinecolor: line };
      }
      copy.dragmode = "turntable";
    }
    return copy;
  }

  // the scheme is written on the page once all charts have its colours
  async function draw(data, isDark) {
    const drawn = [];
    for (const place of document.querySelectorAll("[data-figure]")) {
      const figure = data.figures[place.dataset.figure];
      const traces = figure.data.map((trace) => recoloured(trace, data, isDark));
      const layout = themed(figure.layout);
      layout.showlegend = traces.filter((trace) => trace.showlegend && trace.name).length > 1;
      drawn.push(Plotly.react(place, traces, layout, { responsive: true, displayModeBar: false }));
    }
    await Promise.all(drawn);
    document.documentElement.dataset.drawn = isDark ? "dark" : "light";
  }

  async function start() {
    const data = await unpack();
    if (data.explorer) startExplorer(data.explorer, data);
    await draw(data, dark.matches);
    dark.addEventListener("change", () => draw(data, dark.matches));
    window.addEventListener("beforeprint", () => draw(data, false));
    window.addEventListener("afterprint", () => draw(data, dark.matches));
  }

  start().catch((error) => {
    document.getElementById("unpacking-failed").hidden = false;
    console.error(error);
  });
})();
