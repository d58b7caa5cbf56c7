"""Estimators with one fault each, and the check that must find it: the contract's own test.

A check that no fault can fail is no check. Each class is a sound PCA but for the few lines it has.
"""

from __future__ import annotations

from . import claims, files, manners, numbers, purity  # noqa: F401  they enter their faults
from .register import FAULTS, Fault

__all__ = ["FAULTS", "Fault"]
