"""Entry point of `python -m controlplane`."""

import sys

from controlplane.cli import main

if __name__ == "__main__":
    sys.exit(main())
