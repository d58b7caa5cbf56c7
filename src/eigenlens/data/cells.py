"""Cells of text that a spreadsheet would run as formulas: written so that it shows them.

Spreadsheets take a cell that begins with = + - @ (or with a tab or a line end before them) for a
formula, which may call programs or addresses. The usual defence is an apostrophe in front. One
more is put before a cell that has them in front already, so that `plain` gives back what there was.
"""

from __future__ import annotations

import re

__all__ = ["NUMBER", "plain", "quoted"]

NUMBER = re.compile(r"\s*[-+]?((\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?|nan|inf)\s*$", re.IGNORECASE)
FORMULA = re.compile("'*[=+\\-@\t\r\n＝＋－＠]")  # also in the full width of East Asian letters


def quoted(cell: str) -> str:
    """Return a cell with an apostrophe in front if a spreadsheet would run it; numbers stay.

    >>> [quoted(cell) for cell in ("=1+1", "-3.5", "-x", "'=y", "height")]
    ["'=1+1", '-3.5', "'-x", "''=y", 'height']
    """
    return f"'{cell}" if FORMULA.match(cell) and not NUMBER.match(cell) else cell


def plain(cell: str) -> str:
    """Return what `quoted` was given.

    >>> [plain(cell) for cell in ("'=1+1", "-3.5", "''=y", "'height'")]
    ['=1+1', '-3.5', "'=y", "'height'"]
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell
