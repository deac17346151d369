"""``python -m herofilter.cli``: the command line without its script."""

from herofilter.cli import main

if __name__ == "__main__":
    main()
