"""A table of text and what it is written as: Markdown, CSV, LaTeX, even columns for a terminal."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field

NOTHING = "–"


@dataclass(frozen=True)
class TextTable:
    """Text in rows and columns.

    Attributes
    ----------
    title : str
    columns : list of str
    rows : list of list of str
    left : int
        The first so many columns are text, the others numbers.
    bold : set of (int, int)
        Row and column of the cells that stand out.
    notes : list of str
        What a reader must know to read the numbers right.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    left: int = 1
    bold: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def to_markdown(self) -> str:
        """Return a pipe table under its title, with the notes below."""
        rule = ["---" if k < self.left else "---:" for k in range(len(self.columns))]
        body = [
            [f"**{cell}**" if (i, k) in self.bold else cell for k, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        lines = ["| " + " | ".join(cells) + " |" for cells in [self.columns, rule, *body]]
        return "\n".join([f"### {self.title}", "", *lines, "", *(f"{note}  " for note in self.notes)]).rstrip() + "\n"

    def to_text(self) -> str:
        """Return columns of even width, for a terminal."""
        width = [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(w) if k < self.left else cell.rjust(w)
                for k, (cell, w) in enumerate(zip(row, width, strict=True))
            )
            for row in [self.columns, ["─" * w for w in width], *self.rows]
        ]
        return "\n".join([self.title, *(line.rstrip() for line in lines), *self.notes]) + "\n"

    def to_csv(self) -> str:
        """Return columns and rows, nothing else."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if cell == NOTHING else cell for cell in row] for row in self.rows)
        return text.getvalue()

    def to_latex(self) -> str:
        """Return a table in the style of the paper, for the package booktabs."""
        shape = "l" * self.left + "r" * (len(self.columns) - self.left)
        body = [
            [rf"\textbf{{{_latex(cell)}}}" if (i, k) in self.bold else _latex(cell) for k, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        lines = [" & ".join(cells) + r" \\" for cells in body]
        header = " & ".join(map(_latex, self.columns)) + r" \\"
        caption = _latex(" ".join([f"{self.title}.", *self.notes]))
        return "\n".join(
            [
                r"\begin{table}[tb]",
                r"    \centering",
                rf"    \caption{{{caption}}}",
                rf"    \begin{{tabular}}{{{shape}}}",
                r"    \toprule",
                f"    {header}",
                r"    \midrule",
                *(f"    {line}" for line in lines),
                r"    \bottomrule",
                r"    \end{tabular}",
                r"\end{table}",
                "",
            ]
        )


_LATEX = {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "±": r"$\pm$", "ε": r"$\epsilon$", "≤": r"$\le$", "–": "--"}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
