"""Dictionary learning: descent, optimality, the peer's objective, constraints, odd tables."""

import warnings

import numpy as np
import pytest
from hostile import table
from numpy.testing import assert_allclose
from sklearn import decomposition
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from eigenlens import DictionaryLearning, MiniBatchDictionaryLearning
from eigenlens.solvers import sparse_l1


def planted(n=200, d=10, k=15, seed=0):
    """Return rows that are sparse combinations of unit atoms, more than there are columns."""
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(k, d))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    code = rng.normal(size=(n, k)) * (rng.random((n, k)) < 0.15)
    return code @ atoms + 0.01 * rng.normal(size=(n, d)), atoms


def start(X, k, seed=0):
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(k, X.shape[1]))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    return {"code_init": np.zeros((len(X), k)), "dict_init": atoms}


def objective(X, code, atoms, alpha):
    return 0.5 * np.sum((X - code @ atoms) ** 2) + alpha * np.abs(code).sum()


@pytest.mark.parametrize("alpha", [0.02, 0.3])
@pytest.mark.parametrize("positive", [(False, False), (True, False), (False, True), (True, True)])
def test_descent_and_optimality(alpha, positive):
    X, _ = planted()
    on_code, on_atoms = positive
    model = DictionaryLearning(
        12, alpha=alpha, positive_code=on_code, positive_dict=on_atoms, tol=1e-10,
        max_iter=20_000, transform_algorithm="lasso_cd", transform_max_iter=20_000, random_state=0,
    ).fit(X)  # fmt: skip
    assert (np.diff(model.error_) <= 1e-10 * model.error_[0]).all()
    assert model.converged_
    assert model.certificate_.holds
    D = model.components_
    assert (np.linalg.norm(D, axis=1) <= 1 + 1e-12).all()
    C = model.transform(X)
    if on_code:
        assert (C >= 0).all()
    if on_atoms:
        assert (D >= 0).all()
    # the objective that was reported is that of these atoms with the best code for them
    assert_allclose(objective(X, C, D, alpha), model.error_[-1], rtol=1e-4)
    # and no atom can be moved to lower it: the gradient step stays where it is
    used = np.abs(C).sum(axis=0) > 0
    H = C.T @ C
    step = D + (C.T @ X - H @ D) / np.where(used, np.diag(H), 1)[:, None]
    if on_atoms:
        step = np.maximum(step, 0)
    step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1)
    assert_allclose(step[used], D[used], atol=5e-3)


@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_objective_is_that_of_the_peer(alpha):
    X, _ = planted(n=80)
    same = {"alpha": alpha, "max_iter": 25, "tol": 0.0, **start(X, 8)}
    with pytest.warns(ConvergenceWarning):
        ours = DictionaryLearning(8, **same).fit(X)
    peer = decomposition.DictionaryLearning(8, fit_algorithm="lars", random_state=0, **same).fit(X)
    assert_allclose(ours.error_, peer.error_, rtol=1e-5)
    signs = np.sign((ours.components_ * peer.components_).sum(axis=1))[:, None]
    assert_allclose(ours.components_ * signs, peer.components_, atol=1e-3)


def test_unused_atoms_are_resampled():
    """On digits with a strong penalty most of a random start is unused at first."""
    X = load_digits().data[:600] / 16
    X -= X.mean(axis=0)
    same = {"alpha": 1.0, "max_iter": 20, "tol": 0.0, **start(X, 60)}
    with pytest.warns(ConvergenceWarning):
        ours = DictionaryLearning(60, random_state=0, **same).fit(X)
    without = sparse_l1.solve(
        X.T, 60, alpha=1.0, start=(same["dict_init"].T, same["code_init"]), tol=0.0, max_iter=20
    )
    assert ours.error_[-1] < 0.98 * without.objective_history[-1]
    assert (np.linalg.norm(ours.components_, axis=1) > 0.5).all()
    again = DictionaryLearning(60, random_state=0, **same)
    with pytest.warns(ConvergenceWarning):
        assert np.array_equal(again.fit(X).components_, ours.components_)


def test_planted_atoms_are_found():
    X, atoms = planted(n=1500, d=8, k=8)
    model = DictionaryLearning(8, alpha=0.02, tol=1e-7, random_state=0, **start(X, 8, 3)).fit(X)
    cosines = np.abs(model.components_ @ atoms.T).max(axis=0)
    assert (cosines > 0.98).sum() >= 7


def test_split_sign_and_inverse():
    X, _ = planted()
    model = DictionaryLearning(6, alpha=0.1, tol=1e-5, split_sign=True, transform_algorithm="lars",
                               transform_n_nonzero_coefs=3).fit(X)  # fmt: skip
    code = model.transform(X)
    assert code.shape == (len(X), 12)
    assert (code >= 0).all()
    assert (np.count_nonzero(code, axis=1) <= 3).all()
    assert_allclose(model.inverse_transform(code), (code[:, :6] - code[:, 6:]) @ model.components_)
    with pytest.raises(ValueError, match="Expected 12, got 6"):
        model.inverse_transform(code[:, :6])


def test_callback_is_called():
    X, _ = planted(n=50)
    seen = []
    model = DictionaryLearning(4, alpha=0.1, tol=1e-6, callback=seen.append).fit(X)
    assert [call["ii"] for call in seen] == list(range(0, model.n_iter_, 5))
    assert [call["current_cost"] for call in seen] == model.error_[::5]


@pytest.mark.parametrize("alpha", [0.1, 1e6])
@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (20, 1)])
def test_odd_tables(shape, alpha):
    X = np.random.default_rng(0).normal(size=shape)
    model = DictionaryLearning(7, alpha=alpha, tol=1e-5, transform_algorithm="lasso_cd").fit(X)
    assert np.isfinite(model.components_).all()
    code = model.transform(X)
    assert np.isfinite(code).all()
    if alpha > 1:
        assert not code.any()
        assert_allclose(model.error_[-1], 0.5 * np.sum(X**2))


def test_more_threads_are_not_another_answer():
    from threadpoolctl import threadpool_limits

    X, _ = planted(n=3000, d=30, k=40)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads), pytest.warns(ConvergenceWarning):
            fits.append(DictionaryLearning(40, alpha=0.1, max_iter=10, random_state=0).fit(X))
    assert_allclose(fits[0].components_, fits[1].components_, atol=1e-8)


@pytest.mark.parametrize("method", [DictionaryLearning, MiniBatchDictionaryLearning])
@pytest.mark.parametrize("size", [1e200, 8e152], ids=["squares", "sums of squares"])
def test_squares_that_overflow_are_named(method, size):
    X = size * np.random.default_rng(0).standard_normal((30, 6))
    with pytest.raises(ValueError, match="so large that their squares overflow"):
        method(2).fit(X)


@pytest.mark.parametrize("kind", [DictionaryLearning, MiniBatchDictionaryLearning])
def test_split_signs_have_a_name_each(kind):
    model = kind(4, split_sign=True, random_state=0).fit(planted()[0])
    code = model.set_output(transform="pandas").transform(planted()[0])
    assert list(code.columns) == list(model.get_feature_names_out())
    assert code.shape[1] == 8


def test_positive_code_of_a_method_without():
    model = DictionaryLearning(4, positive_code=True, random_state=0).fit(planted()[0])
    with pytest.raises(ValueError, match="Take transform_algorithm='lasso_cd'"):
        model.transform(planted()[0])


@pytest.mark.parametrize("scale", [2.0**120, 2.0**-120])
@pytest.mark.parametrize("algorithm", ["omp", "lars", "lasso_lars", "lasso_cd", "threshold"])
def test_code_of_huge_and_tiny_rows(algorithm, scale):
    X = planted()[0].astype(np.float32)
    model = DictionaryLearning(
        15, alpha=0.1, transform_algorithm=algorithm, max_iter=1, random_state=0
    )
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    code = model.transform(X)
    model.set_params(transform_alpha=0.1 * scale)
    scaled = model.transform(X * np.float32(scale)) / np.float32(scale)
    assert_allclose(scaled, code, atol=1e-4 * np.abs(code).max())


@pytest.mark.parametrize(
    "made",
    [
        {"shape": (58, 38), "rank": 12, "decades": -1, "mean": -1e3, "spread": 3, "dtype": "int8",
         "seed": 96},
        {"shape": (4, 25), "rank": 4, "decades": 0, "mean": 0.0, "spread": 12, "dtype": "float64",
         "seed": 1},
    ],
    ids=["atoms that are rounding errors", "atoms that are nearly the same"],
)  # fmt: skip
def test_loadings_stay_numbers_without_a_penalty(made):
    """Many atoms, few dimensions or rows, and signs that do not suit."""
    plain = {"noise": 0.0, "twice": "", "constant": 0, "odd": "", "least": None, "container": "C"}
    X = table(**made, **plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = DictionaryLearning(alpha=0, positive_dict=True, random_state=0).fit(X)
    history = model.objective_history_
    assert np.isfinite(history).all()
    assert history.max() == history[0]
    assert (np.linalg.norm(model.components_, axis=1) <= 1 + 1e-12).all()


def test_atoms_that_are_rounding_beside_the_others_are_not_used():
    """Their code would have to be as large as they are small."""
    rng = np.random.default_rng(0)
    A, scores = rng.normal(size=(6, 5)), rng.normal(size=(6, 2)) * [1.0, 1e-60]
    found = sparse_l1.solve(A, 2, alpha=0.0, start=(scores, np.zeros((5, 2))), max_iter=1)
    _, loadings = found.factors
    assert np.abs(loadings[:, 0]).max() > 0.1
    assert not loadings[:, 1].any()
