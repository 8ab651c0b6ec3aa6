"""Draw ``docs/drawings/growth.svg`` from what ``python -m benchmarks field.growth_rows`` and so on measured.

Run it as ``python -m benchmarks.draw_growth``. An empty marker is a run that its time limit ended.
"""

from __future__ import annotations

from pathlib import Path

from hardwood.plotting.style import colour_of, dash_of, marker_of, new_figure

HERE = Path(__file__).parent
COLUMNS = ("rows", "features", "classes", "depth")
SERIES = ("CPU s", "CPU s pycontree")
NAMES = ("hardwood", "pycontree")


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of the first table of a results file, by column."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def seconds_of(cell: str) -> tuple[float, bool]:
    """Return seconds and whether a limit ended the run: ``> 15 (gap 3%)``."""
    return float(cell.lstrip("> ").split(" ")[0]), cell.startswith(">")


def draw(results: Path, path: Path) -> None:
    """Draw one panel for each column that varies."""
    figure = new_figure(10, 3.0)
    panels = figure.subplots(1, len(COLUMNS), sharey=True)
    for axes, column in zip(panels, COLUMNS, strict=True):
        rows = read_rows(results / f"field-growth_{column}.md")
        at = [int(row[column]) for row in rows]
        for index, (series, name) in enumerate(zip(SERIES, NAMES, strict=True)):
            measured = [seconds_of(row[series]) for row in rows]
            colour, marker = colour_of(index), marker_of(index)
            axes.plot(at, [s for s, _ in measured], color=colour, linestyle=dash_of(index), label=name)
            for x, (seconds, is_cut) in zip(at, measured, strict=True):
                axes.plot(x, seconds, marker, color=colour, markerfacecolor="white" if is_cut else colour)
        axes.set_yscale("log")
        if column != "depth":
            axes.set_xscale("log")
        axes.set_xticks(at, [f"{x:,}" for x in at])
        axes.minorticks_off()
        axes.set_xlabel(column)
    panels[0].set_ylabel("CPU seconds")
    panels[0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(HERE / "results", HERE.parent / "docs" / "drawings" / "growth.svg")
