"""PCA with holes: the likelihood and its gradient, the limits, planted truth and a real table."""

import numpy as np
import pytest
from real_data import real_file
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.stats import multivariate_normal
from threadpoolctl import threadpool_limits

from eigenlens import PCA, datasets
from eigenlens.ops.finite import NonFiniteError
from eigenlens.solvers import eigh, ppca


def solve(X, k, *, tol=1e-8, **options):
    return ppca.solve(X, k, rng=np.random.default_rng(0), tol=tol, **options)


def plain(X, k):
    """Find the components of PCA, which knows no holes."""
    transposed = X.shape[0] < X.shape[1]
    return eigh.solve(X, k, transposed=transposed, rng=np.random.default_rng(0), tol=1e-12)


def planted(n, d, rank, noise, seed=0, mean=0.0):
    return datasets.planted_subspace(n, d, rank, noise=noise, random_state=seed, mean=mean)


def holed(X, share, seed=0):
    """Give `X` with holes at random, but no empty column."""
    X = X.copy()
    hole = np.random.default_rng(seed).random(X.shape) < share
    hole[np.arange(X.shape[1]) % len(X), np.arange(X.shape[1])] = False
    X[hole] = np.nan
    return X


def model_of(found):
    return found.mean, found.components, found.explained_variance, found.noise_variance


def angle(A, B):
    return subspace_angles(A.T, B.T).max()


def covariance_of(components, variances, noise):
    d = components.shape[1]
    return (components.T * (variances - noise)) @ components + noise * np.eye(d)


def slow_log_likelihood(X, mean, C):
    """Score the entries seen of each row, by the formula for a normal density."""
    scores = np.zeros(len(X))
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        if o.any():
            D, y = C[np.ix_(o, o)], (row - mean)[o]
            distance = y @ np.linalg.solve(D, y)
            scores[i] = -0.5 * (distance + np.linalg.slogdet(2 * np.pi * D)[1])
    return scores


def maximum_likelihood(found, mass):
    """Give W, mu and the noise that maximise the likelihood: without the factor for n - 1."""
    shrink = (mass - 1) / mass
    noise = found.noise_variance * shrink
    W = found.components.T * np.sqrt(found.explained_variance * shrink - noise)
    return W, found.mean, noise


def numerical_gradient(f, x, h=1e-5):
    """Differentiate by central differences of the fourth order."""
    gradient = np.empty(x.size)
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = h
        near, far = f(x + e) - f(x - e), f(x + 2 * e) - f(x - 2 * e)
        gradient[i] = (8 * near - far) / (12 * h)
    return gradient


def scaled_gradient(X, W, mean, noise):
    """Scale the gradient of the log-likelihood as the certificate does, by slow means of its own.

    What EM makes of a gradient follows from Fisher's identity: the row of W and the mean of column
    j change by ``s A_j^-1 gradient_j``, the mean of z by ``W' gradient / n``, and its second
    moments by the same with that of W.
    """
    n, (d, k) = len(X), W.shape

    def likelihood(theta):
        W, mean, s = theta[: d * k].reshape(d, k), theta[d * k : -1], np.exp(theta[-1])
        return slow_log_likelihood(X, mean, W @ W.T + s * np.eye(d)).sum()

    gradient = numerical_gradient(likelihood, np.concatenate([W.ravel(), mean, [np.log(noise)]]))
    by_W, by_mean = gradient[: d * k].reshape(d, k), gradient[d * k : -1]
    A = np.zeros((d, k + 1, k + 1))
    for row in X:
        o = ~np.isnan(row)
        M = W[o].T @ W[o] + noise * np.eye(k)
        z1 = np.append(np.linalg.solve(M, W[o].T @ (row - mean)[o]), 1.0)
        moments = np.outer(z1, z1)
        moments[:k, :k] += noise * np.linalg.inv(M)
        A[o] += moments
    both = np.column_stack([by_W, by_mean])
    step = np.array([noise * np.linalg.solve(A[j], both[j]) for j in range(d)])
    cells = np.sum(~np.isnan(X))
    gained = sum(step[j] @ A[j] @ step[j] for j in range(d))
    squares = np.nansum((X - np.nanmean(X, axis=0)) ** 2, axis=0)
    total = (squares / np.sum(~np.isnan(X), axis=0)).sum()
    return max(
        np.sqrt(gained / cells / (squares.sum() / cells)),
        np.linalg.norm(W @ (W.T @ by_mean / n)) / np.sqrt(total),
        np.linalg.norm(W @ (W.T @ by_W / n) @ W.T) / total,
        abs(2 * gradient[-1] / cells),
    )


# ------------------------------------------------------------------------- the proof of an answer


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_certificate_is_the_gradient(steps):
    """An answer stopped on its way states the gradient that differences of likelihoods show."""
    X = holed(planted(60, 6, 2, 0.4, mean=3).X, 0.25)
    found = solve(X, 2, tol=1e-12, max_iter=steps)
    expected = scaled_gradient(X, *maximum_likelihood(found, len(X)))
    assert found.certificate.value == pytest.approx(expected, rel=1e-4)
    assert found.certificate.what == ppca.GRADIENT
    assert not found.converged
    assert found.n_iter == steps == len(found.objective_history)


@pytest.mark.parametrize(("size", "shift"), [(0.5, 0.0), (1.0, 0.1)])
def test_certificate_sees_a_wrong_distribution_of_z(size, shift):
    """With little noise W and mu fit any z: only its own moments tell that they are wrong."""
    X = holed(planted(60, 6, 2, 0.05, mean=3).X, 0.25)
    W, mean, noise = maximum_likelihood(solve(X, 2), len(X))
    W, mean = size * W, mean + W @ np.array([shift, 0.0])
    table, model = ppca._Table.of(X, None), ppca._Model(mean, W, noise)
    residual = ppca._maximise(table, model, table.expect(model))[1]
    assert residual > 0.05
    assert residual == pytest.approx(scaled_gradient(X, W, mean, noise), rel=1e-4)


def test_answer_is_a_maximum():
    """The gradient is zero at the answer, and to move in any direction costs likelihood."""
    X = holed(planted(80, 6, 2, 0.4, mean=3).X, 0.3)
    found = solve(X, 2, tol=1e-10)
    W, mean, noise = maximum_likelihood(found, len(X))
    assert found.converged
    assert scaled_gradient(X, W, mean, noise) < 1e-8
    best = slow_log_likelihood(X, mean, W @ W.T + noise * np.eye(6)).mean()
    assert found.objective_history[-1] == pytest.approx(best, rel=1e-12)
    rng = np.random.default_rng(1)
    for _ in range(20):
        V, mu = W + 0.02 * rng.standard_normal(W.shape), mean + 0.02 * rng.standard_normal(6)
        s = noise * np.exp(0.02 * rng.standard_normal())
        assert slow_log_likelihood(X, mu, V @ V.T + s * np.eye(6)).mean() < best


@pytest.mark.parametrize("noise", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("shape", [(300, 20), (30, 100)])
def test_likelihood_never_falls(shape, noise):
    found = solve(holed(planted(*shape, 3, noise, seed=2).X, 0.3), 3)
    history = found.objective_history
    assert found.converged
    assert len(history) == found.n_iter
    assert np.diff(history).min(initial=0.0) >= -1e-8  # per row; rounding without noise


def test_acceleration_ends_where_em_does(monkeypatch):
    X = holed(planted(200, 10, 2, 0.3).X, 0.3)
    quick = solve(X, 2, tol=1e-9)
    monkeypatch.setattr(ppca._Path, "_extrapolated", lambda self: self._change)
    slow = solve(X, 2, tol=1e-9)
    assert slow.converged
    assert quick.n_iter < slow.n_iter
    np.testing.assert_allclose(quick.explained_variance, slow.explained_variance, rtol=1e-7)
    assert angle(quick.components, slow.components) < 1e-7


def test_monitor_may_stop_it():
    seen = []
    X = holed(planted(200, 10, 2, 1.0).X, 0.3)
    found = solve(X, 2, monitor=lambda value: seen.append(value) or len(seen) == 4)
    assert found.n_iter == 4
    assert seen == list(found.objective_history)
    assert not found.converged


# ------------------------------------------------------------------------------------- the limits


@pytest.mark.parametrize(
    ("shape", "k"),
    [((300, 20), 4), ((20, 300), 4), ((40, 40), 39), ((20, 30), 20), ((30, 20), 20), ((50, 8), 0)],
)
def test_without_holes_it_is_pca(shape, k):
    X = planted(*shape, 5, 0.3, seed=3, mean=50).X
    found, exact = solve(X, k), plain(X, k)
    assert found.n_iter == 1
    assert found.converged
    np.testing.assert_allclose(found.mean, exact.mean, rtol=1e-12)
    for name in ("explained_variance", "explained_variance_ratio"):
        a, b = getattr(found, name), getattr(exact, name)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-14 * b.max(initial=0))
    assert found.total_variance == pytest.approx(exact.total_variance, rel=1e-10)
    assert found.noise_variance == pytest.approx(exact.noise_variance, rel=1e-10, abs=1e-11)
    if 0 < k < min(shape) - 1:
        assert angle(found.components, exact.components) < 1e-10


def test_all_components_are_the_normal_distribution():
    """With k = d the model is any normal distribution, whose own EM is the peer."""
    X = holed(planted(80, 5, 2, 0.5, mean=2).X, 0.25)
    found = solve(X, 5, tol=1e-10)
    mean, C = np.nanmean(X, axis=0), np.diag(np.nanvar(X, axis=0))
    for _ in range(150):
        sums, squares = np.zeros(5), np.zeros((5, 5))
        for row in X:
            o = ~np.isnan(row)
            K = C[:, o] @ np.linalg.inv(C[np.ix_(o, o)])
            x = mean + K @ (row - mean)[o]
            sums += x
            squares += np.outer(x, x) + C - K @ C[o]
        mean = sums / len(X)
        C = squares / len(X) - np.outer(mean, mean)
    n = len(X)
    expected = np.linalg.eigvalsh(C)[::-1] * n / (n - 1)
    np.testing.assert_allclose(found.explained_variance, expected, rtol=1e-6)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6)


@pytest.mark.parametrize("shape", [(200, 30), (60, 300), (30, 30)])
@pytest.mark.parametrize("k", [5, 7])
def test_a_table_of_exact_rank_is_completed(shape, k):
    X = planted(*shape, 5, 0.0, seed=4, mean=10).X
    H, atol = holed(X, 0.2), 1e-6
    if k > 5 and shape == (30, 30):
        H = holed(X, 0.1)  # 20 % would leave columns with as many entries as unknowns
        # few entries for two components that are not there: where the noise vanishes, rounding
        # settles what is left, from 7e-8 to 2.5e-5 by the seed and the machine
        atol = 1e-4
    found = solve(H, k)
    assert found.noise_variance == 0
    np.testing.assert_allclose(ppca.conditional(H, *model_of(found)), X, atol=atol)


@pytest.mark.parametrize("k", [0, 1, 7, 8])
def test_any_number_of_components(k):
    X = planted(100, 8, 3, 0.3, seed=5).X
    H = holed(X, 0.3)
    found = solve(H, k)
    assert found.components.shape == (k, 8)
    np.testing.assert_allclose(found.components @ found.components.T, np.eye(k), atol=1e-12)
    assert (np.diff(found.explained_variance) <= 0).all()
    assert np.isfinite(ppca.conditional(H, *model_of(found))).all()


@pytest.mark.parametrize("k", [1, 4, 5, 6])
def test_few_rows_and_rows_with_fewer_entries_than_components(k):
    X = planted(6, 9, 2, 0.3, seed=6).X
    X[0, 2:] = np.nan
    X[1, :7] = np.nan
    found = solve(X, k, max_iter=200)
    assert np.isfinite(found.explained_variance).all()
    assert np.isfinite(ppca.conditional(X, *model_of(found))).all()
    assert np.isfinite(found.certificate.value)


def test_constant_tables_have_no_variance():
    X = np.full((10, 4), 3.7)
    X[2, 1] = np.nan
    found = solve(X, 2)
    assert found.total_variance == 0
    np.testing.assert_array_equal(found.mean, X[0])


def test_constant_columns_are_harmless():
    X = planted(200, 8, 2, 0.2).X
    X[:, 3] = 7.0
    found = solve(holed(X, 0.2), 2)
    assert found.converged
    assert found.mean[3] == pytest.approx(7.0, abs=1e-12)
    np.testing.assert_allclose(found.components[:, 3], 0.0, atol=1e-7)


def test_one_column_far_larger_than_the_rest_does_not_hide_it():
    problem = planted(600, 12, 2, 0.1, seed=8)
    rng = np.random.default_rng(0)
    X = np.column_stack([problem.X, 1e4 * rng.standard_normal(600)])
    found = solve(holed(X, 0.1), 3)
    assert angle(found.components[1:, :12], problem.components) < 0.1


# ---------------------------------------------------------------------------- what must not matter


def test_integer_weights_are_repeated_rows():
    X = holed(planted(40, 12, 2, 0.3, mean=4).X, 0.2)
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    for table, w in ((X, weight), (X[:10], weight[:10])):  # tall and wide
        by_weight = solve(table, 2, weight=w.astype(float), tol=1e-11)
        repeated = solve(np.repeat(table, w, axis=0), 2, tol=1e-11)
        for name in ("mean", "explained_variance", "noise_variance", "total_variance"):
            np.testing.assert_allclose(
                getattr(by_weight, name), getattr(repeated, name), rtol=1e-9, err_msg=name
            )
        assert angle(by_weight.components, repeated.components) < 1e-8


def test_empty_rows_say_nothing():
    X = holed(planted(50, 8, 2, 0.3).X, 0.2)
    more = np.vstack([X[:20], np.full((3, 8), np.nan), X[20:]])
    found, expected = solve(more, 2, tol=1e-10), solve(X, 2, tol=1e-10)
    np.testing.assert_allclose(found.explained_variance, expected.explained_variance, rtol=1e-9)
    assert found.noise_variance == pytest.approx(expected.noise_variance, rel=1e-9)
    np.testing.assert_allclose(ppca.conditional(more, *model_of(found))[20:23], [found.mean] * 3)


def test_rotation_of_full_rows_and_shift_and_scale():
    """Moving or scaling the table moves or scales the answer; so does reordering its rows."""
    X = holed(planted(150, 9, 3, 0.3).X, 0.2)
    a, b = solve(X, 3, tol=1e-10), solve(-1000 * X[::-1] + 1e6, 3, tol=1e-10)
    np.testing.assert_allclose(b.explained_variance, 1e6 * a.explained_variance, rtol=1e-7)
    np.testing.assert_allclose(b.mean, -1000 * a.mean + 1e6, rtol=1e-9)
    assert angle(a.components, b.components) < 1e-7
    assert b.noise_variance == pytest.approx(1e6 * a.noise_variance, rel=1e-7)


@pytest.mark.usefixtures("many_threads")
def test_threads_do_not_matter():
    X = holed(planted(9000, 30, 3, 0.3).X, 0.1)  # several blocks
    X[::3] = planted(3000, 30, 3, 0.3, seed=1).X  # without holes
    found = solve(X, 3)
    with threadpool_limits(1):
        alone = solve(X, 3)
    np.testing.assert_array_equal(found.components, alone.components)
    np.testing.assert_array_equal(found.objective_history, alone.objective_history)
    filled = ppca.conditional(X, *model_of(found))
    with threadpool_limits(1):
        np.testing.assert_array_equal(filled, ppca.conditional(X, *model_of(found)))


def test_blocks_do_not_matter(monkeypatch):
    X = holed(planted(200, 10, 2, 0.3).X, 0.2)
    X[::4] = planted(50, 10, 2, 0.3, seed=1).X
    whole = solve(X, 2, tol=1e-10)
    monkeypatch.setattr(ppca, "BLOCK_BYTES", 1)
    parts = solve(X, 2, tol=1e-10)
    np.testing.assert_allclose(parts.explained_variance, whole.explained_variance, rtol=1e-9)
    np.testing.assert_allclose(
        ppca.conditional(X, *model_of(parts)), ppca.conditional(X, *model_of(whole)), atol=1e-7
    )


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mean", [0.0, 1e3])
def test_float32_agrees_with_float64(mean, order):
    X = np.asarray(holed(planted(300, 20, 3, 0.2, mean=mean).X, 0.2), np.float32, order=order)
    kept = X.copy()
    single, double = solve(X, 3, tol=1e-5), solve(X.astype(np.float64), 3)
    np.testing.assert_allclose(single.explained_variance, double.explained_variance, rtol=1e-5)
    assert angle(single.components, double.components) < 1e-4
    filled = ppca.conditional(X, *model_of(single))
    assert filled.dtype == np.float32
    assert ppca.log_likelihood(X, *model_of(single)).dtype == np.float32
    np.testing.assert_array_equal(X, kept)  # never written to


# ------------------------------------------------------------------------- filling and likelihoods


def some_model(d=7, k=3, noise=0.2):
    rng = np.random.default_rng(3)
    components = np.linalg.qr(rng.standard_normal((d, k)))[0].T
    return rng.standard_normal(d), components, np.array([4.0, 2.0, 1.0])[:k], noise


def test_holes_get_the_conditional_expectation():
    mean, V, variances, noise = model = some_model()
    C = covariance_of(V, variances, noise)
    X = holed(np.random.default_rng(4).standard_normal((30, 7)), 0.5)
    X[3] = np.nan
    filled = ppca.conditional(X, *model)
    for row, result in zip(X, filled, strict=True):
        o = ~np.isnan(row)
        expected = mean[~o] + C[np.ix_(~o, o)] @ np.linalg.solve(C[np.ix_(o, o)], (row - mean)[o])
        np.testing.assert_allclose(result[~o], expected, atol=1e-12)
        assert result[o].tobytes() == row[o].tobytes()
    np.testing.assert_allclose(filled[3], mean, atol=1e-14)


def test_without_noise_holes_get_the_shortest_least_squares_fit():
    mean, V, variances, _ = some_model()
    X = holed(np.random.default_rng(5).standard_normal((30, 7)), 0.6)  # some with fewer than k
    filled = ppca.conditional(X, mean, V, variances, 0.0)
    W = V.T * np.sqrt(variances)
    for row, result in zip(X, filled, strict=True):
        o = ~np.isnan(row)
        z = np.linalg.lstsq(W[o], (row - mean)[o])[0]
        np.testing.assert_allclose(result[~o], (mean + W @ z)[~o], atol=1e-10)
    limit = ppca.conditional(X, mean, V, variances, 1e-12)
    np.testing.assert_allclose(filled, limit, rtol=1e-6, atol=1e-8)


def test_likelihood_of_rows_with_holes():
    mean, V, variances, noise = model = some_model()
    X = holed(np.random.default_rng(6).standard_normal((40, 7)), 0.4)
    X[2] = np.nan
    X[3] = 1.0
    expected = slow_log_likelihood(X, mean, covariance_of(V, variances, noise))
    np.testing.assert_allclose(ppca.log_likelihood(X, *model), expected, rtol=1e-12)


def test_likelihood_without_noise_is_the_density_on_the_span():
    mean, V, variances, _ = some_model()
    rng = np.random.default_rng(7)
    X = mean + (rng.standard_normal((20, 3)) * np.sqrt(variances)) @ V
    inside = holed(X, 0.4)
    C = covariance_of(V, variances, 0.0)
    found = ppca.log_likelihood(inside, mean, V, variances, 0.0)
    for row, score in zip(inside, found, strict=True):
        o = ~np.isnan(row)
        density = multivariate_normal(mean[o], C[np.ix_(o, o)], allow_singular=True)
        assert score == pytest.approx(density.logpdf(row[o]), rel=1e-6)
    outside = X + 0.1
    assert (ppca.log_likelihood(outside, mean, V, variances, 0.0) == -np.inf).all()


@pytest.mark.parametrize("shape", [(60, 9), (8, 20)])
@pytest.mark.parametrize("k", [2, 8])
def test_likelihood_of_full_rows_is_that_of_pca(shape, k):
    X = planted(*shape, 2, 0.3, mean=1).X
    pca = PCA(k).fit(X)
    model = pca.mean_, pca.components_, pca.explained_variance_, pca.noise_variance_
    for rows in (X, X + 1):  # with all 8 of the 8 there is no noise, and the others lie outside
        np.testing.assert_allclose(
            ppca.log_likelihood(rows, *model), pca.score_samples(rows), rtol=1e-9
        )


@pytest.mark.parametrize("k", [0, 1, 4])
def test_compiled_loops_equal_their_twins(k):
    rng = np.random.default_rng(8)
    q = k * (k + 1) // 2
    W = rng.standard_normal((9, 6, k))
    r, c = np.tril_indices(k)
    M = (np.swapaxes(W, 1, 2) @ W)[:, r, c]
    z, logs = rng.standard_normal((9, k)), np.empty(9)
    twins = M.copy(), z.copy(), logs.copy()
    ppca._solve_rows(M, z, 0.3, logs)
    ppca._solve_rows.__wrapped__(twins[0], twins[1], 0.3, twins[2])
    ppca._invert_rows(M, k, 0.3)
    ppca._invert_rows.__wrapped__(twins[0], k, 0.3)
    for ours, twin in zip((M, z, logs), twins, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-12)
    weight, (out, twin) = rng.random(9), np.empty((2, 9, 2 * q + k + 1))
    ppca._weigh(z, M, weight, out)
    ppca._weigh.__wrapped__(z, M, weight, twin)
    np.testing.assert_allclose(out, twin, rtol=1e-14)


# ----------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("check", [ppca.require_observed, lambda X: solve(X, 1)])
def test_an_empty_column_is_named(check):
    X = planted(30, 5, 2, 0.3).X
    X[:, 3] = np.nan
    with pytest.raises(ValueError, match=r"Column 3 of X has no entry .* Drop such columns"):
        check(X)


def test_columns_with_one_entry_are_enough():
    X = planted(30, 5, 2, 0.3).X
    X[1:, 3] = np.nan
    ppca.require_observed(X)
    assert np.isfinite(ppca.conditional(X, *model_of(solve(X, 1)))).all()


def test_inf_is_found():
    X = planted(30, 5, 2, 0.3).X
    X[3, 2], X[4, 4] = np.inf, np.nan
    with pytest.raises(NonFiniteError), np.errstate(invalid="ignore"):
        solve(X, 1)


# ------------------------------------------------------------------------------------ planted truth


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_a_fifth_of_holes_costs_little_of_the_angle(noise):
    """`benchmarks missing` has more draws. A fifth less data must cost a factor of 1.12."""
    ratios = []
    for seed in range(10):
        problem = planted(500, 50, 5, noise, seed)
        found = solve(holed(problem.X, 0.2, seed), 5, tol=1e-6)
        best = angle(plain(problem.X, 5).components, problem.components)
        ratios.append(angle(found.components, problem.components) / best)
    assert np.mean(ratios) < 1.3


def test_noise_is_not_underestimated():
    """What filling and SVD in turn gets wrong: it takes its own guesses for data."""
    found = solve(holed(planted(2000, 20, 3, 0.5, seed=9).X, 0.4), 3)
    assert found.noise_variance == pytest.approx(0.25, rel=0.03)


# ------------------------------------------------------------------------------------ a real table


def metabolites():
    """Give the table with its 419 holes and completed, columns standardised on what was seen."""
    tables = [
        np.genfromtxt(real_file(f"metabolite_{kind}.csv"), delimiter=",", skip_header=1)
        for kind in ("missing", "complete")
    ]
    mean, deviation = np.nanmean(tables[0], axis=0), np.nanstd(tables[0], axis=0)
    return [(table - mean) / deviation for table in tables]


def rmse(table, truth, where):
    return np.sqrt(np.mean((table - truth)[where] ** 2))


def test_metabolites_are_filled_better_than_by_means():
    X, complete = metabolites()
    hole = np.isnan(X)
    assert hole.sum() == 419
    filled = ppca.conditional(X, *model_of(solve(X, 3)))
    assert rmse(filled, complete, hole) <= 0.7 * rmse(0.0 * complete, complete, hole)


def test_hidden_metabolites_are_found():
    X, _ = metabolites()
    ratios = []
    for seed in range(5):
        hidden = (np.random.default_rng(seed).random(X.shape) < 0.05) & ~np.isnan(X)
        seen = np.where(hidden, np.nan, X)
        mean = np.nanmean(seen, axis=0)
        filled = ppca.conditional(seen, *model_of(solve(seen, 3)))
        ratios.append(rmse(filled, X, hidden) / rmse(mean + 0 * X, X, hidden))
    assert np.mean(ratios) <= 0.65


def test_holes_of_a_sparse_table_are_refused_with_a_remedy():
    X = np.random.default_rng(0).standard_normal((20, 5))
    model = PCA(2, missing="em").fit(sparse.csr_array(X))  # none: as without the option
    X[3, 2] = np.nan
    holes = sparse.csr_array(X)
    for call in (PCA(2, missing="em").fit, model.transform):
        with pytest.raises(ValueError, match=r"Sparse X holds NaN.*Give X\.toarray\(\)"):
            call(holes)
