"""PCA and its whole family for the scikit-learn world.

The public names are listed once, in ``__init__.pyi``: type checkers and editors read it as a stub,
and this module reads it to load each name on first use. So `import eigenlens` costs milliseconds.
"""

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # 10 ms, so only when asked for

        return version(__name__)
    return _load(name)
