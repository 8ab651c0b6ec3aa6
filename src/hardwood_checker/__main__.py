"""``hardwood-checker PROOF DATA.csv``: exit 0 proven, 1 refused, 2 unusable file or data."""

from __future__ import annotations

import argparse
import sys
import time

from hardwood_checker.checking import Verdict, check
from hardwood_checker.reading import Refused, Unusable


def main(arguments: list[str] | None = None) -> int:
    """Check a proof and say yes or no."""
    parser = argparse.ArgumentParser(prog="hardwood-checker", description="Checks a proof of hardwood against data.")
    parser.add_argument("proof", help="the proof, a .hwp file")
    parser.add_argument("data", help="the data, a CSV file with a header row")
    parser.add_argument("--explain", action="store_true", help="say what the proof consists of")
    parser.add_argument("--claim", type=int, metavar="N", help="show the way from the root to claim N")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(arguments)
    started = shown = time.monotonic()

    def watch(share: float) -> None:
        nonlocal shown
        if time.monotonic() - shown > 0.2 and sys.stderr.isatty() and not options.quiet:
            shown = time.monotonic()
            print(f"\r{share:6.1%} read, {shown - started:.0f} s ", end="", file=sys.stderr, flush=True)

    try:
        verdict = check(options.proof, options.data, watch=watch)
    except Refused as error:
        print(f"refused: {error}")
        return 1
    except (Unusable, MemoryError) as error:
        print(f"unusable: {error}", file=sys.stderr)
        return 2
    print(verdict)
    if options.explain:
        _explain(verdict)
    if options.claim is not None:
        _show_way(verdict, options.claim)
    return 0


def _explain(verdict: Verdict) -> None:
    print("records: " + ", ".join(f"{count} {kind}" for kind, count in sorted(verdict.records.items())))
    for depth in sorted({depth for depth, _ in verdict.ranges}, reverse=True):
        counts = sorted(((n, f) for (d, f), n in verdict.ranges.items() if d == depth), reverse=True)
        hardest = ", ".join(f"feature {f}: {n}" for n, f in counts[:5])
        print(f"depth {depth}: {sum(n for n, _ in counts)} ranges of thresholds (most for {hardest})")
    longest = sorted(range(1, len(verdict.claims)), key=lambda k: -_length(verdict, k))[:5]
    for k in longest:
        print(f"claim {k}: {_length(verdict, k)} records; {verdict.claims[k].what}")


def _length(verdict: Verdict, k: int) -> int:
    return verdict.claims[k].last_record - verdict.claims[k].first_record


def _show_way(verdict: Verdict, k: int) -> None:
    """Print the claims from the root to claim k, each with the range that it serves."""
    if not 0 <= k < len(verdict.claims):
        print(f"there is no claim {k}; they are numbered from 0 to {len(verdict.claims) - 1}")
        return
    way = [k]
    while way[-1] > 0:
        way.append(verdict.claims[way[-1]].above)
    for level, k in enumerate(reversed(way)):
        claim = verdict.claims[k]
        ended = "" if k == 0 else ", proven" if claim.is_proven else ", given up"
        print(f"{'  ' * level}claim {k}: {claim.what}{ended} (records {claim.first_record}–{claim.last_record})")


if __name__ == "__main__":
    sys.exit(main())
