"""Rows that are there more than once."""

from __future__ import annotations

from .table import Table

__all__ = ["duplicates"]


def duplicates(table: Table) -> tuple[tuple[int, ...], ...]:
    """Return the rows that are the same in every cell, text as well, in groups; large ones first.

    Holes are alike.
    """
    texts = [text.values for text in table.texts if text.values is not None]
    groups: dict[object, list[int]] = {}
    for i, row in enumerate(table.values + 0.0):  # 0 and -0 are the same, and not the same bytes
        groups.setdefault((row.tobytes(), *(text[i] for text in texts)), []).append(i)
    found = [tuple(group) for group in groups.values() if len(group) > 1]
    return tuple(sorted(found, key=lambda group: (-len(group), group)))
