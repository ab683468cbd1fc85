"""python -m sqlanon"""

import sys

from sqlanon.cli import main

sys.exit(main())
