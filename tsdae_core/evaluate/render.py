"""A table as text, CSV, Markdown, LaTeX or JSON. Best in bold (text: a star behind), significance as a dagger."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

from tsdae_core.evaluate.table import SIGNIFICANT, Cell, Column, Table

DAGGER = "†"


def heading(column: Column) -> str:
    """A column's title in one line."""
    return f"{column.task} {column.metric}".strip()


def number(cell: Cell) -> str:
    """ "61.32", "61.32 ± 0.40" with several seeds, a dash where nothing was measured."""
    if cell.mean is None:
        return "–"
    return f"{cell.mean:.2f}" + (f" ± {cell.deviation:.2f}" if cell.deviation is not None else "")


def legend(table: Table) -> str:
    """What the marks mean; "" when there are none."""
    if not any(cell.differs for row in table.rows for cell in row.cells):
        return ""
    return (
        f"{DAGGER} differs from {table.rows[0].label} by more than chance (paired bootstrap, p < {SIGNIFICANT}, "
        "not corrected for many comparisons)"
    )


def as_text(table: Table) -> str:
    """For a terminal: aligned, a star at the best, notes below."""
    cells = [["", *(heading(column) for column in table.columns), "seconds"]]
    for row in table.rows:
        shown = [f"{number(c)}{'*' if c.best else ''}{DAGGER if c.differs else ''}" for c in row.cells]
        cells.append([row.label, *shown, f"{row.seconds:.1f}"])
    widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
    lines = [
        "  ".join(
            text.ljust(width) if place == 0 else text.rjust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    star = ["* best of the column"] if any(cell.best for row in table.rows for cell in row.cells) else []
    return "\n".join([*lines, "", *star, *([legend(table)] if legend(table) else []), *table.notes])


def as_csv(table: Table) -> str:
    """One line per system; per column its value, and its deviation and p-value where there are any."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    deviations = any(cell.deviation is not None for row in table.rows for cell in row.cells)
    names = []
    for column in table.columns:
        names += [
            heading(column),
            *([f"{heading(column)} std"] if deviations else []),
            f"{heading(column)} p",
        ]
    writer.writerow(["system", *names, "seconds"])
    for row in table.rows:
        cells: list[str] = []
        for cell in row.cells:
            cells.append("" if cell.mean is None else f"{cell.mean:.4f}")
            if deviations:
                cells.append("" if cell.deviation is None else f"{cell.deviation:.4f}")
            cells.append("" if cell.p is None else f"{cell.p:.4f}")
        writer.writerow([row.label, *cells, f"{row.seconds:.2f}"])
    return out.getvalue().rstrip("\n")


def as_markdown(table: Table) -> str:
    """For a README or an issue."""

    def clean(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")

    lines = [
        "| System | " + " | ".join(clean(heading(column)) for column in table.columns) + " |",
        "|---|" + "---:|" * len(table.columns),
    ]
    for row in table.rows:
        cells = [
            (f"**{number(cell)}**" if cell.best else number(cell)) + (DAGGER if cell.differs else "")
            for cell in row.cells
        ]
        lines.append(f"| {clean(row.label)} | " + " | ".join(cells) + " |")
    notes = [legend(table)] if legend(table) else []
    return "\n".join([*lines, "", *(f"{clean(note)}  " for note in [*notes, *table.notes])]).rstrip()


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def as_latex(table: Table) -> str:
    """A booktabs tabular."""

    def clean(text: str) -> str:
        return "".join(_LATEX.get(sign, sign) for sign in text)

    def shown(cell: Cell) -> str:
        text = number(cell).replace("±", r"$\pm$").replace("–", "--")
        return (rf"\textbf{{{text}}}" if cell.best else text) + (r"$^\dagger$" if cell.differs else "")

    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["System", *(clean(heading(column)) for column in table.columns)]) + r" \\",
        r"\midrule",
        *(
            " & ".join([clean(row.label), *(shown(cell) for cell in row.cells)]) + r" \\"
            for row in table.rows
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    notes = [legend(table).replace(DAGGER, r"$^\dagger$")] if legend(table) else []
    return "\n".join([*lines, *(f"% {note}" for note in [*notes, *table.notes])])


def as_json(table: Table) -> str:
    """Everything, for a program."""
    return json.dumps(table.data(), ensure_ascii=False, indent=2)


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": as_text,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
    "json": as_json,
}
