"""What is in a table, as one page: fitted models -> a dict of plain numbers -> HTML.

>>> from eigenlens import datasets
>>> from eigenlens.report import Report
>>> table = datasets.breast_cancer()
>>> report = Report.of(table.X, names=table.names, target=table.target, title="Tumours")
>>> report.data["components"]["kept"]
7
"""

from __future__ import annotations

from .report import Report

__all__ = ["Report"]
