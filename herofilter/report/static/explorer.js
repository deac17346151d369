"use strict";
// The node explorer: everything is put into the page as text, never as HTML.
function startExplorer(explorer, data) {
  const { nodes, centres, classes, parts } = explorer;
  const place = document.getElementById("explorer");
  const input = document.getElementById("explorer-id");
  const message = document.getElementById("explorer-message");
  const target = document.getElementById("explorer-node");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const MOST_DRAWN = 14, MOST_LISTED = 400;
  const rowOf = new Map(centres.node.map((node, row) => [nodes.id[node], row]));
  const next = { mistake: 0, uncertain: 0, random: 0 };
  let shown = null;

  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (key === "onclick") element.addEventListener("click", value);
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  function draw(tag, properties = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  const percent = (value) => (100 * value).toFixed(value > 0.995 || value < 0.1 ? 1 : 0) + " %";
  const className = (number) => (number < 0 ? "unknown" : classes[number]);
  const short = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);

  function colour(number) {
    const palette = dark.matches ? data.dark : data.colours;
    return palette[number % palette.length];
  }

  // what is known of a node's class: its label in training, else what is predicted for it
  const kindOf = (node) => (nodes.known[node] >= 0 ? nodes.known[node] : nodes.predicted[node]);

  function link(node) {
    const id = nodes.id[node];
    if (!rowOf.has(id)) return make("span", {}, id);
    return make("button", { type: "button", class: "link", onclick: () => show(rowOf.get(id), true) }, id);
  }

  function table(caption, titles, rows) {
    const head = make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)));
    const body = rows.map((cells) => make("tr", {}, ...cells.map((cell, column) =>
      column ? make("td", {}, cell) : make("th", { scope: "row" }, cell))));
    const made = make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body));
    return make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": caption }, made);
  }

  function probabilityBars(row) {
    const made = make("div", { class: "bars" });
    for (const [number, value] of centres.probabilities[row]) {
      const bar = make("i");
      bar.style.width = `${100 * value}%`;
      made.append(make("span", { class: "name" }, classes[number]),
        make("span", { class: "bar", "aria-hidden": "true" }, bar), make("span", {}, percent(value)));
    }
    return made;
  }

  // letters on a phone are larger beside the drawing
  const narrow = window.matchMedia("(max-width: 720px)");
  const longest = () => (narrow.matches ? 10 : 19);

  function dot(node, x, y, both) {
    const fill = colour(kindOf(node)), known = nodes.known[node] >= 0;
    const made = draw("g", {}, draw("circle", { cx: x, cy: y, r: 8, fill: known ? fill : "none", stroke: fill, "stroke-width": 2.5 }));
    if (both) made.append(draw("circle", { cx: x, cy: y, r: 12, fill: "none", stroke: "currentColor", "stroke-width": 1 }));
    return made;
  }

  function side(members, direction, others, title) {
    const drawn = members.slice(0, MOST_DRAWN), made = draw("g");
    const rest = members.length - drawn.length;
    made.append(draw("text", { x: 300 + direction * 285, y: 16, class: "soft", "text-anchor": direction > 0 ? "end" : "start" },
      title + (rest ? ` (${drawn.length} of ${members.length})` : "")));
    drawn.forEach((node, position) => {
      const angle = ((position + 0.5) / drawn.length - 0.5) * Math.PI * 0.94;
      const x = 300 + direction * (60 + 85 * Math.cos(angle)), y = 180 + 145 * Math.sin(angle);
      made.prepend(draw("line", { x1: 300, y1: 180, x2: x, y2: y, stroke: "currentColor", "stroke-opacity": 0.22 }));
      made.append(dot(node, x, y, others.has(node)),
        draw("text", { x: x + direction * 16, y: y + 4, "text-anchor": direction > 0 ? "start" : "end" }, short(nodes.id[node], longest())));
    });
    return made;
  }

  function picture(row, members, neighbours) {
    const node = centres.node[row];
    const inPatch = new Set(members), near = new Set(neighbours);
    const both = members.filter((member) => near.has(member)).length;
    const words = `Drawing: ${neighbours.length} neighbours in the graph on the left, ${members.length} nodes of the patch on the right, ${both} are both.`;
    const made = draw("svg", { viewBox: "0 0 600 350", role: "img", "aria-label": words, style: "color: var(--soft)" });
    made.append(side(neighbours, -1, inPatch, "neighbours in the graph"), side(members, 1, near, "chosen for the patch"), dot(node, 300, 180, false),
      draw("text", { x: 300, y: 206, "text-anchor": "middle", class: "own" }, short(nodes.id[node], longest())));
    return made;
  }

  function legend(members) {
    const kinds = [...new Set(members.map(kindOf))].sort((a, b) => a - b).slice(0, 12);
    const entries = kinds.map((number) => {
      const mark = make("i");
      mark.style.borderColor = mark.style.background = colour(number);
      return make("li", {}, mark, classes[number]);
    });
    return make("ul", { class: "legend" }, ...entries,
      make("li", {}, "filled: label known in training; hollow: predicted; double ring: in both"));
  }

  function verdict(node) {
    const label = nodes.label[node], predicted = nodes.predicted[node];
    const part = parts[nodes.part[node]];
    const said = `${nodes.id[node]}: predicted ${classes[predicted]} with ${percent(nodes.confidence[node])}`;
    if (label < 0) return `${said}; its label isn't known.`;
    return `${said}; its label is ${classes[label]} (${part}), so this is ${label === predicted ? "right" : "a mistake"}.`;
  }

  function show(row, focus) {
    shown = row;
    const node = centres.node[row];
    const entries = centres.members[row].map((member, position) =>
      ({ member, slot: explorer.slots[centres.slots[row][position]], score: centres.scores[row][position] }));
    const members = [...new Set(entries.map((entry) => entry.member))].filter((member) => member !== node);
    const neighbours = centres.neighbours[row];
    message.textContent = verdict(node);
    const left = make("div", {}, make("h3", {}, "What the model says"), probabilityBars(row));
    const near = centres.degree[row];
    const alike = neighbours.filter((other) => nodes.label[other] >= 0 && nodes.label[other] === nodes.label[node]).length;
    const known = neighbours.filter((other) => nodes.label[other] >= 0).length;
    if (nodes.label[node] >= 0 && known) {
      left.append(make("p", {}, `It has ${near} neighbour${near === 1 ? "" : "s"}; of the ${known} shown here whose label is known, ${alike} share its label.`));
    } else {
      left.append(make("p", {}, `It has ${near} neighbour${near === 1 ? "" : "s"}.`));
    }
    const right = make("div", {}, make("h3", {}, members.length ? "Its patch against its neighbours" : "Its neighbours"),
      picture(row, members, neighbours), legend([node, ...members, ...neighbours]));
    const blocks = [left, right];
    if (entries.length) {
      const near = new Set(neighbours);
      const ranks = {};
      const rows = entries.map(({ member, slot, score }) => [
        link(member), slot, member === node ? "" : String(ranks[slot] = (ranks[slot] || 0) + 1), score.toPrecision(3),
        nodes.known[member] >= 0 ? classes[nodes.known[member]] : "—",
        `${className(nodes.predicted[member])} (${percent(nodes.confidence[member])})`,
        member === node ? "itself" : near.has(member) ? "yes" : "no",
      ]);
      blocks.push(make("div", { class: "wide" }, table("The patch, in the order in which the model reads it",
        ["node", "chosen by", "rank", "score", "known label", "prediction", "a neighbour?"], rows)));
    }
    const explained = centres.explained[row];
    if (explained) {
      const said = make("ul", {}, ...explained.said.map((sentence) => make("li", {}, sentence)));
      const rows = explained.columns.map(([column, value, without]) => [column, value === null ? "–" : String(value), percent(without)]);
      blocks.push(make("div", { class: "wide" }, make("h3", {}, "Which columns counted"), said,
        table("Its own columns, the strongest first", ["column", "its value", `chance of ${classes[nodes.predicted[node]]} with an average value instead`], rows)));
    }
    target.replaceChildren(make("div", { class: "node" }, ...blocks));
    input.value = nodes.id[node];
    if (focus) message.focus({ preventScroll: false });
  }

  function pick(kind) {
    const found = explorer.picks[kind];
    if (!found.length) {
      message.textContent = `There is no ${kind === "mistake" ? "mistake" : kind + " node"} among the nodes of this page.`;
      return;
    }
    show(found[next[kind]++ % found.length], false);
  }

  document.getElementById("explorer-ids").append(
    ...centres.node.slice(0, MOST_LISTED).map((node) => make("option", { value: nodes.id[node] })));
  document.getElementById("explorer-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const asked = input.value.trim();
    const row = rowOf.get(asked) ?? rowOf.get(input.value);
    if (row !== undefined) show(row, false);
    else message.textContent = `“${asked}” isn't among the ${centres.node.length} nodes of this page.`;
  });
  for (const button of place.querySelectorAll("[data-pick]")) {
    button.addEventListener("click", () => pick(button.dataset.pick));
  }
  dark.addEventListener("change", () => { if (shown !== null) show(shown, false); });
  message.tabIndex = -1;
  place.hidden = false;
  const first = ["mistake", "uncertain", "random"].find((kind) => explorer.picks[kind].length);
  if (first) pick(first);
}
