"""Names and numbers as a reader sees them, on a page or a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = [
    "clean",
    "command_name",
    "count",
    "grouped",
    "listed",
    "natural",
    "option_name",
    "percent",
    "short",
    "unique",
]


def clean(value: object) -> str:
    """Return `value` as text that any page can hold: in one line, without broken characters."""
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def unique(names: Iterable[object]) -> list[str]:
    """Return `names` as text, no two alike: x1 for one without a name, .1 behind a repeated one.

    >>> unique(["a", "", "a", "a.1"])
    ['a', 'x1', 'a.1', 'a.1.1']
    """
    found: dict[str, int] = {}  # with the number that was last put behind each
    for j, name in enumerate(names):
        base = clean(name) or f"x{j}"
        text, again = base, found.get(base, 0)
        while text in found:
            again += 1
            text = f"{base}.{again}"
        found[base] = again
        found.setdefault(text, 0)
    return list(found)


def short(name: str, length: int = 40) -> str:
    """Return `name`, or its beginning and an ellipsis."""
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return the number with its noun.

    >>> count(1, "row"), count(12500, "row")
    ('1 row', '12 500 rows')
    """
    word = noun if number == 1 else nouns or noun + "s"
    return f"{grouped(number)} {word}"


def grouped(number: float) -> str:
    """Return a whole number with its digits in groups of three.

    >>> grouped(12500)
    '12 500'
    """
    return f"{number:,.0f}".replace(",", " ")


def percent(share: float) -> str:
    """Return a share as a percentage that is not 0 unless the share is.

    >>> percent(0.7264), percent(0.00001)
    ('72.6 %', 'less than 0.1 %')
    """
    return "less than 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def listed(words: Sequence[str], most: int = 5) -> str:
    """Return the words as an enumeration; of many, the first, and how many more there are.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed("abcdefg", most=3)
    ('a', 'a, b and c', 'a, b, c and 4 more')
    """
    shown = [short(word) for word in words[:most]]
    if more := len(words) - len(shown):
        shown.append(f"{more} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def natural(name: str) -> list[tuple[int, int | str]]:
    """Return a key that sorts names with numbers in them by the values of these.

    >>> sorted(["part-10", "part-9", "part"], key=natural)
    ['part', 'part-9', 'part-10']
    """
    parts = re.split(r"([0-9]+)", name)
    return [(1, int(part)) if part.isdecimal() else (2, part) for part in parts if part]


def command_name(name: str) -> str:
    """Return the name of a class as a command.

    >>> command_name("IncrementalPCA")
    'incremental-pca'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def option_name(parameter: str) -> str:
    """Return a parameter as an option of a command.

    >>> option_name("n_components")
    '--n-components'
    """
    return f"--{parameter.replace('_', '-')}"
