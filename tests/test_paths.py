"""Shortest paths in graphs of points: against scipy, to the bit, and against lengths known."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import shortest_path

from eigenlens.ops import paths
from eigenlens.ops.graph import Graph
from eigenlens.ops.paths import farthest, groups, shortest_paths


def matrix_of(graph):
    n = len(graph)
    return sparse.csr_array((graph.lengths, graph.ends, graph.starts), shape=(n, n))


def random_graph(n, degree, seed, lengths="uniform"):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, n, (2, n * degree))
    w = rng.uniform(0.1, 1, len(i)) if lengths == "uniform" else 10.0 ** rng.uniform(-6, 3, len(i))
    return Graph.of_edges(n, i, j, w)


def neighbour_graph(n, k, seed):
    """Join points of the plane to their neighbours: the graphs that this is made for."""
    points = np.random.default_rng(seed).uniform(size=(n, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    near = np.argsort(D, axis=1)[:, 1 : k + 1]
    i = np.repeat(np.arange(n), k)
    return Graph.of_edges(n, i, near.ravel(), D[i, near.ravel()])


def chain(n):
    order = np.random.default_rng(0).permutation(n)
    return Graph.of_edges(n, order[:-1], order[1:], np.ones(n - 1)), order


GRAPHS = {
    "random": random_graph(300, 3, 0),
    "lengths of all sizes": random_graph(300, 4, 1, "wild"),
    "sparse, in pieces": random_graph(200, 1, 2),
    "neighbours": neighbour_graph(700, 6, 3),
    "few": neighbour_graph(9, 3, 4),
    "chain": chain(400)[0],
    "no edges": Graph.of_edges(5, np.array([], int), np.array([], int), np.array([])),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_all_pairs_are_those_of_scipy_to_the_bit(name):
    graph = GRAPHS[name]
    found = shortest_paths(graph, np.arange(len(graph)), np.dtype(np.float64))
    assert np.array_equal(found, shortest_path(matrix_of(graph), method="D", directed=False))


def test_some_sources_in_any_order():
    graph = GRAPHS["neighbours"]
    sources = np.random.default_rng(0).permutation(len(graph))[:37]
    found = shortest_paths(graph, sources, np.dtype(np.float64))
    whole = shortest_paths(graph, np.arange(len(graph)), np.dtype(np.float64))
    assert np.array_equal(found, whole[sources])
    single = shortest_paths(graph, sources, np.dtype(np.float32))
    assert np.array_equal(single, found.astype(np.float32))


def test_each_source_goes_alone_where_a_group_takes_too_long(monkeypatch):
    graph = GRAPHS["lengths of all sizes"]
    together = shortest_paths(graph, np.arange(len(graph)), np.dtype(np.float64))
    monkeypatch.setattr(paths, "PATIENCE", 1)
    alone = shortest_paths(graph, np.arange(len(graph)), np.dtype(np.float64))
    assert np.array_equal(alone, together)


def test_distances_along_a_chain():
    graph, order = chain(400)
    place = np.argsort(order)
    found = shortest_paths(graph, np.arange(400), np.dtype(np.float64))
    assert np.array_equal(found, np.abs(place[:, None] - place))


def test_edges_of_no_length_join_points_that_coincide():
    graph = Graph.of_edges(3, np.array([0, 1]), np.array([1, 2]), np.array([0.0, 2.0]))
    found = shortest_paths(graph, np.arange(3), np.dtype(np.float64))
    assert found.tolist() == [[0, 0, 2], [0, 0, 2], [2, 2, 0]]
    assert not graph.pieces().any()


def test_of_several_edges_the_shortest_counts_and_loops_do_not():
    i, j = np.array([0, 1, 0, 2]), np.array([1, 0, 1, 2])
    graph = Graph.of_edges(3, i, j, np.array([3.0, 2.0, 5.0, 1.0]))
    assert graph.starts.tolist() == [0, 1, 2, 2]
    assert graph.ends.tolist() == [1, 0]
    assert graph.lengths.tolist() == [2, 2]
    more = graph.with_edges(np.array([1]), np.array([2]), np.array([7.0]))
    assert more.pieces().tolist() == [0, 0, 0]
    assert matrix_of(more).toarray().tolist() == [[0, 2, 0], [2, 0, 7], [0, 7, 0]]


def test_pieces_are_counted():
    labels = GRAPHS["no edges"].pieces()
    assert sorted(labels) == [0, 1, 2, 3, 4]


def test_groups_are_a_partition_of_points_near_each_other():
    graph = GRAPHS["neighbours"]
    found = groups(graph, np.arange(len(graph)))
    assert sorted(np.concatenate(found)) == list(range(len(graph)))
    assert max(map(len, found)) <= paths.LANES
    D = shortest_paths(graph, np.arange(len(graph)), np.dtype(np.float64))
    inside = np.median([D[np.ix_(g, g)].max() for g in found])
    assert inside < 0.5 * np.median(D)  # of points drawn alike it is nearly twice the median


def test_farthest_points():
    graph, order = chain(101)
    found = farthest(graph, 5, int(order[50]))
    assert sorted(np.argsort(order)[found]) == [0, 25, 50, 75, 100]
    twins = Graph.of_edges(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.0, 1.0, 0.0]))
    assert len(farthest(twins, 4, 0)) == 2


def test_threads_do_not_matter(many_threads):
    graph = GRAPHS["neighbours"]
    many = shortest_paths(graph, np.arange(len(graph)), np.dtype(np.float64))
    walker = paths._Walker(graph)
    for source in (0, 5, 699):
        walker.walk(source, walker.all, len(graph))
        assert np.array_equal(walker.distance, many[source])


# ------------------------------------------------------------------- loops and their plain twins


def test_compiled_loops_equal_their_twins(monkeypatch):
    graph = neighbour_graph(60, 4, 5)
    args = graph.starts, graph.ends, graph.lengths
    n = len(graph)

    def searched(run):
        distance, order = np.empty(n), np.empty(n, np.int32)
        heap, place = np.empty(n, np.int32), np.empty(n, np.int32)
        count = run(*args, 7, np.ones(n, bool), n, distance, order, heap, place)
        return count, distance, order

    def relaxed(run, order):
        D = np.full((n, paths.LANES), np.inf)
        D[np.arange(paths.LANES), np.arange(paths.LANES)] = 0
        due = np.ones(n, bool)
        return run(*args, order, 16, 100, D, due), D

    compiled = searched(paths.dijkstra)
    lowered = relaxed(paths.relax, compiled[2])
    for name in ("_sift_up", "_sift_down", "_lower", "_sweep"):
        monkeypatch.setattr(paths, name, getattr(paths, name).__wrapped__)
    with np.errstate(invalid="ignore"):
        plain = searched(paths.dijkstra.__wrapped__)
        again = relaxed(paths.relax.__wrapped__, compiled[2])
    for one, two in zip((*compiled, *lowered), (*plain, *again), strict=True):
        assert np.array_equal(one, two)


def test_ways_of_new_points_go_through_their_neighbours():
    rng = np.random.default_rng(0)
    D, starts, near = rng.uniform(size=(6, 4)), np.array([0, 2, 5]), np.array([1, 3, 0, 2, 5])
    lengths = rng.uniform(size=5)
    out, twin = np.empty((2, 4)), np.empty((2, 4))
    paths.through(D, starts, near, lengths, 0, out)
    paths.through.__wrapped__(D, starts, near, lengths, 0, twin)
    expected = [(D[near[a:b]] + lengths[a:b, None]).min(axis=0) for a, b in ((0, 2), (2, 5))]
    assert np.array_equal(out, expected)
    assert np.array_equal(twin, expected)
