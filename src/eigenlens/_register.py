"""The register: every public name of the package that is an estimator, and what it is beside.

The public names are those of ``__init__.pyi``. Contract, command line, report, files and the README
table walk the estimators through here, so that one line in the stub is all that a new one takes.
`methods` lists them together with methods of other packages that work beside them.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import eigenlens

from ._base import Estimator

__all__ = ["KINDS", "Method", "classes", "fittable", "methods", "summary"]

KINDS = {
    "linear": "directions that keep the most variance, or the most of something else",
    "sparse": "directions and atoms with few nonzeros",
    "robust": "directions that gross errors do not bend",
    "kernel": "directions in a space of features",
    "parts": "parts that add up",
    "manifold": "places in a few dimensions that keep distances or neighbours",
    "supervised": "directions that tell classes apart",
    "scaler": "columns or rows brought to one scale",
}
"""Kinds of methods, in words."""


@dataclass(frozen=True, slots=True)
class Method:
    """A method that can be fitted to a table.

    Attributes
    ----------
    name : str
        Of its class.
    kind : str
        One of ``linear``, ``sparse``, ``robust``, ``kernel``, ``parts``, ``manifold``,
        ``supervised`` and ``scaler``.
    finds : str
        What it finds, in a few words.
    promises : tuple of str
        What it is tested for, as in the table of the README; empty for methods of other packages.
    origin : str
        The package that it comes from.
    module : str
        The module to import it from.
    plane : bool
        Whether it is for looking at, in two dimensions whatever the data.
    in_batches_of : str or None
        The method that it does in batches, for tables that are too large for that.
    way_back : bool
        Whether it has an `inverse_transform`. That of other packages is said here, as to look it
        up would import them, which may take seconds.
    """

    name: str
    kind: str
    finds: str
    promises: tuple[str, ...]
    origin: str
    module: str
    plane: bool = False
    in_batches_of: str | None = None
    way_back: bool = False

    @property
    def supervised(self) -> bool:
        """Whether its `fit` asks for a target."""
        return self.kind == "supervised"

    def load(self) -> Any:
        """Import the class, and return it."""
        return getattr(import_module(self.module), self.name)


def _from_sklearn(
    name: str, kind: str, module: str, finds: str, *, way_back: bool = False
) -> Method:
    return Method(name, kind, finds, (), "scikit-learn", f"sklearn.{module}", way_back=way_back)


def _scaler(name: str, finds: str, *, way_back: bool = True) -> Method:
    """Return a scaler of scikit-learn's, in the form that takes tables in blocks too."""
    return Method(name, "scaler", finds, (), "scikit-learn", "eigenlens", way_back=way_back)


BORROWED = (
    _from_sklearn(
        "TruncatedSVD",
        "linear",
        "decomposition",
        "Singular vectors, without centring",
        way_back=True,
    ),
    _from_sklearn(
        "FactorAnalysis", "linear", "decomposition", "Factors, and the noise of each column"
    ),
    _from_sklearn(
        "FastICA", "linear", "decomposition", "Sources that are independent", way_back=True
    ),
    _from_sklearn(
        "ClassicalMDS", "manifold", "manifold", "Places by the eigenvectors of squared distances"
    ),
    _from_sklearn(
        "LocallyLinearEmbedding", "manifold", "manifold", "Places made of neighbours as rows are"
    ),
    _from_sklearn(
        "LinearDiscriminantAnalysis",
        "supervised",
        "discriminant_analysis",
        "Directions that tell classes apart the best",
    ),
    Method(
        "UMAP",
        "manifold",
        "Places that keep a fuzzy graph",
        (),
        "umap-learn",
        "umap",
        plane=True,
        way_back=True,
    ),
    _scaler("StandardScaler", "Columns of mean 0 and variance 1"),
    _scaler("MinMaxScaler", "Columns from 0 to 1"),
    _scaler("RobustScaler", "Columns of median 0 and quartiles 1"),
    _scaler("Normalizer", "Rows of length 1", way_back=False),
)
"""Methods that others do as well as anybody could; each is there where its package is."""


def classes() -> dict[str, type[Estimator]]:
    """Return the estimators of the register by their public names."""
    rooms = _rooms()
    names = eigenlens.__all__  # type: ignore[attr-defined]  # made from the stub, not in it
    # other names are not even loaded: a report or a reader of files would take its time
    maybe = [name for name in names if rooms.get(name, "estimators").startswith("estimators")]
    public = {name: getattr(eigenlens, name) for name in maybe}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, Estimator)
    }


def methods() -> dict[str, Method]:
    """Return all methods by name: those of this package, and others that work beside them.

    Any of them can be named to :func:`eigenlens.compare` and to a report. Those of other packages
    are listed where the package is installed.

    Returns
    -------
    dict of str to Method

    Examples
    --------
    >>> import eigenlens
    >>> found = eigenlens.methods()
    >>> found["NMF"].kind, found["NMF"].origin
    ('parts', 'eigenlens')
    >>> found["LinearDiscriminantAnalysis"].supervised
    True
    >>> found["LocallyLinearEmbedding"].load()
    <class 'sklearn.manifold._locally_linear.LocallyLinearEmbedding'>
    """
    own = {
        name: Method(
            name,
            kind=method.kind,
            finds=summary(method),
            promises=tuple(sorted(method.claims)),
            origin="eigenlens",
            module="eigenlens",
            plane=method.plane,
            in_batches_of=method.in_batches_of,
            way_back=hasattr(method, "inverse_transform"),
        )
        for name, method in classes().items()
    }
    there = [method for method in BORROWED if find_spec(method.module.partition(".")[0])]
    return own | {method.name: method for method in there}


def fittable() -> dict[str, Method]:
    """Return the methods that find something in a table: all but scalers."""
    return {name: method for name, method in methods().items() if method.kind != "scaler"}


@cache
def _rooms() -> dict[str, str]:
    """Return the module that each name of the stub comes from."""
    stub = files("eigenlens").joinpath("__init__.pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


def summary(method: type[Estimator]) -> str:
    """Return what the method finds, as the first line of its docstring says."""
    return (inspect.getdoc(method) or "").split("\n", 1)[0].rstrip(".")
