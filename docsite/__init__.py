"""What turns the Markdown of ``docs`` into a site: links, public names, docstrings, the notebook."""
