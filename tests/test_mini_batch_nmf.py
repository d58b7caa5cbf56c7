"""Non-negative parts from mini-batches: the peer's steps, streams, state, bad input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import decomposition
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from eigenlens import NMF, MiniBatchNMF, load, save
from eigenlens.solvers import multiplicative, online_parts
from eigenlens.solvers.online_parts import _Rest
from eigenlens.solvers.parts import Penalty

BETAS = [-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5]


def planted(n=1200, d=12, k=4, seed=0, noise=0.0):
    """Return rows that are sums of parts on columns of their own, and one shared."""
    rng = np.random.default_rng(seed)
    parts = np.zeros((k, d))
    for a in range(k):
        parts[a, a * d // k : (a + 1) * d // k] = rng.uniform(1, 2, d // k)
    parts[:, 0] += 0.5
    X = rng.exponential(size=(n, k)) * (rng.random((n, k)) < 0.7) @ parts
    return X + noise * rng.random((n, d)), parts


def likeness(found, parts):
    """Return the cosine of each part with the nearest one found."""
    unit = [A / np.linalg.norm(A, axis=1, keepdims=True) for A in (found, parts)]
    return (unit[1] @ unit[0].T).max(axis=1)


def start(X, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1, (X.shape[0], k)), rng.uniform(0.1, 1, (k, X.shape[1]))


def quiet(fit, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(*args, **kwargs)


# ------------------------------------------------------------------------------------ the peer


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_steps_of_fit_are_the_peers(beta, fresh, convert):
    X = load_digits().data[:300]
    X = convert(X + 1 if beta <= 0 else X)
    W, H = start(X, 5)
    how = {
        "init": "custom",
        "beta_loss": beta,
        "tol": 0.0,
        "max_no_improvement": None,
        "max_iter": 3,
        "batch_size": 110,
        "alpha_W": 0.001,
        "alpha_H": 0.002,
        "l1_ratio": 0.3,
        "fresh_restarts": fresh,
    }
    peer = decomposition.MiniBatchNMF(5, **how).fit(X, W=W.copy(), H=H.copy())
    model = MiniBatchNMF(5, **how).fit(X, W=W, H=H)
    assert (model.n_steps_, model.n_iter_) == (peer.n_steps_, peer.n_iter_)
    assert_allclose(model.components_, peer.components_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_steps_of_partial_fit_are_the_peers(beta):
    X = load_digits().data[:300] + (beta <= 0)
    W, H = start(X[:100], 5)
    how = {"init": "custom", "beta_loss": beta, "tol": 0.0}
    peer, model = decomposition.MiniBatchNMF(5, **how), MiniBatchNMF(5, **how)
    for batch in np.split(X, 3):
        peer.partial_fit(batch, W=W.copy(), H=H.copy())
        model.partial_fit(batch, W=W, H=H)
    assert model.n_steps_ == peer.n_steps_ == 3
    assert_allclose(model.components_, peer.components_, rtol=1e-9, atol=1e-12)


def test_better_than_the_peer_where_batches_differ():
    """Batches of unlike rows end the peer's fit in its second epoch."""
    X, _ = planted(noise=0.1)
    X = X[np.argsort(X.sum(axis=1))]
    how = {"n_components": 4, "batch_size": 60, "random_state": 0, "max_iter": 50}
    peer = decomposition.MiniBatchNMF(**how).fit(X)
    model = quiet(MiniBatchNMF(**how).fit, X)
    assert peer.n_iter_ < model.n_iter_
    assert model.reconstruction_err_ < 0.9 * peer.reconstruction_err_


def test_empty_batches_do_not_end_the_fit():
    X = planted(n=60)[0]
    X = np.vstack([X, np.zeros((60, X.shape[1]))])
    model = MiniBatchNMF(4, batch_size=20, random_state=0, max_iter=500).fit(X)
    assert model.converged_
    assert model.reconstruction_err_ < 0.02 * np.linalg.norm(X)


# ---------------------------------------------------------------------------------- the solver


@pytest.mark.parametrize("beta", BETAS)
def test_one_batch_that_forgets_all_is_the_multiplicative_update(beta):
    X = planted(n=80, noise=0.1)[0]
    W, H = start(X, 3)
    penalty, none = Penalty(0.1, 0.05), Penalty(0.1 / 80, 0.05 / 80)
    learner = online_parts.Learner(
        H, beta=beta, on_W=penalty, on_H=none, rho=0.0, max_iter=1, tol=0.0
    )
    codes = W
    for _ in range(5):
        codes, _ = learner.learn(X, codes)
    found = multiplicative.solve(
        X, W, H, beta=beta, on_W=penalty, on_H=penalty, tol=0.0, max_iter=5
    )
    assert_allclose(learner.H, found.components, rtol=1e-9)
    assert_allclose(codes, found.codes, rtol=1e-9)


def test_a_part_that_no_row_uses_stays():
    X = planted(n=50)[0]
    W, H = start(X, 3)
    W[:, 1] = 0.0
    learner = online_parts.Learner(
        H, beta=2.0, on_W=Penalty(), on_H=Penalty(), rho=0.0, max_iter=1, tol=0.0
    )
    learner.learn(X, W)
    assert_allclose(learner.H[1], H[1])


def test_certificate_is_that_of_the_codes_and_parts():
    X = planted(noise=0.1)[0]
    model = MiniBatchNMF(4, random_state=0, max_iter=20)
    codes = quiet(model.fit_transform, X)
    proof = multiplicative.prove(
        X, codes, model.components_, beta=2.0, on_W=Penalty(), on_H=Penalty(), tol=1e-4
    )
    assert_allclose(model.certificate_.value, proof.value)
    best = NMF(4, tol=1e-8, max_iter=5000).fit(X)
    start = {"W": best.transform(X), "H": best.components_}
    near = MiniBatchNMF(4, init="custom", max_iter=3).fit(X, **start)
    assert near.converged_
    assert near.certificate_.value < 0.1 * model.certificate_.value


# ------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_planted_parts_are_found_from_a_stream(beta):
    X, parts = planted(n=3000)
    model = MiniBatchNMF(4, beta_loss=beta, random_state=0)
    for _ in range(6):
        for batch in np.array_split(X, 30):
            model.partial_fit(batch)
    assert model.n_steps_ == 180
    assert likeness(model.components_, parts).min() > 0.98


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_a_stream_comes_near_the_fit_of_all_rows(beta):
    X, _ = planted(n=2000, noise=0.2)
    whole = NMF(4, beta_loss=beta, max_iter=2000).fit(X)
    stream = MiniBatchNMF(4, beta_loss=beta, random_state=0)
    for _ in range(10):
        for batch in np.array_split(X, 20):
            stream.partial_fit(batch)
    codes = stream.transform(X)
    loss = decomposition._nmf._beta_divergence(X, codes, stream.components_, beta, True)
    assert loss < 1.05 * whole.reconstruction_err_


def test_codes_after_fit_are_those_of_transform():
    X = load_digits().data[:200]
    for beta in (2.0, 1.0):
        model = MiniBatchNMF(6, beta_loss=beta, batch_size=50, max_iter=10, random_state=0)
        codes = quiet(model.fit_transform, X)
        assert_allclose(codes, model.transform(X), atol=1e-6 * codes.max())
        loss = decomposition._nmf._beta_divergence(X, codes, model.components_, beta, True)
        assert_allclose(model.reconstruction_err_, loss)


def test_history_tells_the_objective():
    X = planted(noise=0.1)[0]
    model = MiniBatchNMF(4, batch_size=100, forget_factor=1.0, random_state=0, max_iter=30)
    quiet(model.fit, X)
    history = model.objective_history_
    assert len(history) == model.n_iter_
    assert history[-1] < 0.5 * history[0]
    assert_allclose(history[-1], 0.5 * model.reconstruction_err_**2, rtol=0.1)


def test_ends_when_the_parts_rest():
    X = planted(noise=0.1)[0]
    loose = quiet(MiniBatchNMF(4, tol=1e-2, random_state=0).fit, X)
    tight = quiet(MiniBatchNMF(4, tol=1e-4, random_state=0).fit, X)
    assert 1 < loose.n_iter_ < tight.n_iter_


def test_warns_where_the_certificate_does_not_hold():
    X = planted(noise=0.1)[0]
    with pytest.warns(ConvergenceWarning, match="Maximum number of iterations 2 reached"):
        model = MiniBatchNMF(4, max_iter=2, init="random", random_state=0).fit(X)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match="batch_size"):
        MiniBatchNMF(4, tol=0.5, init="random", random_state=0).fit(X)


# --------------------------------------------------------------------------- state and numbers


def test_goes_on_after_a_file(tmp_path):
    X = planted()[0]
    model, other = MiniBatchNMF(4, random_state=0), MiniBatchNMF(4, random_state=0)
    for batch in np.split(X[:600], 6):
        model.partial_fit(batch)
        other.partial_fit(batch)
    again = load(save(other, tmp_path / "model.skops"))
    for batch in np.split(X[600:], 6):
        model.partial_fit(batch)
        again.partial_fit(batch)
    assert np.array_equal(model.components_, again.components_)
    assert model.n_steps_ == again.n_steps_ == 12


def test_partial_fit_goes_on_after_fit():
    X = planted()[0]
    model = quiet(MiniBatchNMF(4, random_state=0, max_iter=5).fit, X)
    before, steps = model.components_.copy(), model.n_steps_
    model.partial_fit(X[:100])
    assert model.n_steps_ == steps + 1
    assert 0 < np.abs(model.components_ - before).max() < 0.5 * before.max()
    assert not hasattr(model, "certificate_")  # it spoke of other parts
    assert model.transform(X).shape == (len(X), 4)


@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_sparse_is_dense(beta):
    X = planted()[0]
    how = {"n_components": 4, "beta_loss": beta, "random_state": 0, "batch_size": 300}
    dense = quiet(MiniBatchNMF(**how, max_iter=20).fit, X)
    for convert in (sparse.csr_array, sparse.csc_matrix):
        model = quiet(MiniBatchNMF(**how, max_iter=20).fit, convert(X))
        assert_allclose(model.components_, dense.components_, rtol=1e-6, atol=1e-9)
        stream = MiniBatchNMF(**how).partial_fit(convert(X))
        assert_allclose(stream.components_, MiniBatchNMF(**how).partial_fit(X).components_)


def test_single_precision():
    X = planted()[0].astype(np.float32)
    how = {"n_components": 4, "init": "random", "random_state": 0}
    single = quiet(MiniBatchNMF(**how, max_iter=20).fit, X)
    double = quiet(MiniBatchNMF(**how, max_iter=20).fit, X.astype(np.float64))
    assert single.components_.dtype == single.transform(X).dtype == np.float32
    assert_allclose(single.components_, double.components_, atol=1e-4 * double.components_.max())
    stream = MiniBatchNMF(**how).partial_fit(X).partial_fit(X)
    assert stream.components_.dtype == np.float32


def test_start_is_left_alone():
    X = planted()[0]
    W, H = start(X, 4)
    before = W.copy(), H.copy()
    quiet(MiniBatchNMF(4, init="custom", max_iter=3).fit, X, W=W, H=H)
    MiniBatchNMF(4, init="custom").partial_fit(X, W=W, H=H)
    assert np.array_equal(W, before[0])
    assert np.array_equal(H, before[1])


# ---------------------------------------------------------------------------------- bad input


def test_negative_entries_are_refused():
    X = planted()[0]
    X[3, 2] = -1.0
    for call in (MiniBatchNMF(4).fit, MiniBatchNMF(4).partial_fit):
        with pytest.raises(ValueError, match="Negative values in data passed to MiniBatchNMF"):
            call(X)
    model = MiniBatchNMF(4, random_state=0).partial_fit(np.abs(X))
    kept = model.components_.copy()
    with pytest.raises(ValueError, match="Negative values"):
        model.partial_fit(X)
    assert np.array_equal(model.components_, kept)
    assert model.n_steps_ == 1


def test_zeros_are_refused_where_the_loss_has_none():
    X = planted()[0]
    for call in (MiniBatchNMF(beta_loss=0).fit, MiniBatchNMF(beta_loss=-1).partial_fit):
        with pytest.raises(ValueError, match="When beta_loss <= 0 and X contains zeros"):
            call(X)


def test_a_batch_of_other_columns_is_refused():
    X = planted()[0]
    model = MiniBatchNMF(4, random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :5])


# ------------------------------------------------------------------------------ when it rests


def test_parts_rest_after_a_round_of_short_steps_in_a_row():
    """The first step, of parts that had seen nothing, does not count."""
    H = np.ones((2, 3))
    rest = _Rest(3, 0.1, None)
    steps = [0.0, 0.05, 0.05, 0.2, 0.05, 0.05, 0.05]
    assert [rest.reached(H, H - step, np.nan) for step in steps] == [False] * 6 + [True]
    rest = _Rest(3, 0.1, None)
    assert [rest.reached(H, H, np.nan) for _ in range(4)] == [False] * 3 + [True]


def test_parts_rest_after_a_wait_without_a_better_objective():
    H = np.ones((2, 3))
    rest = _Rest(3, 0.0, 2)
    seen = [np.nan, np.nan, 5.0, 4.0, 4.5, 3.0, 3.0, 3.5]
    assert [rest.reached(H, 0 * H, value) for value in seen] == [False] * 7 + [True]
