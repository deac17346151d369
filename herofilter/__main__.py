"""``python -m herofilter``: the command line without the installed script."""

from herofilter.cli import main

if __name__ == "__main__":
    main()
