"""``python -m discreet`` is the command line."""

import sys

from discreet.cli import main

if __name__ == "__main__":
    sys.exit(main())
