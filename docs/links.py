"""Links that lead out of the repository: which there are, whether they can be right, and, online, whether they answer.

``make linkcheck`` asks every one of them; tests, which may run where there is no internet, look at their form alone.
"""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"https?://[^\s\])>\"'`,;]+")
PLACES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "pyproject.toml", "docs/*.md", "src/**/*.py")
HOSTS = {"docs.dask.org", "jobqueue.dask.org", "www.gurobi.com"}
"""Hosts that somebody has looked at; a link to another is added here by whoever writes it."""

NAMES = {"http://www.w3.org/2000/svg"}
"""Texts that look like links and are names."""


def links() -> Iterator[tuple[Path, str]]:
    """Return every link with the file in which it stands."""
    for place in PLACES:
        for path in sorted(ROOT.glob(place)):
            for link in LINK.findall(path.read_text(encoding="utf-8")):
                if link.rstrip(".") not in NAMES:
                    yield path.relative_to(ROOT), link.rstrip(".")


def faults(link: str) -> list[str]:
    """Return what is wrong with the form of a link."""
    parts = urlsplit(link)
    found = [] if parts.scheme == "https" else ["not https"]
    if parts.hostname not in HOSTS:
        found.append(f"the host {parts.hostname} is not among those of docs/links.py")
    return found


def silence(link: str) -> str | None:
    """Ask for a link; return why it does not answer, or None if it does."""
    request = urllib.request.Request(link, headers={"User-Agent": "hardwood-linkcheck"})
    try:
        with urllib.request.urlopen(request, timeout=20):
            return None
    except urllib.error.HTTPError as error:
        # Who forbids programs to look is there.
        return None if error.code in (401, 403, 429) else f"answers {error.code}"
    except OSError as error:
        return str(error)


def main() -> int:
    """Ask for all links and say which fail; return how many."""
    failed = 0
    for path, link in sorted(set(links())):
        wrong = faults(link) or [reason for reason in [silence(link)] if reason is not None]
        print(f"{'wrong' if wrong else 'fine':5}  {path}: {link}  {'; '.join(wrong)}".rstrip())
        failed += bool(wrong)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
