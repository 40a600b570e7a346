"""``python -m fastgate``: the command line."""

from fastgate.cli import main

if __name__ == "__main__":
    main()
