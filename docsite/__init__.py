"""What turns the Markdown of ``docs`` into a site: links, names, docstrings, the notebook."""
