// Formulas that the Markdown extension arithmatex has marked, drawn by KaTeX.
function drawFormulas() {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const written = element.textContent.trim();
    // \( … \) in a line of text, \[ … \] alone
    const displayMode = written.startsWith("\\[");
    try {
      katex.render(written.slice(2, -2), element, { displayMode });
    } catch (error) {
      console.error(`formula can't be drawn: ${written}: ${error.message}`);
    }
  }
}

// What is wider than the page can be scrolled by keyboard, too, and the search has a name.
function helpKeyboards() {
  const boxes = "pre > code, div.arithmatex, .md-typeset__scrollwrap";
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
    }
  }
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
}

document.addEventListener("DOMContentLoaded", () => {
  drawFormulas();
  helpKeyboards();
});
