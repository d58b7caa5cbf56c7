"""What a fault is, and the table in which faulty classes enter themselves by a decorator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..._base import Estimator
from ..register import SMALL, Shape

__all__ = ["FAULTS", "Fault", "faulty"]

Kind = TypeVar("Kind", bound=type[Estimator])


@dataclass(frozen=True, slots=True)
class Fault:
    """A faulty class, the check made for it, and where it shows."""

    kind: type[Estimator]
    check: str
    shape: Shape
    params: dict[str, Any]

    def estimator(self) -> Any:
        """Return the faulty estimator."""
        return self.kind(**self.params)

    def sound(self) -> Any:
        """Return the same without the fault."""
        sound = self.kind.__bases__[0]
        return sound(**self.params)


FAULTS: list[Fault] = []


def faulty(check: str, shape: Shape = SMALL, **params: Any) -> Callable[[Kind], Kind]:
    """Enter a class that `check` must find, on tables of this shape, with these parameters."""

    def enter(kind: Kind) -> Kind:
        FAULTS.append(Fault(kind, check, shape, {"n_components": 3} | params))
        return kind

    return enter
