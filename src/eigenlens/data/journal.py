"""The folder in which a fit writes down how far it is.

::

    lock              held by the process that fits
    header.json       which fit it is, and the seed that it drew
    answers-*.npz     what finished passes found, some to a file
    rows-*.npz        rows kept beside the table that are still needed
    state.npz         how far the fit is, and which of these files belong to it

Every file is written whole or not at all, and `state.npz` last: until it is there, the files of the
save before count, and none of these is touched before. So the process may be ended at any moment.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from .atomic import atomic
from .errors import DataError
from .packed import read_packed, write_packed

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal"]

FORMAT = 2
HALF = (".*.npz", ".*.json")  # what `atomic` has not finished
OURS = ("state.npz", "answers-*.npz", "rows-*.npz", *HALF, "header.json", "lock")
TEMPORARY = "eigenlens-*"  # folders of rows that did not fit in memory


class Journal:
    """The folder of one fit, held until it is closed or removed.

    Attributes
    ----------
    folder : Path
    header : dict
        As it was given when the fit began.
    state : dict or None
        As it was last saved.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock: int | None = lock
        self.header: dict[str, Any] = {}
        self.state: dict[str, Any] | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], header: dict[str, Any]) -> Self:
        """Return the journal at `path`, with the header that it has or, if it is new, is given.

        Parameters
        ----------
        path : str or path-like
            A folder that is not there yet, is empty, or holds a journal.
        header : dict
            ``identity`` is compared with that of the journal.
        """
        folder = Path(path).resolve()
        # one with a lock alone was made by a fit that was killed just then
        made = not folder.exists() or (folder / "lock").exists()
        self = cls(folder, _locked(folder))
        try:
            self._begin(header | {"format": FORMAT, "made": made})
        except BaseException:
            self.close()
            raise
        return self

    def _begin(self, header: dict[str, Any]) -> None:
        file = self.folder / "header.json"
        if not file.exists():
            (self.folder / "state.npz").unlink(missing_ok=True)  # of whatever it was
            with atomic(file) as temporary:
                temporary.write_text(json.dumps(header))
            self.header = header
            return
        with self.reading():
            self.header = json.loads(file.read_text())
            found = dict(self.header["identity"], **{"the format": self.header["format"]})
            self.header["seed"] = int(self.header["seed"])
        self._require_same(found, header["identity"] | {"the format": FORMAT})
        if (self.folder / "state.npz").exists():
            self.state = read_packed(self.folder / "state.npz")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn whatever a header or a state raises that is not as we write it into one error."""
        try:
            yield
        except DataError:
            raise
        except Exception:
            raise DataError(
                f"{self.folder / 'header.json'} is damaged. Delete the folder {self.folder} to "
                "begin anew."
            ) from None

    def _require_same(self, found: dict[str, Any], asked: dict[str, Any]) -> None:
        differ = [name for name in {**found, **asked} if found.get(name) != asked.get(name)]
        if differ:
            told = "; ".join(
                f"{name} was {found.get(name, 'not given')} and is {asked.get(name, 'not given')}"
                for name in differ[:3]
            )
            raise DataError(
                f"The checkpoint {self.folder} is that of another fit: {told}. Give another path, "
                "or delete the folder to begin anew."
            )

    def save(self, state: dict[str, Any], needed: set[str]) -> None:
        """Replace the state; then remove all files but those it needs."""
        write_packed(self.folder / "state.npz", state)
        self.state = state
        for file in self.folder.glob("*-*.npz"):
            if file.name not in needed:
                file.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others have the folder, which stays as it is."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remove(self) -> None:
        """Remove what was written: the fit is done.

        The state goes first, so that no kill leaves one whose files are gone.
        """
        try:
            for file in [file for pattern in OURS for file in self.folder.glob(pattern)]:
                file.unlink()
            for folder in self.folder.glob(TEMPORARY):
                shutil.rmtree(folder, ignore_errors=True)
            if self.header.get("made"):
                self.folder.rmdir()
        except OSError:  # never lose a fit that is done for files that cannot go
            pass
        finally:
            self.close()


def _locked(folder: Path) -> int:
    """Make the folder if it is not there; return the lock on it, an open file."""
    for _ in range(10):
        _require_ours(folder)
        try:
            folder.mkdir(exist_ok=True)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:  # its owner has just removed it
            continue
        except OSError as error:
            raise type(error)(
                f"Nothing can be written in the checkpoint {folder} ({error.strerror}). Give "
                "another path, or change its permissions."
            ) from None
        if not _taken(lock):
            owner = os.read(lock, 20).decode(errors="replace") or "another"
            os.close(lock)
            raise DataError(
                f"The checkpoint {folder} is in use by process {owner}. Wait for it, or give "
                "another path."
            )
        if os.fstat(lock).st_nlink:
            os.ftruncate(lock, 0)
            os.write(lock, str(os.getpid()).encode())
            _swept(folder)
            return lock
        os.close(lock)  # of a file that its owner has removed meanwhile
    raise DataError(f"The checkpoint {folder} comes and goes. Give another path.")


def _taken(lock: int) -> bool:
    """Take the lock, unless a living process has it; the system gives up those of dead ones."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


def _swept(folder: Path) -> None:
    """Remove what a fit that was killed had begun to write."""
    for pattern in HALF:
        for file in folder.glob(pattern):
            file.unlink(missing_ok=True)
    for old in folder.glob(TEMPORARY):
        shutil.rmtree(old, ignore_errors=True)


def _require_ours(folder: Path) -> None:
    """Raise if there is something else at this place, which is never written to or removed."""
    if not folder.parent.is_dir():
        raise FileNotFoundError(
            f"The folder {folder.parent} does not exist. Create it, or give another path for the "
            "checkpoint."
        )
    if not folder.exists():
        return
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{folder} is a file, and a checkpoint is a folder. Give another path."
        )
    if (folder / "header.json").exists():
        return
    known = {file.name for pattern in OURS for file in folder.glob(pattern)}
    if others := sorted(file.name for file in folder.iterdir() if file.name not in known):
        raise DataError(
            f"The folder {folder} holds {others[0]!r}, and is no checkpoint. Give the name of a "
            "new folder."
        )
