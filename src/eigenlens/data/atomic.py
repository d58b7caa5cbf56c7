"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["FULL", "atomic", "atomic_folder", "require_new_folder", "require_replaceable"]

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a disk that is full, or of which one may use no more."""


@contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file that takes the place of `path` when the block ends without an error.

    Readers see the old file or the new one, never a part of it. After an error or an interrupt the
    old file is as it was, and the temporary one is gone. A disk that fills is an error in words.

    Parameters
    ----------
    path : str or path-like
        A link is followed, so that what it points to is replaced and the link stays.

    Yields
    ------
    Path
        An empty file beside `path` with the same suffix and with the permissions that `path` has
        or, if it is new, would get from ``open``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from eigenlens.data.atomic import atomic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     with atomic(path) as temporary:
    ...         _ = temporary.write_text("1,2")
    ...     path.read_text()
    '1,2'
    """
    target = Path(path).resolve()
    require_replaceable(target)
    # of the same folder, because a file can only be moved in one step within a file system
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.suffix}")
    try:
        _create(temporary)
        if target.exists():
            shutil.copymode(target, temporary)
        yield temporary
        _flush(temporary)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        _explain_full(error, target)
        raise


@contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder that takes the place of `path` when the block ends without an error.

    Parameters
    ----------
    path : str or path-like
        New, or an empty folder: files that are there are never removed.

    Yields
    ------
    Path
        An empty folder beside `path`.
    """
    target = Path(path).resolve()
    require_new_folder(target)
    temporary = target.with_name(f".{secrets.token_hex(8)}")
    try:
        _create(temporary, folder=True)
        yield temporary
        if target.is_dir():
            target.rmdir()  # fails if it is not empty by now
        temporary.replace(target)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        _explain_full(error, target)
        raise


def require_new_folder(path: Path) -> None:
    """Raise unless a folder can be made at `path`: there is nothing, or an empty folder."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"The folder {target.parent} does not exist. Create it, or write elsewhere."
        )
    if target.exists() and not target.is_dir():
        raise OSError(f"{target} is a file. Give the name of a new folder.")
    if target.is_dir() and any(target.iterdir()):
        raise OSError(f"The folder {target} is not empty. Empty it, or give a new name.")


def require_replaceable(path: Path) -> None:
    """Raise unless `path` can be written: a file, or the name of one in a folder that is there."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"The folder {target.parent} does not exist. Create it, or write elsewhere."
        )
    if not target.exists():
        return
    if not target.is_file():
        raise OSError(f"{target} is a folder or a device. Give the name of a file.")
    if not os.access(target, os.W_OK):  # or else a move would go over its protection
        raise PermissionError(f"{target} is write-protected. Lift that, or write elsewhere.")


def _create(temporary: Path, *, folder: bool = False) -> None:
    try:
        if folder:
            temporary.mkdir()
        else:
            temporary.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(
            f"Nothing can be written in the folder {temporary.parent} ({error.strerror}). "
            "Write elsewhere, or change its permissions."
        ) from None


def _explain_full(error: BaseException, target: Path) -> None:
    """Raise the error for a disk that is full, if `error` says that it is."""
    if isinstance(error, OSError) and error.errno in FULL:
        raise OSError(
            f"{target.name} was not written: there is no room left in {target.parent} "
            f"({os.strerror(error.errno)}). Make room there, or write elsewhere."
        ) from None


def _flush(temporary: Path) -> None:
    """Wait until the content is on the disk: a move may get there before it."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
