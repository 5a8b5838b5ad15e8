"""python -m rowsocket_bench: see scripts/bench."""

import sys

from .cli import main

sys.exit(main())
