"""``python -m hardwood`` is the same as ``hardwood``."""

from __future__ import annotations

from hardwood.cli import main

main()
