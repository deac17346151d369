// Formulas that the Markdown extension arithmatex has marked, drawn by KaTeX.
document.addEventListener("DOMContentLoaded", () => {
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
});
