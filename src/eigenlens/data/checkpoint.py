"""Fits in blocks that can be killed at any moment and taken up again.

A fit learns of the rows only by asking its table: for passes over all rows, for rows by number, for
counts. Between two questions it computes, always the same from the same answers. So it is enough to
write down the answers: a fit that starts again from the beginning gets those that are there at once
and goes on where the last one was left, in the midst of a pass if need be, to the same numbers.

Saving takes time, so it is done by the clock: not in the first seconds, and so seldom that it costs
at most a twentieth of the time.
"""

from __future__ import annotations

import copy
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks, Pass, add_up
from .dask import DaskBlocks
from .errors import DataError
from .journal import Journal
from .packed import Stored, read_packed, write_packed

__all__ = ["Checkpointed", "resumable"]

PAUSE = 2.0  # seconds between saves, at least
SHARE = 20  # times what the last save took, at least

Key = tuple[int, int]  # of kept rows: the number of the pass, and which of those it kept


@contextmanager
def resumable(
    table: Blocks,
    path: str | os.PathLike[str],
    identity: dict[str, str],
    draws: np.random.RandomState | None = None,
) -> Iterator[Checkpointed]:
    """Yield the same table, whose answers are written down in the folder `path`.

    The folder goes when the block ends without an error. After an error or a kill it stays, and the
    next call with the same `identity` goes on from there.

    Parameters
    ----------
    table : Blocks
    path : str or path-like
    identity : dict of str to str
        What tells this fit from others, as of :func:`.identity.identity_of`.
    draws : RandomState, optional
        A generator that the fit was given: brought to where it was when the fit began.
    """
    header: dict[str, Any] = {"identity": identity, "seed": np.random.SeedSequence().entropy}
    if draws is not None:
        header["draws"] = _state_of(draws)
    if isinstance(table, DaskBlocks):
        header["groups"] = table.n_groups()
    journal = Journal.open(path, header)
    try:
        with journal.reading():
            if draws is not None:
                draws.set_state(_in_its_state(journal.header["draws"]))
            if isinstance(table, DaskBlocks):
                table.groups = int(journal.header["groups"])
            log = _Log(journal)
        yield Checkpointed(table, log)
    except BaseException:
        journal.close()
        raise
    log.settle()
    journal.remove()


class Checkpointed(Blocks):
    """A table whose answers are written down, and come from there if they were given before."""

    def __init__(self, table: Blocks, log: _Log) -> None:
        self.table, self.log = table, log
        self.names, self.path, self.left_out = table.names, table.path, table.left_out
        self.nbytes, self.dtype = table.nbytes, table.dtype
        self.image_shape, self.row_names = table.image_shape, table.row_names
        self.frame_rate, self.named, self.files = table.frame_rate, table.named, table.files
        self._n_rows: int | None = None

    @property
    def seed(self) -> int:
        """For the draws of a fit that was not given one: the same whenever it is taken up."""
        return int(self.log.journal.header["seed"])

    @property
    def plain(self) -> Blocks:
        """The table itself."""
        return self.table

    def __iter__(self) -> Iterator[Any]:
        return iter(self.table)

    def blocks_from(self, i: int) -> Iterator[Any]:
        """Yield the blocks from number `i` on."""
        return self.table.blocks_from(i)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self._n_rows is None:
            self._n_rows = self.log.answered("n_rows", lambda: self.table.n_rows)
        return self._n_rows

    def row_counts(self) -> list[int]:
        """Return the number of rows of each block."""
        counts: list[int] = self.log.answered("row_counts", self.table.row_counts)
        return counts

    def take(self, numbers: NDArray) -> Any:
        """Return the rows of these numbers, in their order."""
        return self.log.answered(f"take {len(numbers)}", lambda: self.table.take(numbers))

    def beside(self, values: NDArray) -> Any:
        """Return an array with a row for each row of the table, a part for each block."""
        return self.table.beside(values)

    def advance(
        self,
        task: Callable[..., tuple[Any, ...]],
        beside: Sequence[Any] = (),
        *,
        shared: Sequence[Any] = (),
        keep: int = 0,
        combine: Callable[[list[Any]], Any] | None = None,
    ) -> tuple[Any, list[Any]]:
        """Do what `Blocks.advance` says, or what is left of it."""
        question = _question(task, keep)
        number = self.log.ask(question)
        if self.log.knows(number):
            return self.log.recall(number), [self._kept(number, j) for j in range(keep)]
        begun = self.log.begin(question)
        kept = [self._kept(number, j, begun is None) for j in range(keep)]
        run = Pass(task, beside, shared, combine or add_up, kept, *(begun or (None, 0)))
        for _ in self.table.steps(run):
            self.log.note(run)
        self.log.tell(question, run.total)
        return run.total, run.kept

    def _kept(self, number: int, j: int, new: bool = False) -> Any:
        """Return the rows that a pass keeps: none yet, those in files, or those that are gone."""
        stored = [] if new else self.log.stored.get((number, j))
        if stored is None:
            return _Gone(number)
        rows = self.table.keeper(stored, self.log.journal.folder)
        self.log.watch((number, j), rows)
        return rows

    def select(self, names: Iterable[str]) -> Blocks:
        """Return the table of the columns `names`, in that order."""
        return Checkpointed(self.table.select(names), self.log)

    def map(
        self,
        function: Callable[..., NDArray],
        names: Sequence[str] | None = None,
        *,
        beside: Sequence[Any] = (),
    ) -> Blocks:
        """Return the table that `function` makes of each block, when it is read."""
        return Checkpointed(self.table.map(function, names, beside=beside), self.log)


class _Gone:
    """Rows that the fit had let go of before it was saved; only passes that are done had them."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __getitem__(self, i: int) -> NoReturn:
        raise RuntimeError(
            f"The rows that pass {self._number} kept are asked for again, after they were let go "
            "of: the fit does not do the same from the same answers. This is a fault of the method."
        )

    def gather(self) -> Any:
        return self[0]


class _Log:
    """The answers of one fit, by the number of the question: those of old, and new ones."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        state = journal.state or {"questions": [], "files": [], "run": None, "rows": []}
        self._questions: list[str] = state["questions"]  # that were answered
        self._files: list[list[Any]] = state["files"]  # with answers, and how many each has
        self._begun: dict[str, Any] | None = state["run"]
        self.stored: dict[Key, list[Stored | None]] = {
            (number, j): [_found(place, journal.folder) for place in places]
            for number, j, places in state["rows"]
        }
        self._old: dict[int, Any] = {}  # answers of the file that was read last
        self._new: list[Any] = []  # answers that are not in a file yet
        self._live: WeakValueDictionary[Key, Any] = WeakValueDictionary()
        self._asked, self._under_way = 0, ""
        self._next = time.monotonic() + PAUSE
        self._warned = False

    # ----------------------------------------------------------------------------------- questions

    def ask(self, question: str) -> int:
        """Return the number of the next question, after a look whether it was the same before."""
        number, self._asked = self._asked, self._asked + 1
        before = self._questions[number] if self.knows(number) else question
        if self._begun and number == len(self._questions):
            before = self._begun["question"]
        if before != question:
            raise DataError(
                f"The checkpoint {self.journal.folder} does not belong to this fit, which asks for "
                f"a {question} where that one asked for a {before}. Delete the folder to begin "
                "anew."
            )
        return number

    def knows(self, number: int) -> bool:
        """Whether the question was answered before the fit was taken up."""
        return number < len(self._questions)

    def recall(self, number: int) -> Any:
        """Return an answer of old."""
        if number not in self._old:
            ends = np.cumsum([count for _, count in self._files])
            which = int(np.searchsorted(ends, number, side="right"))
            name, count = self._files[which]
            answers = read_packed(self.journal.folder / Path(name).name)
            self._old = dict(enumerate(answers, int(ends[which]) - count))
        return self._old.pop(number)

    def answered(self, question: str, find: Callable[[], Any]) -> Any:
        """Return the answer to a question, found only if it is not known."""
        number = self.ask(question)
        if self.knows(number):
            return self.recall(number)
        found = find()
        self.tell(question, found)
        return found

    def begin(self, question: str) -> tuple[Any, int] | None:
        """Return the total and the number of blocks of a pass, if it was begun before."""
        begun, self._begun, self._under_way = self._begun, None, question
        return None if begun is None else (begun["total"], begun["done"])

    # --------------------------------------------------------------------------------------- saves

    def watch(self, key: Key, rows: Any) -> None:
        """Save these rows with the rest for as long as anything refers to them."""
        self._live[key] = rows

    def note(self, run: Pass) -> None:
        """Save a pass as far as it is, if it is time."""
        if time.monotonic() >= self._next:
            self._save(run)

    def tell(self, question: str, answer: Any) -> None:
        """Write down an answer: to a file if it is time, else a copy, for it may be written to."""
        self._questions.append(question)
        due = time.monotonic() >= self._next
        self._new.append(answer if due else copy.deepcopy(answer))
        if due and not self._save(None) and self._new:
            self._new[-1] = copy.deepcopy(answer)

    def _save(self, run: Pass | None) -> bool:
        """Save all, and say whether that was possible; a fit goes on where it is not."""
        begin, saved = time.monotonic(), True
        try:
            self._write(run)
        except OSError as error:
            saved = False
            self._warn(error)
        end = time.monotonic()
        self._next = end + max(PAUSE, SHARE * (end - begin))
        return saved

    def _write(self, run: Pass | None) -> None:
        folder = self.journal.folder
        for (number, j), rows in list(self._live.items()):
            stored = self.stored.setdefault((number, j), [])
            if len(rows) > len(stored):
                file = folder / f"rows-{number:06d}-{j}-{len(stored):06d}.npz"
                stored += rows.write(len(stored), file)
        self.stored = {key: places for key, places in self.stored.items() if key in self._live}
        if self._new:
            name = f"answers-{len(self._questions):06d}.npz"
            write_packed(folder / name, self._new)
            self._files.append([name, len(self._new)])
            self._new = []
        begun = run and {"question": self._under_way, "total": run.total, "done": run.done}
        rows = [[*key, [_named(place) for place in at]] for key, at in self.stored.items()]
        needed = {name for name, _ in self._files}
        needed |= {place[0] for *_, places in rows for place in places if place}
        state = {"questions": self._questions, "files": self._files, "run": begun, "rows": rows}
        self.journal.save(state, needed)

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            warnings.warn(
                f"Nothing can be saved in the checkpoint {self.journal.folder} "
                f"({error.strerror or error}). The fit goes on and tries again; if it is ended "
                "before, it can be taken up from where it was saved last.",
                UserWarning,
                stacklevel=2,
            )
        self._warned = True

    def settle(self) -> None:
        """Let rows that outlive the fit be without its folder."""
        for rows in list(self._live.values()):
            rows.settle()


def _named(place: Stored | None) -> list[str] | None:
    """Return the name of a file, without its folder, which may be elsewhere next time."""
    return None if place is None else [Path(place.file).name, place.key]


def _found(place: list[str] | None, folder: Path) -> Stored | None:
    return None if place is None else Stored(str(folder / Path(place[0]).name), place[1])


def _state_of(draws: np.random.RandomState) -> dict[str, Any]:
    """Return the state of a generator as JSON takes it."""
    state: dict[str, Any] = draws.get_state(legacy=False)
    return json.loads(json.dumps(state, default=lambda thing: thing.tolist()))


def _in_its_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a generator, if the place in it is one: numpy believes any."""
    if not 0 <= state["state"]["pos"] <= len(state["state"]["key"]):
        raise ValueError("a generator that is beyond its state")
    return state


def _question(task: Any, keep: int) -> str:
    """Return what a pass is asked for, in words."""
    task = getattr(task, "task", task)
    name = getattr(task, "__qualname__", type(task).__qualname__)
    return f"pass of {name} that keeps {keep}"
