"""Leading singular triplets: against numpy's decomposition, for tables of every shape."""

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_limits

from eigenlens.ops.triplets import SPARE, Leading, Triplets, small_svd


def table(n, d, values, seed=0, mean=0.0):
    """Return an n x d table whose columns add up to n `mean`, with these singular values beside."""
    r = np.random.default_rng(seed)
    left = r.standard_normal((n, len(values)))
    U = np.linalg.qr(left - left.mean(axis=0))[0]
    V = np.linalg.qr(r.standard_normal((d, len(values))))[0]
    return (U * values) @ V.T + mean


def leading(W, *, centre=False, seed=0):
    return Leading(W.shape, np.random.default_rng(seed), centre=centre)


def above(W, threshold, *, centre=False, calls=15):
    """Return what is found after some calls with the same table."""
    finder = leading(W, centre=centre)
    for _ in range(calls):
        mean, found = finder.above(W, threshold)
    return mean, found


def exact(W, threshold, centre):
    mean = W.mean(axis=0) if centre else np.zeros(W.shape[1])
    U, s, Vt = np.linalg.svd(W - mean, full_matrices=False)
    kept = s > threshold
    return mean, s[kept], (U[:, kept] * s[kept]) @ Vt[kept]


def check_decomposition(found, rtol=1e-10):
    k = len(found.s)
    np.testing.assert_allclose(found.U.T @ found.U, np.eye(k), atol=rtol)
    np.testing.assert_allclose(found.Vt @ found.Vt.T, np.eye(k), atol=rtol)
    assert np.all(np.diff(found.s) <= rtol * found.s[:1].sum())


SPECTRA = {
    "falling": np.linspace(10, 0.5, 20),
    "deficient": np.linspace(10, 5, 6),
    "repeated": np.repeat([9.0, 6.0, 3.0], [4, 5, 3]),
    "steep": 10.0 ** -np.arange(8),
}


@pytest.mark.parametrize("shape", [(300, 160), (160, 300), (200, 200), (50, 31), (31, 50)])
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("centre", [False, True])
def test_triplets_are_numpy_s(shape, spectrum, centre):
    W = table(*shape, SPECTRA[spectrum], mean=2.0 if centre else 0.0)
    for threshold in (4.6, 0.07):
        mean, found = above(W, threshold, centre=centre)
        mean_, s, L = exact(W, threshold, centre)
        np.testing.assert_allclose(mean, mean_, rtol=1e-12)
        np.testing.assert_allclose(found.s, s, rtol=1e-9)
        np.testing.assert_allclose(found.table(), L, atol=1e-7)
        check_decomposition(found)


@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_small_values_of_a_small_table(shape):
    """They come from squares, and are there as long as their squares are."""
    values = [1.0, 1e-2, 1e-4, 1e-5, 1e-6]
    _, found = above(table(*shape, values), 3e-6, calls=1)
    np.testing.assert_allclose(found.s, values[:4], rtol=1e-4)


@pytest.mark.parametrize("shape", [(300, 160), (160, 300)])
@pytest.mark.parametrize("centre", [False, True])
def test_one_call_is_enough_where_the_rank_is_small(shape, centre):
    W = table(*shape, SPECTRA["deficient"], mean=2.0 if centre else 0.0)
    _, found = above(W, 1.0, centre=centre, calls=1)
    np.testing.assert_allclose(found.table(), exact(W, 1.0, centre)[2], atol=1e-10)


@pytest.mark.parametrize("k", [5, 30, 60, 200])
def test_none_above_the_threshold_is_missed_at_once(k):
    """Of values that stand out, the number is right in the first call, however many there are."""
    W = table(400, 300, np.linspace(20, 10, k)) + table(400, 300, np.full(40, 0.1), seed=1)
    _, found = above(W, 5.0, calls=1)
    assert len(found.s) == k
    np.testing.assert_allclose(found.s, np.linalg.svd(W, compute_uv=False)[:k], rtol=1e-3)


def test_follows_a_table_that_changes():
    """The vectors of the last table are the start for the next: one call a change suffices."""
    A, B = table(400, 300, np.linspace(20, 10, 8)), table(400, 300, np.linspace(20, 10, 40), seed=1)
    finder = leading(A)
    for share in np.linspace(0, 1, 80):
        W = (1 - share) * A + share * B
        _, found = finder.above(W, 4.0)
    s = np.linalg.svd(W, compute_uv=False)
    np.testing.assert_allclose(found.s, s[s > 4.0], rtol=1e-6)
    assert finder.V.shape == (300, 40 + SPARE)
    for _ in range(2):
        assert len(finder.above(A, 4.0)[1].s) == 8


@pytest.mark.parametrize("shape", [(300, 160), (160, 300), (12, 9), (9, 12), (1, 5), (5, 1)])
@pytest.mark.parametrize("centre", [False, True])
def test_nothing_above_the_threshold(shape, centre):
    for W in (np.zeros(shape), np.ones(shape), np.random.default_rng(0).standard_normal(shape)):
        mean, found = above(W, 1e3, centre=centre, calls=2)
        np.testing.assert_allclose(mean, W.mean(axis=0) * centre, atol=1e-12)
        assert (found.U.shape, found.s.shape, found.Vt.shape) == (
            (shape[0], 0),
            (0,),
            (0, shape[1]),
        )
        np.testing.assert_array_equal(found.table(), np.zeros(shape))


def test_after_a_table_of_zeros_it_finds_what_comes():
    finder = leading(np.zeros((60, 50)))
    finder.above(np.zeros((60, 50)), 0.0)
    W = table(60, 50, [3.0, 2.0])
    assert finder.above(W, 1.0)[1].s == pytest.approx([3.0, 2.0])


def test_large_mean_costs_no_digits():
    W = table(300, 160, [3.0, 2.0], mean=1e6)
    mean, found = above(W, 1.0, centre=True)
    np.testing.assert_allclose(found.s, [3.0, 2.0], rtol=1e-8)
    np.testing.assert_allclose(mean, 1e6, rtol=1e-14)


@pytest.mark.parametrize(
    ("shape", "k"), [((300, 160), 6), ((300, 160), 60), ((60, 50), 20), ((50, 60), 20)]
)
def test_float32(shape, k):
    W = table(*shape, np.linspace(10, 5, k)).astype(np.float32)
    _, found = above(W, 1.0)
    assert {part.dtype for part in found} == {np.dtype(np.float32)}
    np.testing.assert_allclose(found.s, np.linspace(10, 5, k), rtol=1e-5)
    np.testing.assert_allclose(found.table(), W, atol=1e-4)


def test_float32_keeps_small_values_of_a_gram_matrix():
    """Squares of values below 3e-4 of the largest do not exist in single precision."""
    W = table(60, 50, np.concatenate([[1e4], np.full(19, 1.0)])).astype(np.float32)
    _, found = above(W, 0.5)
    np.testing.assert_allclose(found.s[1:], 1.0, rtol=0.01)


def test_number_of_threads_does_not_matter():
    W = table(900, 700, SPECTRA["falling"], mean=1.0)
    found = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            found.append(above(W, 4.0, centre=True, calls=2))
    for one, other in zip((found[0][0], *found[0][1]), (found[1][0], *found[1][1]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_leaves_the_table_alone():
    for shape in [(300, 160), (12, 9)]:
        W = np.random.default_rng(0).standard_normal(shape)
        before = W.copy()
        above(W, 1.0, centre=True, calls=2)
        np.testing.assert_array_equal(W, before)


def test_same_seed_same_answer():
    W = table(300, 160, SPECTRA["falling"])
    one, other = (above(W, 4.0, calls=3)[1] for _ in range(2))
    np.testing.assert_array_equal(one.U, other.U)


# ------------------------------------------------------------------------------------ Triplets


def test_table_of_triplets_and_of_some_rows():
    W = np.random.default_rng(0).standard_normal((6, 4))
    triplets = Triplets(*np.linalg.svd(W, full_matrices=False))
    np.testing.assert_allclose(triplets.table(), W, atol=1e-14)
    np.testing.assert_allclose(triplets.table(slice(2, 4)), W[2:4], atol=1e-14)
    rank_one = triplets.first(1)
    assert (rank_one.U.shape, rank_one.s.shape, rank_one.Vt.shape) == ((6, 1), (1,), (1, 4))
    assert np.linalg.norm(W - rank_one.table(), 2) == pytest.approx(triplets.s[1])


def test_no_triplets_make_a_table_of_zeros():
    none = Triplets.none((3, 2), np.dtype(np.float32))
    assert none.table().dtype == np.float32
    np.testing.assert_array_equal(none.table(), np.zeros((3, 2)))


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5), (1, 3), (0, 3)])
def test_small_svd(shape):
    A = np.random.default_rng(0).standard_normal(shape)
    found = small_svd(A)
    np.testing.assert_allclose(found.table(), A, atol=1e-13)
    np.testing.assert_allclose(found.s, np.linalg.svd(A, compute_uv=False), atol=1e-13)


def test_small_svd_where_the_fast_way_fails(monkeypatch):
    real = scipy.linalg.svd
    drivers = []

    def svd(A, lapack_driver="gesdd", **options):
        drivers.append(lapack_driver)
        if lapack_driver == "gesdd":
            raise np.linalg.LinAlgError("SVD did not converge")
        return real(A, lapack_driver=lapack_driver, **options)

    monkeypatch.setattr(scipy.linalg, "svd", svd)
    A = np.random.default_rng(0).standard_normal((7, 4))
    np.testing.assert_allclose(small_svd(A).table(), A, atol=1e-13)
    assert drivers == ["gesdd", "gesvd"]


@pytest.mark.parametrize("r", [0, 3])
def test_tidied_vectors_are_orthonormal_and_make_up_the_same_table(r):
    rng = np.random.default_rng(0)
    crooked = Triplets(
        rng.standard_normal((9, r)), np.array([1.0, 1e-3, 1e-7])[:r], rng.standard_normal((r, 6))
    )
    U, s, Vt = tidied = crooked.tidied()
    np.testing.assert_allclose(tidied.table(), crooked.table(), atol=1e-14)
    np.testing.assert_allclose(U.T @ U, np.eye(r), atol=1e-14)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(r), atol=1e-14)
    assert (np.diff(s) <= 0).all()
