"""KernelPCA by landmarks and VectorQuantizer on tables in blocks: the numbers of rows in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from counted import Counted
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from eigenlens import KernelPCA, VectorQuantizer
from eigenlens.data.tables import table_of
from eigenlens.estimators import vector_quantizer
from eigenlens.ops import pivoted, pivoted_blocks
from eigenlens.ops.columns import ColumnMoments
from eigenlens.ops.pivoted import places
from eigenlens.ops.signs import deciding, signs_of

rng = np.random.default_rng(0)
X = rng.standard_normal((600, 5)) @ rng.standard_normal((5, 5)) + 3


def filtered(array):
    """Give a dataframe that nobody knows the rows of, for a filter leaves some."""
    names = [f"x{j}" for j in range(array.shape[1])]
    away = np.full_like(array, np.nan)
    frame = pd.DataFrame(np.vstack([array[:200], away, array[200:]]), columns=names)
    frame = dd.from_pandas(frame, npartitions=5)  # some of them are left without rows
    return frame[frame.x0.notnull()]


CHUNKINGS = {
    "file": Counted,
    "one chunk": lambda array: da.from_array(array, chunks=array.shape),
    "ragged": lambda array: da.from_array(
        array, chunks=((100, 0, 3, len(array) - 104, 1), (2, array.shape[1] - 2))
    ),
    "filtered": filtered,
}


@pytest.fixture(params=CHUNKINGS)
def chunked(request):
    return CHUNKINGS[request.param]


@pytest.fixture(autouse=True)
def here():
    with dask.config.set(scheduler="synchronous"):
        yield


def kernel_pca(n_components=4, **options):
    given = {"kernel": "rbf", "gamma": 0.02, "n_landmarks": 150, "random_state": 1}
    return KernelPCA(n_components, approximation="nystrom", **{**given, **options})


def assert_same_axes(model, whole, table, array, rtol=1e-10, atol=1e-9):
    """Compare a fit to a table in blocks with one to the same rows in memory."""
    assert_array_equal(model.landmarks_, whole.landmarks_)
    assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=rtol)
    assert_allclose(model.explained_variance_ratio_, whole.explained_variance_ratio_, rtol=rtol)
    assert model.certificate_.value == pytest.approx(whole.certificate_.value, rel=1e-6, abs=rtol)
    points, rows = (
        P.toarray() if sparse.issparse(P) else P for P in (model.X_fit_, array[whole.landmarks_])
    )
    assert_array_equal(points, rows)
    scores = whole.transform(array)
    size = np.abs(scores).max()
    assert_allclose(np.asarray(model.transform(table)), scores, rtol=0, atol=atol * size)
    if isinstance(table, Counted):
        assert_allclose(model.eigenvectors_, whole.eigenvectors_, rtol=0, atol=atol)
    else:
        assert not hasattr(model, "eigenvectors_")


# ------------------------------------------------------------------------------- kernel PCA


def test_landmarks_and_axes_do_not_depend_on_the_chunks(chunked):
    table = chunked(X)
    assert_same_axes(
        kernel_pca(gamma="median").fit(table), kernel_pca(gamma="median").fit(X), table, X
    )


def test_chunks_of_one_row():
    few = X[:40]
    table = da.from_array(few, chunks=(1, 5))
    options = {"n_landmarks": 20, "gamma": "scale"}
    assert_same_axes(
        kernel_pca(3, **options).fit(table), kernel_pca(3, **options).fit(few), table, few
    )


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": "scale"},
        {"kernel": "matern"},
        {"kernel": "linear", "n_landmarks": 4},
        {"kernel": "linear"},  # of which there are no more than columns
        {"kernel": "poly", "degree": 2, "n_landmarks": 12},
        {"kernel": "cosine", "n_landmarks": 4},
        {"kernel": "laplacian"},
        {"kernel": lambda a, b: np.exp(-np.abs(a - b).max()), "n_landmarks": 9},
        {"n_components": 0.6, "n_landmarks": 0.05},
        {"n_components": None, "n_landmarks": 30},
    ],
    ids=lambda options: "-".join(map(str, options)),
)
def test_every_kernel_and_every_rule(options):
    table = Counted(X[:300])
    model, whole = kernel_pca(**options).fit(table), kernel_pca(**options).fit(X[:300])
    assert_same_axes(model, whole, table, X[:300])


def test_far_from_zero():
    table = Counted(X + 1e6)
    whole = kernel_pca().fit(X + 1e6)
    assert_same_axes(kernel_pca().fit(table), whole, table, X + 1e6, 1e-8, 1e-7)


def test_float32_rows_are_summed_in_float64(chunked):
    """The factor in memory is float32 then, that of a table in blocks is not."""
    narrow = X.astype(np.float32)
    table = chunked(narrow)
    model = kernel_pca().fit(table)
    assert model.eigenvalues_.dtype == model.X_fit_.dtype == np.float32
    assert np.asarray(model.transform(table)).dtype == np.float32
    exact = kernel_pca().fit(narrow.astype(np.float64))
    assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=3e-7)
    assert_same_axes(model, kernel_pca().fit(narrow), table, narrow, 1e-5, 1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine"])
def test_sparse_rows(kernel):
    thin = sparse.csr_array(np.where(rng.random(X.shape) < 0.4, X, 0))
    options = {"kernel": kernel, "gamma": "scale", "n_landmarks": 4}
    whole = kernel_pca(3, **options).fit(thin)
    table = Counted(thin)
    model = kernel_pca(3, **options).fit(table)
    assert sparse.issparse(model.X_fit_)
    assert_same_axes(model, whole, table, thin)


def test_passes_are_those_of_the_notes(monkeypatch):
    """One for the diagonal, one and a look for each round of draws, one for signs and scores."""
    rounds = []
    kept = pivoted._kept
    monkeypatch.setattr(pivoted, "_kept", lambda *given: rounds.append(1) or kept(*given))
    for landmarks in (20, 200):
        kernel_pca(n_landmarks=landmarks).fit(X)
        table, in_memory = Counted(X), len(rounds)
        kernel_pca(n_landmarks=landmarks).fit(table)
        assert len(rounds) == 2 * in_memory
        assert (table.passes, table.looks) == (2 + in_memory, in_memory)
        rounds.clear()
    table = Counted(X)
    kernel_pca(3, kernel="linear", n_landmarks=3).fit(table)
    assert table.passes == 2 + table.looks  # the mean; and whether it is sparse
    table = Counted(X)
    kernel_pca(gamma="scale").fit(table)
    assert table.passes == 3 + table.looks


def test_rows_that_are_taken_for_a_draw_keep_within_their_bytes(monkeypatch):
    """Three rows for each draw: the runs that a draw can fall on are that short."""
    monkeypatch.setattr(pivoted_blocks, "TAKEN", 3 * pivoted.BLOCK * X[0].nbytes)
    taken = []
    take = Counted.take
    monkeypatch.setattr(
        Counted, "take", lambda table, rows: taken.append(len(rows)) or take(table, rows)
    )
    table = Counted(X)
    assert_same_axes(kernel_pca().fit(table), kernel_pca().fit(X), table, X)
    assert pivoted.BLOCK < max(taken) <= 3 * pivoted.BLOCK


@pytest.mark.parametrize("preimage", ["learned", "fixed_point", "distance"])
def test_preimages(preimage):
    options = {"n_landmarks": 40, "preimage": preimage}
    whole, table = kernel_pca(**options).fit(X), CHUNKINGS["ragged"](X)
    model = kernel_pca(**options).fit(table)
    some = X[:20]
    assert_allclose(model.denoise(some), whole.denoise(some), rtol=1e-6)
    scores = whole.transform(some)
    back = model.inverse_transform(da.from_array(scores, chunks=(7, 4)))
    assert_allclose(np.asarray(back), whole.inverse_transform(scores), rtol=1e-6)


def test_rows_that_are_all_zero():
    for table in (Counted(np.zeros((30, 3))), da.zeros((30, 3), chunks=(7, 3))):
        with pytest.warns(UserWarning, match="equal in the feature space"):
            model = kernel_pca(2, kernel="linear").fit(table)
        assert_array_equal(np.asarray(model.transform(table)), 0)


def test_what_cannot_be_done_in_blocks_is_said_in_a_sentence():
    table = CHUNKINGS["ragged"](X)
    with pytest.raises(ValueError, match="approximation='nystrom'"):
        KernelPCA(2, kernel="rbf").fit(table)
    with pytest.raises(ValueError, match="preimage in place of fit_inverse_transform"):
        kernel_pca(2, fit_inverse_transform=True).fit(table)
    with pytest.raises(ValueError, match="needs at least 2"):
        kernel_pca(1).fit(table[:1])
    with pytest.raises(ValueError, match="positive definite"):
        kernel_pca(2, kernel=lambda x, y: np.abs(x - y).sum() + 1).fit(table[:50])
    with pytest.raises(ValueError, match="gives NaN or inf"):
        kernel_pca(2, kernel="poly", degree=400, gamma=1.0).fit(table)
    holes = X.copy()
    holes[-1, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        kernel_pca(2).fit(CHUNKINGS["ragged"](holes))


def test_drawing_is_that_of_numpy():
    masses = rng.random(50) * (rng.random(50) < 0.7)
    for seed in range(20):
        uniform = np.random.default_rng(seed).random(30)
        drawn = np.random.default_rng(seed).choice(50, 30, p=masses / masses.sum())
        assert_array_equal(places(masses, uniform)[0], drawn)


def test_signs_are_decided_whatever_the_parts():
    """Entries within a part in a million of the largest are as large, and the first decides."""
    draw = np.random.default_rng(5)
    for _ in range(200):
        row = draw.choice([-1, 1], 30) * (1 - 5e-7 * draw.integers(0, 5, 30))
        parts = np.split(row, np.sort(draw.integers(0, 31, 4)))
        parts = [deciding(part) for part in parts if len(part)]
        while len(parts) > 1:
            i = draw.integers(len(parts) - 1)
            parts[i : i + 2] = [deciding(np.concatenate(parts[i : i + 2]))]
        assert np.sign(parts[0][0]) == signs_of(row[None])[0]


def test_columns_of_blocks_are_those_of_all_rows():
    found = ColumnMoments.over(Counted(X + 1e6))
    assert found.count == len(X)
    assert_allclose(found.mean, X.mean(axis=0) + 1e6, rtol=1e-15)
    assert_allclose(found.squares, ((X - X.mean(axis=0)) ** 2).sum(axis=0), rtol=1e-8)
    assert ColumnMoments.over(Counted(X)).variance() == pytest.approx(X.var(), rel=1e-12)


# ------------------------------------------------------------------------ vector quantisation


def planted(n=1500, k=6, d=4, seed=0):
    draw = np.random.default_rng(seed)
    return 4 * draw.standard_normal((k, d))[draw.integers(0, k, n)] + 0.5 * draw.standard_normal(
        (n, d)
    )


@pytest.fixture
def small_sample(monkeypatch):
    """Let the sample that a start is found on be smaller than the tables here."""
    monkeypatch.setattr(vector_quantizer, "SAMPLE", 200)
    monkeypatch.setattr(vector_quantizer, "FEWEST", 1)


def assert_same_cells(model, whole, table, rtol=1e-10):
    assert_allclose(model.components_, whole.components_, rtol=rtol)
    assert model.inertia_ == pytest.approx(whole.inertia_, rel=rtol)
    assert model.certificate_.value == pytest.approx(whole.certificate_.value, abs=1e-8)
    assert_array_equal(np.asarray(model.predict(table)), whole.labels_)
    if isinstance(table, Counted):
        assert_array_equal(model.labels_, whole.labels_)
    else:
        assert not hasattr(model, "labels_")


def test_steps_from_given_centres_are_those_in_memory(chunked):
    rows = X[:400]
    table, options = chunked(rows), {"init": rows[:7]}
    whole = VectorQuantizer(7, **options).fit(rows)
    assert_same_cells(VectorQuantizer(7, **options).fit(table), whole, table)


@pytest.mark.parametrize("options", [{"tol": 0}, {"max_iter": 15, "tol": 1}, {"tol": 0.01}])
def test_steps_end_where_they_do_in_memory(options):
    table, options = Counted(X), {"init": X[:7], **options}
    whole = VectorQuantizer(7, **options).fit(X)
    assert_same_cells(VectorQuantizer(7, **options).fit(table), whole, table)


@pytest.mark.parametrize(("init", "dtype"), [("k-means++", np.float64), ("random", np.float32)])
def test_small_tables_start_as_in_memory(chunked, init, dtype):
    rows = X[:300].astype(dtype)
    table, options = chunked(rows), {"init": init, "n_init": 2, "random_state": 3}
    model = VectorQuantizer(5, **options).fit(table)
    assert model.components_.dtype == dtype
    assert_same_cells(model, VectorQuantizer(5, **options).fit(rows), table)


def test_a_start_from_a_sample_does_not_depend_on_the_chunks(small_sample):
    found = [VectorQuantizer(6, random_state=1).fit(make(X)) for make in CHUNKINGS.values()]
    for model in found:
        assert_allclose(model.components_, found[0].components_, rtol=1e-10)
        assert model.n_iter_ == found[0].n_iter_
        assert model.certificate_.holds


@pytest.mark.parametrize("seed", range(3))
def test_a_start_from_a_sample_is_as_good(small_sample, seed):
    rows = planted(seed=seed)
    model = VectorQuantizer(6, random_state=seed).fit(Counted(rows))
    best = VectorQuantizer(6, n_init=10, random_state=seed).fit(rows)
    assert model.inertia_ <= 1.01 * best.inertia_


def test_optimality_of_an_answer_from_passes(small_sample):
    table = Counted(X + 1e6)
    model = VectorQuantizer(6, tol=0, random_state=0).fit(table)
    assert model.certificate_.value == 0
    assert (np.diff(model.objective_history_) <= 0).all()
    squares = ((X[:, None] + 1e6 - model.components_) ** 2).sum(axis=2)
    assert_array_equal(model.labels_, squares.argmin(axis=1))
    assert model.inertia_ == pytest.approx(squares.min(axis=1).sum(), rel=1e-9)
    for j, centre in enumerate(model.components_):
        assert_allclose(centre - 1e6, X[model.labels_ == j].mean(axis=0), atol=1e-8)


def test_passes_of_steps_are_counted(small_sample):
    table = Counted(X)
    model = VectorQuantizer(6, random_state=0).fit(table)
    # the mean, the steps, the labels; the sample
    assert (table.passes, table.looks) == (1 + model.n_iter_ + 1, 1)


@pytest.mark.parametrize("options", [{"tol": 1e-10}, {"tol": 1, "max_iter": 1}])
@pytest.mark.parametrize("make", [Counted, CHUNKINGS["ragged"]])
def test_cells_without_rows_take_the_farthest(make, options):
    rows = planted()
    start = rows[:6].copy()
    start[3:] = 1e3 * np.arange(1, 4)[:, None]
    table, options = make(rows), {"init": start, **options}
    model, whole = VectorQuantizer(6, **options).fit(table), VectorQuantizer(6, **options).fit(rows)
    assert_same_cells(model, whole, table)
    assert len(np.unique(np.asarray(model.predict(table)))) == 6


def test_fewer_rows_that_differ_than_centres():
    rows = np.repeat(X[:3], 20, axis=0)
    table = CHUNKINGS["ragged"](np.vstack([rows, rows]))
    start = np.vstack([X[:3], X[:2] + 100])
    for options in ({"init": start, "tol": 0}, {"random_state": 0}):
        model = VectorQuantizer(5, **options).fit(table)
        assert model.inertia_ == pytest.approx(0, abs=1e-24)
        apart = np.abs(model.components_[:, None] - X[:3]).max(axis=2)
        assert_allclose(apart.min(axis=1), 0, atol=1e-12)  # each is one of the rows


def test_sparse_cells(small_sample):
    thin = sparse.csr_array(np.where(rng.random((400, 8)) < 0.3, 1 + rng.random((400, 8)), 0))
    for options in ({"init": thin[:5].toarray()}, {"random_state": 0}):
        dense = VectorQuantizer(5, **options).fit(Counted(thin.toarray()))
        model = VectorQuantizer(5, **options).fit(Counted(thin))
        assert_allclose(model.components_, dense.components_, rtol=1e-10, atol=1e-12)
        assert_array_equal(model.labels_, dense.labels_)


def test_what_cells_of_blocks_refuse():
    table = CHUNKINGS["ragged"](X)
    with pytest.raises(ValueError, match="solver='kmeans'"):
        VectorQuantizer(3, solver="minibatch").fit(table)
    with pytest.raises(ValueError, match="for sample_weight"):
        VectorQuantizer(3).fit(table, sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="more than n_samples=600"):
        VectorQuantizer(601).fit(table)
    with pytest.raises(ValueError, match="needs at least 2"):
        VectorQuantizer(1).fit(table[:1])
    with pytest.raises(ValueError, match="contains NaN"):
        VectorQuantizer(3).fit(da.where(table > 0, table, np.nan))


def test_a_look_at_some_rows_reads_no_further():
    table = table_of(Counted(X))
    assert_array_equal(table.map(np.abs).take(np.array([80, 3, 80])), np.abs(X[[80, 3, 80]]))
    assert table.is_sparse is False
