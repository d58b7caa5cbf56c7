"""NMF: what it finds, what it says about it, what it takes and what it refuses."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.decomposition
from real_data import real_file
from scipy import optimize, sparse, stats
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from eigenlens import NMF, PCA, VectorQuantizer
from eigenlens.measure import sparseness

KL = "kullback-leibler"


def planted(n=300, d=100, k=5, snr=5.0, seed=0):
    """Return a table of exponential parts in normal noise, the deviation of which is known."""
    rng = np.random.default_rng(seed)
    truth = rng.exponential(size=(n, k)) @ rng.exponential(size=(k, d))
    noise = truth.std() / snr
    return np.maximum(truth + noise * rng.standard_normal((n, d)), 0.0), noise


def counts(seed=0, n=400, d=60, k=4):
    """Return Poisson counts, mean 5 at least, whose parts each have a column of their own."""
    rng = np.random.default_rng(seed)
    H = rng.gamma(0.5, size=(k, d))
    H[:, :k] = np.diag(np.full(k, H.max()))  # anchors
    W = rng.gamma(1.0, size=(n, k))
    H *= 6.0 / (W @ H).mean()
    return rng.poisson(W @ H).astype(float), H


def matched_cosine(found, truth):
    """Return the least cosine of parts paired off as well as can be."""
    A, B = (P / np.linalg.norm(P, axis=1, keepdims=True) for P in (found, truth))
    rows, columns = linear_sum_assignment(-A @ B.T)
    return (A @ B.T)[rows, columns].min()


# --------------------------------------------------------------------------------- what it finds


@pytest.mark.parametrize("loss", ["frobenius", KL])
@pytest.mark.parametrize("solver", ["cd"])
def test_fit_ends_where_the_certificate_says(loss, solver):
    X, _ = planted()
    model = NMF(5, beta_loss=loss, solver=solver, tol=1e-5, max_iter=2000)
    W = model.fit_transform(X)
    assert model.converged_
    assert model.certificate_.holds
    assert np.diff(model.objective_history_).max() <= 0
    assert len(model.objective_history_) == model.n_iter_
    np.testing.assert_allclose(model.transform(X), W, rtol=1e-4, atol=1e-6 * W.max())
    np.testing.assert_allclose(model.fit(X).transform(X), W, rtol=1e-4, atol=1e-6 * W.max())
    assert model.objective_history_[-1] == pytest.approx(model.reconstruction_err_**2 / 2)
    assert model.n_components_ == 5
    assert not hasattr(model, "_codes")


def test_parts_without_noise_are_found():
    rng = np.random.default_rng(0)
    H = rng.exponential(size=(4, 30)) * (rng.random((4, 30)) < 0.4)
    X = rng.exponential(size=(200, 4)) * (rng.random((200, 4)) < 0.5) @ H
    model = NMF(4, tol=1e-7, max_iter=3000).fit(X)
    assert matched_cosine(model.components_, H) > 0.9999
    assert model.reconstruction_err_ < 1e-4 * np.linalg.norm(X)


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_fitted_better_by_their_own_likelihood(seed):
    X, H = counts(seed)
    poisson = NMF(4, beta_loss=KL, tol=1e-5, max_iter=2000).fit(X)
    squares = NMF(4, tol=1e-5, max_iter=2000).fit(X)
    W = squares.transform(X)
    means = np.maximum(W @ squares.components_, 1e-7)
    assert poisson.log_likelihood_ > stats.poisson.logpmf(X, means).sum()
    fitted = poisson.transform(X) @ poisson.components_
    assert poisson.log_likelihood_ == pytest.approx(stats.poisson.logpmf(X, fitted).sum(), rel=1e-6)
    assert poisson.deviance_ == pytest.approx(poisson.reconstruction_err_**2)
    assert matched_cosine(poisson.components_, H) > 0.95
    assert not hasattr(squares, "log_likelihood_")


def test_starts_of_scikit_learn_reach_its_loss():
    X, _ = planted()
    for init in (None, "nndsvd", "nndsvdar", "random"):
        theirs = sklearn.decomposition.NMF(5, init=init, random_state=0, max_iter=1000)
        ours = NMF(5, init=init, random_state=0, tol=1e-5, max_iter=1000).fit(X)
        assert ours.reconstruction_err_ <= theirs.fit(X).reconstruction_err_


def test_penalties_are_those_of_scikit_learn():
    X, _ = planted()
    how = {"alpha_W": 0.02, "alpha_H": 0.01, "l1_ratio": 0.6, "tol": 1e-5, "max_iter": 3000}

    def value(model):
        W, H, (n, d) = model.fit_transform(X), model.components_, X.shape
        penalties = [
            alpha * size * (0.6 * A.sum() + 0.5 * 0.4 * (A**2).sum())
            for A, size, alpha in ((W, d, 0.02), (H, n, 0.01))
        ]
        return 0.5 * ((X - W @ H) ** 2).sum() + sum(penalties)

    ours, theirs = NMF(5, **how), sklearn.decomposition.NMF(5, **how)
    best = value(ours)
    assert best == pytest.approx(value(theirs), rel=1e-3)
    assert best <= value(theirs)
    assert best == pytest.approx(ours.objective_history_[-1], rel=1e-9)


def test_every_solver_agrees_on_what_is_best():
    """Multiplicative updates come to the same optimum, late."""
    X, _ = planted(60, 20, 2)
    for loss in ("frobenius", KL):
        fast = NMF(2, beta_loss=loss, tol=1e-7, max_iter=2000).fit(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            slow = NMF(2, beta_loss=loss, solver="mu", tol=0, max_iter=3000).fit(X)
        assert fast.reconstruction_err_ == pytest.approx(slow.reconstruction_err_, rel=1e-4)


@pytest.mark.parametrize("loss", ["itakura-saito", 0.5, 1.5, 3])
def test_other_losses_go_by_multiplicative_updates(loss):
    X = planted(60, 20, 2)[0] + 0.1
    model = NMF(2, beta_loss=loss, solver="mu", max_iter=1000)
    W = model.fit_transform(X)
    assert np.abs(W @ model.components_ - X).mean() < 0.3 * X.std()
    with pytest.raises(ValueError, match=r"does not handle beta_loss.*Take solver='mu'"):
        NMF(2, beta_loss=loss).fit(X)


# --------------------------------------------------------------------------------------- holes


@pytest.mark.parametrize("seed", range(3))
def test_holes_are_filled_to_the_noise(seed):
    X, noise = planted(500, 200, 5, snr=10, seed=seed)
    holes = np.random.default_rng(seed).random(X.shape) < 0.3
    model = NMF(5, missing="mask", tol=1e-4, max_iter=1000).fit(np.where(holes, np.nan, X))
    filled = model.impute(np.where(holes, np.nan, X))
    np.testing.assert_array_equal(filled[~holes], X[~holes])
    assert np.sqrt(np.mean((filled - X)[holes] ** 2)) <= 1.05 * noise


@pytest.mark.parametrize("loss", ["frobenius", KL])
def test_a_mask_with_everything_observed_is_none(loss):
    X, _ = planted(60, 20, 3)
    plain = NMF(3, beta_loss=loss).fit(X)
    masked = NMF(3, beta_loss=loss, missing="mask").fit(X)
    np.testing.assert_allclose(masked.components_, plain.components_, rtol=1e-8)


def test_counts_with_holes():
    X, H = counts()
    holes = np.random.default_rng(0).random(X.shape) < 0.2
    how = {"beta_loss": KL, "missing": "mask", "tol": 1e-5, "max_iter": 2000}
    model = NMF(4, **how).fit(np.where(holes, np.nan, X))
    assert matched_cosine(model.components_, H) > 0.95
    fitted = model.impute(np.where(holes, np.nan, X))
    assert np.sqrt(np.mean((fitted - X)[holes] ** 2 / np.maximum(fitted[holes], 1))) < 1.15


def test_rows_without_any_entry_are_harmless_and_columns_are_named():
    X, _ = planted(60, 20, 3)
    X[4] = np.nan
    model = NMF(3, missing="mask", tol=1e-5, max_iter=1000)
    W = model.fit_transform(X)
    assert not W[4].any()
    assert not model.impute(X)[4].any()
    others = NMF(3, missing="mask", tol=1e-5, max_iter=1000).fit(np.delete(X, 4, axis=0))
    assert others.reconstruction_err_ == pytest.approx(model.reconstruction_err_, rel=1e-3)
    X[:, 7] = np.nan
    with pytest.raises(ValueError, match=r"Column 7 of X has no observed entry \(1 in all\)"):
        model.fit(X)


# ------------------------------------------------------------------------------- number of parts


def test_number_of_parts_by_hidden_entries():
    def right(seed, *shape):
        X, _ = planted(*shape, seed=seed)
        model = NMF("cv", random_state=seed, tol=1e-3).fit(X)
        return model.n_components_ == model.choice_.k == 5

    assert right(0)
    assert sum(right(seed, 100, 30) for seed in range(10)) >= 9  # with fewer entries to judge by


def test_number_of_parts_of_counts_and_with_holes():
    X, _ = counts()
    X[::7, 3] = np.nan
    model = NMF("cv", beta_loss=KL, missing="mask", random_state=0, tol=1e-3, max_iter=1000)
    assert model.fit(X).n_components_ == 4
    assert "excess loss" in str(model.choice_)


# ------------------------------------------------------------------------------- what it takes


def test_rows_of_weight_zero_get_codes_too():
    X, _ = planted(60, 20, 3)
    weight = np.ones(60)
    weight[::5] = 0.0
    model = NMF(3, tol=1e-6, max_iter=2000)
    W = model.fit_transform(X, sample_weight=weight)
    assert W.shape == (60, 3)
    kept = NMF(3, tol=1e-6, max_iter=2000).fit(X[weight > 0])
    np.testing.assert_allclose(model.components_, kept.components_, rtol=1e-6)


@pytest.mark.parametrize("loss", ["frobenius", KL])
def test_sparse_tables_stay_sparse(loss):
    X = sparse.random_array((300, 200), density=0.05, rng=np.random.default_rng(0)).tocsr()
    how = {"beta_loss": loss, "random_state": 0, "tol": 1e-5, "max_iter": 3000, "init": "random"}
    one, other = NMF(4, **how).fit(X), NMF(4, **how).fit(X.toarray())
    assert one.reconstruction_err_ == pytest.approx(other.reconstruction_err_, rel=1e-3)
    np.testing.assert_allclose(
        other.transform(X), other.transform(X.toarray()), atol=1e-6 * other.transform(X).max()
    )


def test_names_pipelines_and_single_precision():
    X, _ = planted(60, 8, 2)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = NMF(2).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["nmf0", "nmf1"]
    assert make_pipeline(MinMaxScaler(), NMF(2, tol=1e-3)).fit_transform(X).shape == (60, 2)
    single = NMF(2).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.inverse_transform(np.ones((1, 2), np.float32)).dtype == np.float32


def test_a_start_can_be_given():
    X, _ = planted(60, 20, 3)
    rng = np.random.default_rng(0)
    W, H = rng.random((60, 3)), rng.random((3, 20))
    model = NMF(init="custom", tol=1e-3, max_iter=500).fit(X, W=W, H=H)
    assert model.n_components_ == 3
    with pytest.warns(RuntimeWarning, match="W or H are ignored"):
        NMF(3, tol=1e-2, max_iter=500).fit(X, W=W, H=H)


# ------------------------------------------------------------------------------- what it refuses


def test_negative_entries_are_counted_and_shown():
    X, _ = planted(60, 20, 3)
    X[3, 5], X[8, 1] = -0.5, -2.0
    says = r"Negative values .*2 of 1200 entries, the first in row 3, column 5, the least -2"
    with pytest.raises(ValueError, match=says):
        NMF(3).fit(X)
    with pytest.raises(ValueError, match=says):
        NMF(3).fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="or use PCA"):
        NMF(3).fit(np.abs(X)).transform(X)


@pytest.mark.parametrize(
    ("options", "given", "says"),
    [
        ({"n_components": 30, "init": "nndsvd"}, {}, "can only be used when n_components <= min"),
        ({"n_components": 3, "init": "custom"}, {}, "init='custom' needs H"),
        ({"missing": "drop"}, {}, "missing"),
        ({"n_components": 0}, {}, "n_components"),
        ({"beta_loss": "poisson"}, {}, "beta_loss"),
        ({"alpha_W": -1}, {}, "alpha_W"),
    ],
)
def test_what_cannot_be_done_is_said(options, given, says):
    X, _ = planted(60, 20, 3)
    with pytest.raises(ValueError, match=re.escape(says) if "<" in says else says):
        NMF(**options).fit(X, **given)


def test_holes_in_sparse_tables_and_infinite_entries():
    X = planted(60, 20, 3)[0]
    X[X < 0.5] = 0
    X[2, 3] = np.nan
    with pytest.raises(ValueError, match="its empty cells count as zeros"):
        NMF(3, missing="mask").fit(sparse.csr_array(X))
    X[2, 3] = np.inf
    for missing in ("error", "mask"):
        with pytest.raises(ValueError, match="infinity"):
            NMF(3, missing=missing).fit(X)
    X[2, 3] = 1e200
    with pytest.raises(ValueError, match="overflow"):
        NMF(3).fit(X)


@pytest.mark.parametrize("loss", ["frobenius", KL])
def test_zero_rows_and_columns_and_more_parts_than_anything_are_harmless(loss):
    X = planted(12, 8, 3)[0]
    X[3], X[:, 5] = 0.0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k in (3, 20):
            model = NMF(k, beta_loss=loss, random_state=0, max_iter=300)
            W = model.fit_transform(X)
            assert np.isfinite(W).all()
            assert np.isfinite(model.components_).all()
            assert not W[3].any()
        assert not NMF(2, beta_loss=loss).fit_transform(np.zeros((5, 4))).any()


def test_a_fit_that_stops_early_says_so():
    X, _ = planted(60, 20, 3)
    with pytest.warns(ConvergenceWarning, match=r"Maximum number of iterations 2 reached"):
        NMF(3, max_iter=2).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NMF(3, max_iter=2, tol=0).fit(X)  # so many were asked for


# ------------------------------------------------------------------------------------ real data


def test_parts_of_faces():
    """Lee and Seung's comparison: parts are sparser than eigenfaces, and add up nearly as well."""
    X = np.load(real_file("cbcl_faces.npz"))["X"] / 255.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NMF(49, max_iter=30).fit(X)
    codes = VectorQuantizer(49, random_state=0, n_init=1).fit(X)
    pca = PCA(49).fit(X)
    errors = [model.reconstruction_err_, codes.reconstruction_err_]
    errors.append(np.linalg.norm(X - pca.inverse_transform(pca.transform(X))))
    nmf, vq, best = np.array(errors) / np.linalg.norm(X)
    assert best < nmf < vq
    assert sparseness(model).mean() > 2 * sparseness(pca).mean()


# ------------------------------------------------------------------------------- what went wrong


@pytest.mark.parametrize("loss", ["frobenius", KL])
@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e80])
def test_size_of_the_numbers_does_not_matter(loss, size):
    X, _ = planted(60, 20, 3)
    how = {"beta_loss": loss, "tol": 1e-5, "max_iter": 2000}
    one, other = NMF(3, **how), NMF(3, **how)
    fitted = other.fit_transform(size * X) / size @ other.components_
    expected = one.fit_transform(X) @ one.components_
    assert other.certificate_.holds
    assert np.linalg.norm(X - fitted) <= 1.01 * np.linalg.norm(X - expected)
    np.testing.assert_allclose(
        other.transform(size * X) / size @ other.components_, fitted, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_size_of_single_numbers_and_of_weights_does_not_matter(size):
    X, _ = planted(60, 20, 3)
    model = NMF(3, beta_loss=KL, max_iter=1000)
    W = model.fit_transform((size * X).astype(np.float32), sample_weight=np.full(60, 1e100))
    fitted = W.astype(float) / size @ model.components_.astype(float)
    assert np.linalg.norm(X - fitted) < 0.2 * np.linalg.norm(X - X.mean())
    assert model.certificate_.holds


def test_penalties_follow_the_size_of_the_numbers():
    """With X times c, and W and H times its root: the loss by c^2, the squares of W and H by c."""
    X, _ = planted(60, 20, 3)
    how, c = {"tol": 1e-6, "max_iter": 3000}, 4.0**-10
    small, large = NMF(3, alpha_W=0.01 * c, **how).fit(c * X), NMF(3, alpha_W=0.01, **how).fit(X)
    expected = c**2 * large.objective_history_[-1]
    assert small.objective_history_[-1] == pytest.approx(expected, rel=1e-6)


def test_counts_from_a_start_with_empty_rows_and_columns():
    """NNDSVD of more blocks than parts has rows and columns of zeros, which nothing would move."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 30))
    for b in range(6):
        X[10 * b : 10 * b + 10, 5 * b : 5 * b + 5] = rng.random((10, 5)) + 0.5
    model = NMF(3, init="nndsvd", beta_loss=KL, max_iter=1000).fit(X)
    other = NMF(3, init="nndsvda", beta_loss=KL, max_iter=1000).fit(X)
    assert model.deviance_ < 1.3 * other.deviance_


@pytest.mark.parametrize(("k", "spread"), [(100, 1.0), (100, 1e-3), (20, 1e-5)])
def test_codes_of_many_parts_and_of_parts_nearly_alike(k, spread):
    rng = np.random.default_rng(0)
    H = 1 + spread * rng.exponential(size=(k, 150))
    X = rng.exponential(size=(10, k)) @ H + 0.01 * rng.random((10, 150))
    model = NMF(k)
    model.components_, model.n_features_in_ = H, 150
    W = model.transform(X)
    best = [optimize.nnls(H.T, x)[1] for x in X]
    np.testing.assert_allclose(np.linalg.norm(X - W @ H, axis=1), best, rtol=1e-4)


@pytest.mark.parametrize("loss", ["frobenius", KL])
def test_codes_that_are_not_unique_are_the_same_twice(loss):
    for X in (np.full((30, 10), 3.0), planted(30, 20, 2, snr=1e6)[0]):
        model = NMF(3, beta_loss=loss, max_iter=500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            W = model.fit_transform(X)
        np.testing.assert_allclose(model.transform(X), W, rtol=1e-4, atol=1e-4 * W.max())


def test_counts_in_single_precision_with_an_outlier():
    X = np.random.default_rng(3).random((50, 12))
    X[0, 0] = 1e8
    single, double = (
        NMF(3, beta_loss=KL, max_iter=1000).fit(X.astype(t)) for t in (np.float32, float)
    )
    assert single.deviance_ == pytest.approx(double.deviance_, rel=1e-3)
    assert np.diff(single.objective_history_).max() <= 0


def test_many_holes_do_not_run_away():
    X, _ = planted(200, 30, 3)
    holes = np.random.default_rng(0).random(X.shape) < 0.7
    holes[:, 0] = False
    for loss in ("frobenius", KL):
        model = NMF(3, beta_loss=loss, missing="mask", max_iter=1000).fit(
            np.where(holes, np.nan, X)
        )
        assert (
            np.median(np.abs(model.impute(np.where(holes, np.nan, X)) - X)[holes]) < 0.5 * X.std()
        )
        assert model.impute(np.where(holes, np.nan, X)).max() < 20 * X.max()


def test_what_cross_validation_cannot_do_is_said():
    X, _ = planted(60, 20, 3)
    with pytest.raises(TypeError, match="needs dense X"):
        NMF("cv").fit(sparse.csr_array(np.where(np.quantile(X, 0.9) < X, X, 0)))
    with pytest.raises(ValueError, match="sample_weight"):
        NMF("cv").fit(X, sample_weight=np.ones(60))


def test_odd_input_that_is_fine():
    X, _ = planted(60, 20, 3)
    rng, weight = np.random.default_rng(0), (np.arange(60) > 5) * 1.0
    W, H = rng.random((60, 3)), rng.random((3, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert NMF(3, init="custom").fit(X, W=W.tolist(), H=H.tolist()).n_components_ == 3
        assert NMF(3, init="custom").fit(X, W=W, H=H, sample_weight=weight).n_components_ == 3
        assert NMF(2).fit(X[:1]).n_components_ == 2
    # -1 and 2 in one cell are 1
    twice = sparse.csr_array(([-1.0, 2.0, 3.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert NMF(2).fit(twice).reconstruction_err_ < 1e-6
    with pytest.raises(ValueError, match="overflow"):
        NMF(3, tol=1e-3, max_iter=1000).fit(X).transform(1e200 * X)
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(20)])
    assert NMF(3, missing="mask", tol=1e-3, max_iter=1000).fit(frame).impute(frame).shape == X.shape


def test_denormal_numbers_that_are_sparse():
    """Their inverse is no number, and scipy divides by multiplying with it."""
    X = np.maximum(np.random.default_rng(0).standard_normal((20, 9)) - 1.0, 0.0) * 1e-310
    dense, found = (NMF(2, random_state=0).fit(A) for A in (X, sparse.csr_array(X)))
    assert np.isfinite(found.objective_history_).all()
    np.testing.assert_allclose(found.components_, dense.components_, rtol=1e-6)


def test_numbers_whose_powers_are_none_are_refused():
    X = np.abs(np.random.default_rng(0).standard_normal((6, 4))) * 1e115
    with pytest.raises(ValueError, match="overflow float64"):
        NMF(2, beta_loss=3.0, solver="mu").fit(X)
    NMF(2, beta_loss=2.5, solver="mu", tol=1e-2).fit(X)
