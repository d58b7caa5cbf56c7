"""Lengths of shortest paths in an undirected graph, from many points at a time.

From one point it is Dijkstra's algorithm with a heap. From many, points near each other see all
others in nearly the same order. So sources are taken in groups of neighbours: Dijkstra from one of
them gives the order, and in that order the bounds of all sources of the group are lowered side by
side,

    d_u <- min(d_u, d_v + length of uv)        over the points v beside u,

in one vector operation, until no edge lowers any. A window of the order at a time is gone over,
there and back, so that hardly a bound is wrong when the next window sees it, and only points beside
one that was lowered are looked at again.

Adding a length never makes a number smaller nor turns an order around, in floating point too. So
both ways end at the same bits, the least of the rounded sums along all paths, however the sources
are grouped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import threads
from .graph import Graph
from .jit import compiled

__all__ = ["farthest", "shortest_paths", "through"]

LANES = 16  # sources of a group, a multiple of 8
WINDOW = 256  # points, at least, that are gone over until they rest
PATIENCE = 64  # times that a group is gone over, before each of its sources goes alone
UNSEEN, SETTLED = -1, -2  # no place in the heap: not yet, not any more


@compiled
def _sift_up(heap, keys, place, at):  # type: ignore[no-untyped-def]
    """Move the point at `at` towards the top of the heap, whose nodes have four children."""
    point = heap[at]
    key = keys[point]
    while at > 0:
        parent = (at - 1) >> 2
        above = heap[parent]
        if keys[above] <= key:
            break
        heap[at] = above
        place[above] = at
        at = parent
    heap[at] = point
    place[point] = at


@compiled
def _sift_down(heap, keys, place, point, size):  # type: ignore[no-untyped-def]
    """Put `point` at the top of the heap and move it to where it belongs."""
    key, at = keys[point], 0
    while True:
        child = 4 * at + 1
        if child >= size:
            break
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if keys[heap[other]] < keys[heap[least]]:
                least = other
        below = heap[least]
        if keys[below] >= key:
            break
        heap[at] = below
        place[below] = at
        at = least
    heap[at] = point
    place[point] = at


@compiled
def dijkstra(  # type: ignore[no-untyped-def]
    starts, ends, lengths, source, wanted, most, distance, order, heap, place
):
    """Settle points in the order of their distance from `source`, up to `most` that are `wanted`.

    Fills `distance` (inf where it did not come) and `order`; returns how many points it settled.
    """
    for u in range(len(distance)):
        distance[u] = np.inf
        place[u] = UNSEEN
    distance[source] = 0.0
    heap[0] = source
    place[source] = 0
    size, settled, found = 1, 0, 0
    while size > 0 and found < most:
        u = heap[0]
        place[u] = SETTLED
        size -= 1
        if size > 0:
            _sift_down(heap, distance, place, heap[size], size)
        order[settled] = u
        settled += 1
        if wanted[u]:
            found += 1
        for e in range(starts[u], starts[u + 1]):
            v = ends[e]
            if place[v] == SETTLED:
                continue
            new = distance[u] + lengths[e]
            if place[v] == UNSEEN:
                distance[v] = new
                heap[size] = v
                _sift_up(heap, distance, place, size)
                size += 1
            elif new < distance[v]:
                distance[v] = new
                _sift_up(heap, distance, place, place[v])
    return settled


@compiled
def _lower(starts, ends, lengths, u, h, D):  # type: ignore[no-untyped-def]
    """Lower the bounds of point u for the sources from h on; return whether any was lowered.

    Eight sources in eight scalars: of an array the compiler cannot know that it is not D, and would
    write it back for each edge, which takes twice the time.
    """
    a, b, c, d = D[u, h], D[u, h + 1], D[u, h + 2], D[u, h + 3]
    e, f, g, i = D[u, h + 4], D[u, h + 5], D[u, h + 6], D[u, h + 7]
    for at in range(starts[u], starts[u + 1]):
        v, length = ends[at], lengths[at]
        a, b = min(a, D[v, h] + length), min(b, D[v, h + 1] + length)
        c, d = min(c, D[v, h + 2] + length), min(d, D[v, h + 3] + length)
        e, f = min(e, D[v, h + 4] + length), min(f, D[v, h + 5] + length)
        g, i = min(g, D[v, h + 6] + length), min(i, D[v, h + 7] + length)
    lowered = (
        (a < D[u, h])
        | (b < D[u, h + 1])
        | (c < D[u, h + 2])
        | (d < D[u, h + 3])
        | (e < D[u, h + 4])
        | (f < D[u, h + 5])
        | (g < D[u, h + 6])
        | (i < D[u, h + 7])
    )
    if lowered:
        D[u, h], D[u, h + 1], D[u, h + 2], D[u, h + 3] = a, b, c, d
        D[u, h + 4], D[u, h + 5], D[u, h + 6], D[u, h + 7] = e, f, g, i
    return lowered


@compiled
def _sweep(starts, ends, lengths, order, first, stop, back, D, due):  # type: ignore[no-untyped-def]
    """Lower the bounds of a window of points that are due; return whether any was lowered."""
    any_lowered = False
    for t in range(stop - first):
        u = order[stop - 1 - t] if back else order[first + t]
        if not due[u]:
            continue
        due[u] = False
        lowered = False
        for h in range(0, LANES, 8):
            lowered |= _lower(starts, ends, lengths, u, h, D)
        if lowered:
            any_lowered = True
            for at in range(starts[u], starts[u + 1]):
                due[ends[at]] = True
    return any_lowered


@compiled
def relax(starts, ends, lengths, order, window, patience, D, due):  # type: ignore[no-untyped-def]
    """Lower all bounds as far as they go; return whether that took no more than `patience`."""
    n = len(order)
    for _ in range(patience):
        rest = True
        for first in range(0, n, window):
            stop = min(first + window, n)
            turn = 0
            while turn < patience and _sweep(
                starts, ends, lengths, order, first, stop, turn % 2 == 1, D, due
            ):
                rest = False
                turn += 1
        if rest:
            return True
    return False


@compiled
def through(D, starts, near, lengths, first, out):  # type: ignore[no-untyped-def]
    """Fill row q of `out` with the least of ``D[v] + length`` over the neighbours v of a new point.

    Neighbours of the points ``first, first + 1, ...`` are in `near`, cut by `starts`.
    """
    for q in range(len(out)):
        row = out[q]
        row[:] = np.inf
        for e in range(starts[first + q], starts[first + q + 1]):
            length, there = lengths[e], D[near[e]]
            for c in range(len(row)):
                new = there[c] + length
                row[c] = new if new < row[c] else row[c]


class _Walker:
    """Arrays that a search needs, of one thread."""

    def __init__(self, graph: Graph) -> None:
        n = len(graph)
        self.graph = graph.starts, graph.ends, graph.lengths
        self.distance, self.order = np.empty(n), np.empty(n, np.int32)
        self.heap, self.place = np.empty(n, np.int32), np.empty(n, np.int32)
        self.all = np.ones(n, np.bool_)

    def walk(self, source: int, wanted: NDArray, most: int) -> NDArray:
        """Return points in the order of their distance, until `most` of those wanted are met."""
        count = dijkstra(
            *self.graph, source, wanted, most, self.distance, self.order, self.heap, self.place
        )
        return self.order[:count]


def groups(graph: Graph, sources: NDArray) -> list[NDArray]:
    """Return the places of `sources` cut into groups of points near each other."""
    walker, n = _Walker(graph), len(graph)
    where = np.full(n, -1)
    where[sources] = np.arange(len(sources))
    left = where >= 0
    found = []
    for source in sources:
        if left[source]:
            met = walker.walk(int(source), left, LANES)
            met = met[left[met]]
            left[met] = False
            found.append(where[met])
    return found


def farthest(graph: Graph, count: int, first: int) -> NDArray:
    """Return `count` points of a connected graph, each the farthest from all those before.

    Where only points remain that coincide with one of them, it returns fewer.
    """
    walker, n = _Walker(graph), len(graph)
    found, near = [first], np.full(n, np.inf)
    while len(found) < count:
        walker.walk(found[-1], walker.all, n)
        np.minimum(near, walker.distance, out=near)
        if not near.max() > 0:
            break
        found.append(int(near.argmax()))
    return np.array(found)


def shortest_paths(graph: Graph, sources: NDArray, dtype: np.dtype) -> NDArray:
    """Return the distances along edges from each of `sources` (rows) to all points (columns).

    Takes memory for the answer, and for each thread that of 16 of its rows. Where there is no path,
    the distance is infinite.

    Parameters
    ----------
    graph : Graph
    sources : ndarray of int of shape (m,)
        Without repeats.
    dtype : dtype
        Of the answer; sums are in float64.

    Returns
    -------
    ndarray of shape (m, n)
    """
    n = len(graph)
    answer = np.empty((len(sources), n), dtype)
    teams = groups(graph, sources)
    lanes = threads.Scratch(n * LANES, np.dtype(np.float64))

    def team(t: int) -> None:
        members = sources[teams[t]]
        D = lanes.array(n, LANES)
        _from_team(_Walker(graph), members, D)
        answer[teams[t]] = D[:, : len(members)].T

    threads.run(team, len(teams))
    return answer


def _from_team(walker: _Walker, members: NDArray, D: NDArray) -> None:
    """Fill column s of `D` with the distances from member s; columns beyond mean nothing."""
    n = len(D)
    order = walker.walk(int(members[0]), walker.all, n).copy()
    D.fill(np.inf)
    D[members, np.arange(len(members))] = 0.0
    starts, ends, _ = walker.graph
    due = np.zeros(n, np.bool_)
    for u in members:
        due[ends[starts[u] : starts[u + 1]]] = True
    # as far as the members are from each other, the order of one is not that of the others
    window = max(WINDOW, int(np.flatnonzero(np.isin(order, members))[-1]))
    if not relax(*walker.graph, order, window, PATIENCE, D, due):
        for s, source in enumerate(members):
            walker.walk(int(source), walker.all, n)
            D[:, s] = walker.distance
