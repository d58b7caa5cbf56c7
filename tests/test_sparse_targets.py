"""A number of nonzeros as the target of sparse PCA: reached, and proved, in each formulation."""

import csv
from functools import partial

import numpy as np
import pytest
from real_data import real_file
from sklearn.datasets import load_digits
from sklearn.preprocessing import scale
from test_sparse_solvers import lengths_back, supports, zou

from eigenlens import SparsePCA, datasets
from eigenlens.solvers import scotlass, sparse_l1, spca, targets

FORMULATIONS = pytest.mark.parametrize("formulation", ["l1", "elastic-net", "scotlass"])


def solve(formulation, A, k, n_nonzero, **options):
    """Call one of the three solvers."""
    if formulation == "l1":
        return sparse_l1.solve_nonzero(A, k, n_nonzero=n_nonzero, **options)
    options = {"tol": 1e-8, "rng": np.random.default_rng(0)} | options
    module = {"elastic-net": spca, "scotlass": scotlass}[formulation]
    return module.solve_nonzero(A, k, n_nonzero=n_nonzero, **options)


def counts(found):
    return np.count_nonzero(found.components, axis=1).tolist()


def noise(m, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((m, d))
    return X - X.mean(axis=0)


# ------------------------------------------------------------------------------------ real tables


def breast_cancer():
    return scale(datasets.breast_cancer().X)


def digits():
    return load_digits().data


def wide():
    """Return fewer rows than columns, of which two groups of twenty go together."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 300))
    X[:, :20] += 2 * rng.standard_normal((40, 1))
    X[:, 20:40] += 1.5 * rng.standard_normal((40, 1))
    return X


def news():
    return np.load(real_file("20news_w100.npz"))["X"].astype(float)


def spectra():
    """Return near infrared spectra, whose neighbouring columns correlate to 0.99 and more."""
    return np.loadtxt(real_file("rrcov_octane.csv"), delimiter=",", skiprows=1)[:, 1:]


def faces():
    X = np.load(real_file("olivetti.npz"))["X"].reshape(400, -1) / 255.0
    X = X - X.mean(axis=0)
    return X - X.mean(axis=1, keepdims=True)


def reached(X, formulation, wanted, **params):
    """Fit, and require the numbers and the certificate; warnings are errors."""
    k = len(wanted)
    model = SparsePCA(k, formulation=formulation, n_nonzero=wanted, random_state=0, **params).fit(X)
    assert model.n_nonzero_ == tuple(wanted)
    assert model.converged_
    assert model.certificate_.holds
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1)
    return model


@FORMULATIONS
@pytest.mark.parametrize(
    ("read", "wanted"),
    [(breast_cancer, [5] * 3), (digits, [8] * 6), (wide, [10] * 3)],
    ids=["breast cancer", "digits", "wide"],
)
def test_numbers_are_reached(read, wanted, formulation):
    reached(read(), formulation, wanted)


@FORMULATIONS
def test_numbers_are_reached_on_spectra(formulation):
    reached(spectra(), formulation, [8] * 3)


@pytest.mark.parametrize("formulation", ["l1", "elastic-net"])
def test_numbers_are_reached_on_words(formulation):
    reached(news(), formulation, [5, 6, 7, 8, 9, 10] * 3 + [5, 10])


def test_orthogonal_components_of_few_words():
    model = reached(news(), "scotlass", [5] * 4)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-9)


def test_numbers_are_reached_on_faces():
    reached(faces(), "l1", [50] * 4)


@pytest.mark.parametrize("formulation", ["elastic-net", "scotlass"])
@pytest.mark.slow
def test_numbers_are_reached_on_faces_slowly(formulation):
    reached(faces(), formulation, [10])


def pit_props():
    with real_file("pitprops_corr.csv").open() as file:
        _, *rows = csv.reader(file)
    return np.array([[float(x) for x in row[1:]] for row in rows])


@pytest.mark.parametrize("formulation", ["l1", "elastic-net"])
def test_numbers_of_zou_s_table(formulation):
    wanted = [7, 4, 4, 1, 1, 1]
    model = reached(pit_props(), formulation, wanted, precomputed=True, n_samples=180)
    assert model.explained_variance_ratio_.sum() > 0.75  # Zou's: 0.758


def test_elastic_net_finds_zou_s_first_component_by_its_number():
    wanted = [7, 4, 4, 1, 1, 1]
    model = reached(pit_props(), "elastic-net", wanted, precomputed=True, n_samples=180)
    assert np.flatnonzero(model.components_[0]).tolist() == [0, 1, 4, 6, 7, 8, 9]
    # The penalty of Zou's table, 0.06, has the same support.
    assert model.alpha_[0] / 179 == pytest.approx(0.06, abs=0.01)


# ------------------------------------------------------------------------- Zou's ten variables


@FORMULATIONS
def test_supports_of_zou_s_ten_variables(formulation):
    found = solve(formulation, zou(), 3, [4, 4, 2])
    assert supports(found) == [{5, 6, 7, 8}, {1, 2, 3, 4}, {9, 10}]
    assert found.certificate.holds


def test_penalties_of_zou_s_ten_variables():
    """They have a closed form.

    Let E hold the indicators of the three groups of variables as columns of length 1, and
    ``T = E'SE``. With ``B = beta E`` the best W is the polar factor of ``S B = beta E T``, as S
    leaves the span of E invariant: that is E, since T is positive definite. For ``W = E`` the
    elastic net of a group of n variables has the gradient ``2 (1 - beta) T_jj / sqrt(n)`` on the
    group, and less than that elsewhere. So the three supports are stationary if, and for such a B
    only if, the penalties are in these proportions. Penalties that are equal give a third component
    of zero, or a first one of six variables.
    """
    groups = [range(4, 8), range(4), range(8, 10)]
    A = zou()
    S = A.T @ A
    slopes = np.array([2 * S[np.ix_(g, g)].sum() / len(g) ** 1.5 for g in groups])
    found = spca.solve_nonzero(A, 3, n_nonzero=[4, 4, 2], tol=1e-10)
    shrinkage = found.alpha / slopes  # 1 - beta, but for the ridge
    np.testing.assert_allclose(shrinkage, shrinkage[0], rtol=1e-4)


# -------------------------------------------------------------------------------------- the proof


def test_l1_meets_its_conditions_at_the_penalties_found():
    A = noise(40, 15)
    found = solve("l1", A, 3, [6, 3, 2])
    (Y, D), alpha = found.factors, found.alpha
    gradient = (A - Y @ D.T).T @ Y
    on = D != 0
    assert on.sum(axis=0).tolist() == [6, 3, 2]
    np.testing.assert_allclose(gradient[on], (alpha * np.sign(D))[on], atol=1e-6)
    assert (np.abs(gradient) <= alpha + 1e-6).all()


def test_elastic_net_meets_its_conditions_at_the_penalties_found():
    A = noise(40, 15)
    found = solve("elastic-net", A, 2, [6, 3], ridge=0.5, tol=1e-10)
    S = A.T @ A
    B = lengths_back(S, found.components, found.alpha, 0.5)
    U, _, Vt = np.linalg.svd(S @ B.T, full_matrices=False)
    gradient = 2 * (S @ (U @ Vt - B.T)).T - B
    alpha = np.repeat(found.alpha[:, None], 15, axis=1)
    on = B != 0
    np.testing.assert_allclose(gradient[on], (alpha * np.sign(B))[on], atol=1e-5)
    assert (np.abs(gradient) <= alpha + 1e-5).all()


def test_no_direction_within_the_bound_found_has_more_to_first_order():
    A = noise(40, 15)
    found = solve("scotlass", A, 3, [6, 3, 2])
    V = found.components
    np.testing.assert_allclose(np.abs(V).sum(axis=1), found.l1_bounds)
    rng = np.random.default_rng(1)
    for j, (v, t) in enumerate(zip(V, found.l1_bounds, strict=True)):
        g = A.T @ (A @ v)
        for _ in range(200):
            u = rng.standard_normal(15) * (rng.random(15) < 0.3)
            u += v * rng.choice([0.0, 1.0, 10.0])
            u -= (V[:j] @ u) @ V[:j]
            u /= max(np.linalg.norm(u), np.abs(u).sum() / t, 1e-12)
            assert g @ u <= (g @ v) * (1 + 1e-7)


@pytest.mark.parametrize("formulation", ["l1", "elastic-net"])
@pytest.mark.parametrize("shape", [(60, 12), (15, 40), (20, 20)], ids=["tall", "wide", "square"])
@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_reached_on_noise(formulation, shape, seed):
    wanted = np.random.default_rng(seed).integers(1, 9, 2)
    found = solve(formulation, noise(*shape, seed), 2, wanted)
    assert counts(found) == wanted.tolist()
    assert found.certificate.holds


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@FORMULATIONS
def test_one_component_may_have_any_number(formulation, n):
    found = solve(formulation, noise(60, 12), 1, n)
    assert counts(found) == [n]
    assert found.certificate.holds


def test_sparse_scores_keep_the_numbers_too():
    model = SparsePCA(2, n_nonzero=4, alpha_scores=0.05).fit(noise(60, 12))
    assert model.n_nonzero_ == (4, 4)
    assert model.certificate_.holds
    assert (model.scores_ == 0).any()


# ------------------------------------------------------------------------------------ out of reach


@pytest.mark.parametrize("formulation", ["l1", "scotlass"])
def test_columns_that_are_alike_come_together(formulation):
    X = np.repeat(noise(60, 4), 2, axis=1)
    with pytest.warns(UserWarning, match=r"n_nonzero=3 was not reached: .* have [24] nonzeros"):
        model = SparsePCA(1, formulation=formulation, n_nonzero=3, random_state=0).fit(X)
    assert model.certificate_.holds


def test_orthogonality_may_leave_no_direction_with_the_number():
    """The first direction is one variable, so the second cannot have all of them."""
    X = noise(60, 5)
    with pytest.warns(UserWarning, match="the components have 1, 4 nonzeros"):
        SparsePCA(2, formulation="scotlass", n_nonzero=[1, 5], random_state=0).fit(X)


def test_bound_and_number_are_not_both_taken():
    with pytest.raises(ValueError, match=r"l1_bound=1.5 and n_nonzero=3 are two ways"):
        SparsePCA(2, formulation="scotlass", l1_bound=1.5, n_nonzero=3).fit(noise(60, 12))


@FORMULATIONS
def test_no_iteration_is_no_error(formulation):
    model = SparsePCA(2, formulation=formulation, n_nonzero=3, max_iter=0, random_state=0)
    model.fit(noise(60, 12)[:, :3])
    assert model.n_iter_ == 0
    assert not model.converged_
    assert np.isfinite(model.components_).all()


@FORMULATIONS
def test_monitor_stops_the_search(formulation):
    seen = []

    def monitor(objective):
        seen.append(objective)
        return True

    found = solve(formulation, noise(60, 12), 3, 4, monitor=monitor)
    assert len(seen) == 1
    assert not found.converged


# --------------------------------------------------------------------------------------- the parts


def test_between():
    size = np.array([1.0, 5.0, 3.0, 2.0])
    assert targets.between(size, 2, 0.5) == 2.5
    assert targets.between(size, 1, 0.1) == pytest.approx(3.2)
    assert targets.between(size, 4, 0.5) == 0
    tied = np.array([3.0, 3.0, 1.0, 3.0])
    assert np.sum(tied > targets.between(tied, 2, 0.5)) == 3
    assert targets.between(np.zeros(3), 1, 0.5) == 0


def test_first_without_a_shortfall_or_the_least():
    def shortfall(attempt):
        return attempt

    assert targets.first_without(shortfall, [(1, False), (0, False), (0, False)]) == (0, False)
    assert targets.first_without(shortfall, [(3, False), (1, True), (2, False)]) == (1, True)
    assert targets.first_without(shortfall, [(1, True), (1, False)]) == (1, False)


def test_face_with_orthogonality_is_where_the_thresholded_vector_lies():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((12, 2)))[0].T
    g = rng.standard_normal(12)
    u, _ = scotlass._thresholded(g, 0.5, V, np.zeros(2))
    face = scotlass._face(g, V, signs_of(u))
    low, high = face.interval()
    assert low <= 0.5 <= high
    np.testing.assert_allclose(face.answer(0.5), u, atol=1e-12)
    for c, inside in ((0.999 * low, False), (1.001 * low, True), (0.999 * high, True)):
        u, _ = scotlass._thresholded(g, c, V, np.zeros(2))
        assert (np.count_nonzero(u) == len(face.S)) == inside


@pytest.mark.parametrize("count", [1, 3, 6, 9])
def test_face_on_the_path_is_where_the_elastic_net_has_the_number(count):
    A = noise(30, 10)
    problem = spca._Problem(A, np.zeros(1), 0.1)
    g = A.T @ A[:, :3].sum(axis=1)
    top = targets.top_of_the_path(g)
    face, low, high = targets.along_the_path(partial(problem.face, g), top, count)
    assert low < high
    for c in (low + 1e-6 * high, (low + high) / 2, high * (1 - 1e-6)):
        u = minimiser(A, g, c, 0.1)
        np.testing.assert_allclose(face.answer(c), u, atol=1e-8)
        assert np.count_nonzero(u) == count


@pytest.mark.parametrize("seed", range(5))
def test_signs_are_carried_over_to_another_target(seed):
    A = noise(30, 20, seed)
    problem = spca._Problem(A, np.zeros(1), 0.1)
    rng = np.random.default_rng(seed)
    old, new = (rng.standard_normal((2, 20)) @ A.T) @ A
    c = 0.2 * np.abs(old).max()
    S, signs = targets.carried_over(
        partial(problem.face, old),
        partial(problem.face, new),
        signs_of(minimiser(A, old, c, 0.1)),
        c,
    )
    order = np.argsort(S)
    wanted_S, wanted_signs = signs_of(minimiser(A, new, c, 0.1))
    np.testing.assert_array_equal(S[order], wanted_S)
    np.testing.assert_array_equal(signs[order], wanted_signs)


def signs_of(u):
    S = np.flatnonzero(u)
    return S, np.sign(u[S])


def minimiser(A, g, c, ridge):
    """Return ``argmin 1/2 b'(A'A + ridge)b - g'b + c |b|_1`` by plain coordinate descent."""
    H = A.T @ A + ridge * np.eye(A.shape[1])
    b = np.zeros(len(g))
    for _ in range(2000):
        for i in range(len(b)):
            pull = g[i] - H[i] @ b + H[i, i] * b[i]
            b[i] = np.sign(pull) * max(abs(pull) - c, 0.0) / H[i, i]
    return b
