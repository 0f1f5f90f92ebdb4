"""Draw the README's picture from the JSON that a run leaves beside its report.

Run as: python docs/make_picture.py out/report.json docs/demo.svg
"""

import json
import sys
from pathlib import Path

from discreet.report import picture

source, target = map(Path, sys.argv[1:])
target.write_text(picture(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
