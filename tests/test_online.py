"""Learning from mini-batches: recovery, the peer's objective, streams, odd tables, state."""

import warnings

import numpy as np
import pytest
from hostile import table
from numpy.testing import assert_allclose
from sklearn import decomposition
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from eigenlens import (
    DictionaryLearning,
    MiniBatchDictionaryLearning,
    MiniBatchSparsePCA,
    SparsePCA,
    load,
    save,
)
from eigenlens.measure import align
from eigenlens.solvers import online, sparse_l1


def planted(n=2000, d=10, k=12, seed=0):
    """Return rows that are sparse combinations of unit atoms, more than there are columns."""
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(k, d))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    code = rng.normal(size=(n, k)) * (rng.random((n, k)) < 0.15)
    return code @ atoms + 0.01 * rng.normal(size=(n, d)), atoms


def objective(X, atoms, alpha):
    """Return the objective of the atoms with the best code."""
    X, atoms = X.astype(np.float64), atoms.astype(np.float64)
    code = sparse_l1.encode(X, atoms, alpha)
    return 0.5 * np.sum((X - code @ atoms) ** 2) + alpha * np.abs(code).sum()


def sparse_pca_objective(X, model, alpha):
    """Return the objective for the scores on the directions, with the best loadings."""
    A = X - X.mean(axis=0)
    scores = A @ np.linalg.pinv(model.components_)
    scores /= np.linalg.norm(scores, axis=0)
    return objective(A.T, scores.T, alpha)


def learner(atoms, **how):
    return online.Learner(atoms, **({"alpha": 0.1, "seed": np.zeros(4, np.uint32)} | how))


def steps(X, batch_size=250, **how):
    """Return a learner with two epochs behind it, and the code of its last."""
    rng = np.random.default_rng(0)
    found = learner(online.sampled_atoms(X, 15, rng), **how)
    batches = np.split(X, len(X) // batch_size)
    known = [found.learn(batch) for batch in batches]
    known = [found.learn(batch, before) for batch, before in zip(batches, known, strict=True)]
    return found, batches, known


# ---------------------------------------------------------------------------------- the solver


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_leading_atoms_beyond_the_rank_are_zero(unit):
    X = unit * np.outer(np.arange(1.0, 8.0), [3.0, 4.0, 0.0])
    atoms, length = online.leading_atoms(X, 4), max(np.linalg.norm(X), 1.0)
    assert_allclose(np.abs(atoms[0]), [0.6 * length, 0.8 * length, 0.0], rtol=1e-9)
    assert not atoms[1:].any()


@pytest.mark.parametrize("positive", [False, True])
def test_sums_are_those_of_the_latest_code(positive):
    """From the second epoch on, nothing of the first is left in A and B."""
    X, _ = planted()
    found, _, known = steps(X, positive_code=positive, positive_atoms=positive)
    code = np.vstack([batch.code.toarray() for batch in known])
    assert_allclose(found.A, code.T @ code, atol=1e-9)
    assert_allclose(found.B, code.T @ X, atol=1e-9)
    assert (np.linalg.norm(found.atoms, axis=1) <= 1 + 1e-12).all()
    if positive:
        assert code.min() >= 0 <= found.atoms.min()


def test_every_step_lowers_the_objective():
    X, _ = planted()
    found, batches, known = steps(X)

    def value():
        code = np.vstack([batch.code.toarray() for batch in known])
        return 0.5 * np.sum((X - code @ found.atoms) ** 2) + 0.1 * np.abs(code).sum()

    before = value()
    for b, batch in enumerate(batches):
        known[b] = found.learn(batch, known[b])
        now = value()
        assert now <= before + 1e-9
        before = now


def test_code_is_optimal_and_its_cost_is_the_objective():
    X, atoms = planted(n=50)
    found = learner(atoms, alpha=0.2)
    coded = found.learn(X)
    code = coded.code.toarray()
    assert_allclose(code, sparse_l1.encode(X, atoms, 0.2), atol=1e-6)
    assert_allclose(
        coded.cost, 0.5 * np.sum((X - code @ atoms) ** 2) + 0.2 * np.abs(code).sum(), rtol=1e-9
    )


@pytest.mark.parametrize("rows", [1, 3, 256])
def test_forgetting_is_that_of_the_paper(rows):
    """The weight of a batch grows with its number at first, then less, and never ends at 0."""
    betas = np.array([online.forgetting(step, rows) for step in range(1000)])
    assert_allclose(betas[0], 1 / (rows + 1) if rows > 1 else 0.5)
    assert_allclose(betas[1 : rows - 1], [(t * rows + 1) / ((t + 1) * rows + 1)
                                          for t in range(1, rows - 1)])  # fmt: skip
    assert (np.diff(betas) > 0).all()
    assert betas[-1] < 1


@pytest.mark.parametrize("positive", [False, True])
def test_residual_sees_an_atom_out_of_place(positive):
    X, _ = planted()
    found = steps(X, positive_code=positive, positive_atoms=positive)[0]
    for _ in range(300):
        found._move()
    assert found.residual() < 1e-6
    found.atoms[3] = np.roll(found.atoms[3], 1)
    assert found.residual() > 0.1


def test_unused_atoms_are_given_something_to_do():
    X, atoms = planted()
    useless = np.zeros_like(atoms)
    useless[:2] = atoms[:2]
    found = learner(useless)
    for batch in np.split(X, 20):
        found.learn(batch)
    assert (np.diag(found.A) > 0).all()
    assert_allclose(np.linalg.norm(found.atoms, axis=1), 1)


def test_an_atom_made_of_a_row_describes_it_at_once():
    X, _ = planted(n=5)
    coded = learner(np.zeros((12, 10)), alpha=0.01).learn(X)
    assert (np.abs(coded.code.toarray()).sum(axis=1) > 0).all()


# ---------------------------------------------------------------------- dictionaries, whole


def test_planted_atoms_are_found():
    X, atoms = planted(n=3000, d=8, k=8)
    model = MiniBatchDictionaryLearning(8, alpha=0.02, tol=1e-6, random_state=0).fit(X)
    assert (np.abs(model.components_ @ atoms.T).max(axis=0) > 0.99).all()


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_objective_is_below_that_of_the_peer(alpha):
    """From the same atoms, after as many epochs."""
    X = load_digits().data[:300] / 16
    start = np.random.default_rng(0).normal(size=(15, 64))
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    same = {
        "alpha": alpha, "max_iter": 6, "batch_size": 50, "dict_init": start, "random_state": 0,
        "tol": 0.0, "max_no_improvement": None,
    }  # fmt: skip
    ours = MiniBatchDictionaryLearning(15, **same).fit(X)
    peer = decomposition.MiniBatchDictionaryLearning(15, **(same | {"dict_init": start.copy()}))
    theirs = peer.fit(X).components_
    assert objective(X, ours.components_, alpha) < objective(X, theirs, alpha)


def test_one_epoch_is_that_of_the_peer():
    """Where nothing is known of earlier rows, the steps are the same."""
    X, _ = planted(n=400)
    start = planted(seed=1)[1]
    same = {
        "alpha": 0.1, "max_iter": 1, "batch_size": 50, "dict_init": start, "shuffle": False,
        "tol": 0.0, "max_no_improvement": None,
    }  # fmt: skip
    ours = MiniBatchDictionaryLearning(12, **same).fit(X)
    peer = decomposition.MiniBatchDictionaryLearning(12, **(same | {"dict_init": start.copy()}))
    assert_allclose(ours.components_, peer.fit(X).components_, atol=1e-4)


def test_near_the_minimum_of_all_rows():
    X, _ = planted(n=600)
    start = planted(seed=1)[1]
    code = np.zeros((len(X), 12))
    fit = {"dict_init": start, "alpha": 0.1, "random_state": 0}
    few = MiniBatchDictionaryLearning(12, batch_size=60, tol=1e-8, **fit).fit(X)
    all_rows = DictionaryLearning(12, tol=1e-9, code_init=code, max_iter=5000, **fit).fit(X)
    assert few.converged_
    assert few.certificate_.holds
    assert few.certificate_.value < 1e-4
    assert (np.diff(few.objective_history_[1:]) <= 1e-9).all()
    assert_allclose(few.objective_history_[-1], objective(X, few.components_, 0.1), rtol=1e-6)
    assert few.objective_history_[-1] < 1.02 * all_rows.error_[-1]


def test_ends_of_a_fit():
    X, _ = planted(n=600)
    fit = {"n_components": 12, "alpha": 0.1, "batch_size": 60, "random_state": 0}
    loose = MiniBatchDictionaryLearning(tol=1e-2, **fit).fit(X)
    tight = MiniBatchDictionaryLearning(tol=1e-4, **fit).fit(X)
    assert loose.n_steps_ < tight.n_steps_
    assert loose.converged_ is tight.converged_ is True
    patient = MiniBatchDictionaryLearning(tol=0.0, max_no_improvement=3, **fit).fit(X)
    assert tight.n_iter_ < patient.n_iter_ < 1000
    with pytest.warns(ConvergenceWarning, match="after 2 iterations.*max_iter"):
        short = MiniBatchDictionaryLearning(max_iter=2, tol=1e-9, **fit).fit(X)
    assert (short.n_iter_, short.n_steps_, short.converged_) == (2, 20, False)
    asked = MiniBatchDictionaryLearning(max_iter=2, tol=0.0, max_no_improvement=None, **fit).fit(X)
    assert asked.n_steps_ == 20  # as many as were asked for: nothing to warn about


def test_callback_is_called_after_each_step():
    X, _ = planted(n=100)
    seen = []
    model = MiniBatchDictionaryLearning(
        4, alpha=0.1, batch_size=25, max_iter=3, tol=0.0, max_no_improvement=None,
        callback=lambda step: seen.append((step["i"], step["batch_cost"])),
    ).fit(X)  # fmt: skip
    assert [i for i, _ in seen] == list(range(12))
    assert_allclose(25 * sum(cost for _, cost in seen[:4]), model.objective_history_[0])


def test_transform_is_that_of_the_other_dictionary():
    X, atoms = planted(n=50)
    model = MiniBatchDictionaryLearning(12, dict_init=atoms, max_iter=0, alpha=0.1,
                                        transform_algorithm="lasso_cd").fit(X)  # fmt: skip
    code = model.transform(X)
    assert_allclose(code, sparse_l1.encode(X, atoms, 0.1))
    assert_allclose(model.inverse_transform(code), code @ atoms)
    split = model.set_params(split_sign=True).transform(X)
    assert_allclose(split[:, :12] - split[:, 12:], code)


# -------------------------------------------------------------------- dictionaries, streams


def test_one_epoch_of_batches_is_a_fit():
    X, _ = planted(n=400)
    fit = {"n_components": 12, "alpha": 0.1, "dict_init": planted(seed=1)[1], "random_state": 3}
    whole = MiniBatchDictionaryLearning(
        batch_size=50, max_iter=1, shuffle=False, tol=0.0, **fit
    ).fit(X)
    stream = MiniBatchDictionaryLearning(**fit)
    for batch in np.split(X, 8):
        stream.partial_fit(batch)
    assert np.array_equal(stream.components_, whole.components_)
    assert stream.n_steps_ == whole.n_steps_ == 8
    assert stream.partial_fit(batch).n_steps_ == whole.partial_fit(batch).n_steps_ == 9
    assert np.array_equal(stream.components_, whole.components_)


@pytest.mark.parametrize("order", range(3))
def test_a_stream_in_any_order_comes_near_all_rows(order):
    X, _ = planted(n=6000)
    whole = MiniBatchDictionaryLearning(12, alpha=0.1, tol=1e-5, random_state=0).fit(X)
    stream = MiniBatchDictionaryLearning(12, alpha=0.1, random_state=0)
    rng = np.random.default_rng(order)
    for batch in np.array_split(X[rng.permutation(len(X))], 60):
        stream.partial_fit(batch)
    early = MiniBatchDictionaryLearning(12, alpha=0.1, random_state=0).partial_fit(X[:100])
    best, first = objective(X, whole.components_, 0.1), objective(X, early.components_, 0.1)
    assert objective(X, stream.components_, 0.1) - best < 0.35 * (first - best)
    assert objective(X, stream.components_, 0.1) < 1.2 * best


def test_a_stream_goes_on_after_a_file(tmp_path):
    X, _ = planted(n=300)
    stream = MiniBatchDictionaryLearning(12, alpha=0.1, random_state=0)
    for batch in np.split(X, 6)[:3]:
        stream.partial_fit(batch)
    again = load(save(stream, tmp_path / "stream.skops"))
    for model in (stream, again):
        for batch in np.split(X, 6)[3:]:
            model.partial_fit(batch)
    assert np.array_equal(stream.components_, again.components_)
    assert again.n_steps_ == 6


def test_a_failed_batch_changes_nothing():
    X, _ = planted(n=100)
    stream = MiniBatchDictionaryLearning(5, alpha=0.1, random_state=0).partial_fit(X)
    before = stream.components_.copy()
    with pytest.raises(ValueError, match="NaN"):
        stream.partial_fit(np.where(np.eye(*X.shape), np.nan, X))
    with pytest.raises(ValueError, match="9 features"):
        stream.partial_fit(X[:, :9])
    assert np.array_equal(stream.components_, before)
    assert stream.n_steps_ == 1


# --------------------------------------------------------------------------------- odd tables


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1e6])
@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (20, 1)])
def test_odd_tables(shape, alpha):
    """More atoms than rows or columns, and penalties of nothing and of everything."""
    X = np.random.default_rng(0).normal(size=shape)
    model = MiniBatchDictionaryLearning(
        7, alpha=alpha, batch_size=3, transform_algorithm="lasso_cd", random_state=0
    ).fit(X)
    code = model.transform(X)
    assert np.isfinite(model.components_).all()
    assert np.isfinite(code).all()
    if alpha > 1:
        assert not code.any()
        assert_allclose(model.objective_history_[-1], 0.5 * np.sum(X**2))
    if alpha == 0:
        assert_allclose(model.inverse_transform(code), X, atol=1e-6)


def test_all_zero():
    X = np.zeros((30, 4))
    for model in (
        MiniBatchDictionaryLearning(3, transform_algorithm="lasso_cd").fit(X),
        MiniBatchDictionaryLearning(3, transform_algorithm="lasso_cd").partial_fit(X),
    ):
        assert not model.transform(X).any()
        assert np.isfinite(model.components_).all()
        assert model.certificate_.value == 0
    with pytest.raises(ValueError, match="constant"):
        MiniBatchSparsePCA(2).fit(X)


def test_one_row_at_a_time():
    X, _ = planted(n=300)
    stream = MiniBatchDictionaryLearning(12, alpha=0.1, random_state=0)
    for row in X:
        stream.partial_fit(row[None])
    assert stream.n_steps_ == 300
    first = MiniBatchDictionaryLearning(12, alpha=0.1, random_state=0).partial_fit(X[:1])
    assert objective(X, stream.components_, 0.1) < 0.5 * objective(X, first.components_, 0.1)


@pytest.mark.parametrize("method", [MiniBatchDictionaryLearning, MiniBatchSparsePCA])
def test_float32(method):
    X, _ = planted(n=300)
    single = method(5, alpha=0.1, random_state=0).fit(X.astype(np.float32))
    double = method(5, alpha=0.1, random_state=0).fit(X)
    assert single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.components_, double.components_, atol=1e-4)
    stream = method(5, alpha=0.1, random_state=0).partial_fit(X.astype(np.float32))
    assert stream.partial_fit(X.astype(np.float32)).components_.dtype == np.float32


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dict_init": np.ones((5, 3))}, r"dict_init has shape \(5, 3\), and \(5, 10\) is needed"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_no_improvement": -1}, "max_no_improvement"),
        ({"alpha": -1}, "alpha"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, _ = planted(n=20)
    for fit in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(MiniBatchDictionaryLearning(5, **params), fit)(X)


def test_more_threads_are_not_another_answer():
    from threadpoolctl import threadpool_limits

    X, _ = planted(n=3000, d=30, k=80)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(MiniBatchDictionaryLearning(80, alpha=0.1, random_state=0).fit(X))
    assert np.array_equal(fits[0].components_, fits[1].components_)


# ------------------------------------------------------------------------------- sparse PCA


def blocks_of_columns(n=300, seed=0):
    """Return columns in groups of three that share a hidden variable."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 4)) * [4, 3, 2.5, 2]
    return np.repeat(hidden, 3, axis=1) + 0.1 * rng.standard_normal((n, 12))


def test_groups_of_columns_are_found():
    X = blocks_of_columns()
    model = MiniBatchSparsePCA(4, alpha=10, random_state=0).fit(X)
    expected = np.kron(np.eye(4), np.ones(3))
    assert_allclose(model.components_ != 0, expected)
    assert model.n_nonzero_ == (3, 3, 3, 3)
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    assert model.explained_variance_ratio_.sum() > 0.95


@pytest.mark.parametrize("alpha", [2.0, 10.0])
def test_sparse_pca_ends_where_all_features_do(alpha):
    X = load_digits().data[:200, 1:21]
    few = MiniBatchSparsePCA(4, alpha=alpha, tol=1e-6, random_state=0).fit(X)
    all_features = SparsePCA(4, alpha=alpha, tol=1e-6).fit(X)
    assert_allclose(few.objective_history_[-1], all_features.error_[-1], rtol=1e-4)
    assert align(all_features.components_, few.components_).cosines.min() > 0.99


def test_sparse_pca_is_below_the_peer_after_as_many_epochs():
    """On average: each seed ends in one local minimum or another."""
    X = load_digits().data[:200, 1:21]
    same = {"alpha": 10, "max_iter": 8, "tol": 0.0, "max_no_improvement": None}
    ours, theirs = (
        [
            sparse_pca_objective(X, method(4, random_state=seed, **same).fit(X), 10)
            for seed in range(6)
        ]
        for method in (MiniBatchSparsePCA, decomposition.MiniBatchSparsePCA)
    )
    assert np.mean(ours) < np.mean(theirs)


@pytest.mark.parametrize("seed", range(3))
def test_rows_in_batches_are_rows_at_once(seed):
    X = blocks_of_columns()
    whole = MiniBatchSparsePCA(4, alpha=10, random_state=0).fit(X)
    stream = MiniBatchSparsePCA(4, alpha=10, random_state=0)
    shuffled = X[np.random.default_rng(seed).permutation(len(X))]
    for batch in np.split(shuffled, [1, 7, 100]):
        stream.partial_fit(batch)
    assert_allclose(stream.components_, whole.components_, atol=1e-6)
    assert_allclose(stream.objective_history_[-1], whole.objective_history_[-1], rtol=1e-8)
    assert stream.n_samples_seen_ == len(X)


def test_a_wide_table_is_the_same_from_its_moments():
    """Reduced to the eigenvectors of X'X or not, the fit is the same."""
    X = blocks_of_columns(n=9)
    whole = MiniBatchSparsePCA(4, alpha=0.5, random_state=0).fit(X)
    sums = MiniBatchSparsePCA(4, alpha=0.5, random_state=0).partial_fit(X)
    assert_allclose(sums.components_, whole.components_, atol=1e-8)


def test_rows_cannot_be_added_to_a_fit():
    X = blocks_of_columns()
    with pytest.raises(ValueError, match="MiniBatchSparsePCA was fitted by fit"):
        MiniBatchSparsePCA(2, alpha=10).fit(X).partial_fit(X)


def test_code_without_a_penalty_stays_a_number_where_atoms_are_nearly_the_same():
    X = table(
        shape=(35, 46), rank=25, noise=0.0, decades=0, mean=1.0, spread=12, twice="", constant=0,
        odd="", dtype="int64", seed=45, least=None, container="C",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MiniBatchSparsePCA(alpha=0, batch_size=1, random_state=0).fit(X)
    history = model.objective_history_
    assert np.isfinite(history).all()
    assert np.abs(history).max() <= 0.5 * np.square(X - X.mean(axis=0)).sum()


def test_rows_whose_products_with_atoms_overflow_are_refused():
    """Atoms begin as long as the rows, and squares of their products are no numbers."""
    X = np.random.default_rng(2).standard_normal((3, 5))
    with pytest.raises(ValueError, match="Divide X by a constant first"):
        MiniBatchSparsePCA(batch_size=1, random_state=0).fit(4e153 * X / np.abs(X).max())
