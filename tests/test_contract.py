"""The contract: every estimator of the register keeps it, and it finds what it is made to find."""

import numpy as np
import pytest
import sklearn.decomposition

import eigenlens
from eigenlens import PCA, datasets
from eigenlens._claims import CLAIMS
from eigenlens.data.scaling import SCALERS
from eigenlens.estimators.pca import SOLVERS
from eigenlens.ops.lanczos import DENSE
from eigenlens.testing import (
    CHECKS,
    LARGE,
    SMALL,
    WIDE,
    ContractError,
    align,
    check_estimator,
    compare,
    contract,
    estimators,
    largest_angle,
    parametrize,
)
from eigenlens.testing.exact import exact_variances
from eigenlens.testing.faulty import FAULTS
from eigenlens.testing.register import CLAIM_CHECKS

VARIANTS = [
    *(PCA(n_components=3, svd_solver=solver) for solver in SOLVERS),
    PCA(n_components=3, whiten=True),
    PCA(n_components=0.9),
]
ITERATING = [PCA(n_components=3, svd_solver=solver) for solver in ("arpack", "randomized")]
TALL = (820, 60)  # whose matrix of products between rows is too large for LAPACK on the whole
STOPPED = [
    PCA(n_components=k, svd_solver="randomized", iterated_power=power, n_oversamples=1)
    for power in (0, 1, 2)
    for k in (1, 5)
]

# ------------------------------------------------------------------------------ it is kept


@parametrize(estimators())
def test_register(estimator, check):
    check(estimator)


@parametrize([PCA(svd_solver=solver) for solver in SOLVERS if solver != "auto"], layers=[0])
def test_solver_of_pca_in_scikit_learn(estimator, check):
    if estimator.svd_solver == "arpack" and check.name == "check_fit2d_1feature":
        pytest.skip("one feature has one component, and arpack finds fewer than there are")
    check(estimator)


@parametrize(VARIANTS, layers=[1, 2])
def test_variant_of_pca(estimator, check):
    check(estimator)


@parametrize(VARIANTS, layers=[1, 2], shape=WIDE)
def test_variant_of_pca_on_wide_tables(estimator, check):
    check(estimator)


@parametrize(ITERATING, layers=[1, 2], shape=LARGE)
def test_iteration_of_pca(estimator, check):
    check(estimator)


@parametrize([PCA(n_components=3, svd_solver="gram_eigh")], layers=[1, 2], shape=TALL)
def test_iteration_on_products_of_rows(estimator, check):
    assert TALL[0] > 2 * DENSE
    check(estimator)


@pytest.mark.parametrize("estimator", STOPPED, ids=str)
def test_certificate_of_an_iteration_stopped_early(estimator):
    CHECKS["certificate"].at(LARGE)(estimator)


@pytest.mark.parametrize("solver", ["arpack", "randomized"])
def test_iteration_towards_a_fraction_can_be_stopped(solver):
    CHECKS["callbacks"].at(LARGE)(PCA(n_components=0.9, svd_solver=solver))


@pytest.mark.parametrize("solver", [solver for solver in SOLVERS if solver != "gram_eigh"])
def test_threads_share_a_tall_table(solver):
    """The table is cut into blocks only from some ten thousand rows on."""
    CHECKS["threads_do_not_matter"].at((40_000, 9))(PCA(n_components=3, svd_solver=solver))


# ------------------------------------------------------------------------------ it can fail


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind.__name__}-{fault.check}")
def test_fault_is_found_by_the_check_made_for_it(fault):
    check = CHECKS[fault.check].at(fault.shape)
    check(fault.sound())
    with pytest.raises(AssertionError):
        check(fault.estimator())


def test_every_check_has_a_fault():
    assert {fault.check for fault in FAULTS} == set(CHECKS)


def test_every_claim_has_a_check_and_every_check_a_claim():
    assert set(CLAIM_CHECKS) == set(CLAIMS)


def test_every_check_says_what_it_holds():
    assert all(check.function.__doc__ for check in CHECKS.values())


# ------------------------------------------------------------------------------ it is run


def test_check_estimator_names_what_ran():
    passed = check_estimator(PCA(n_components=2))
    assert {check.name for check in CHECKS.values() if check.layer == 1} <= set(passed)
    assert set(passed) >= PCA.claims
    assert "check_fit2d_1sample" in passed


def test_check_estimator_names_what_failed():
    fault = next(fault for fault in FAULTS if fault.check == "inverse")
    with pytest.raises(ContractError, match=r"StaysWhite.* fails inverse: .*whiten.*difference"):
        check_estimator(fault.estimator(), layers=[2])


def test_claims_not_made_are_not_checked():
    class Modest(PCA):
        claims = frozenset({"orthonormal"})

    assert check_estimator(Modest(), layers=[2]) == ["orthonormal"]


def test_unknown_claim_is_refused():
    class Boaster(PCA):
        claims = frozenset({"omniscient"})

    with pytest.raises(ContractError, match="omniscient"):
        contract([Boaster()])


@pytest.mark.parametrize("name", ["transform_is_row_by_row", "check_estimators_pickle"])
def test_excuse_with_a_reason(name):
    class Excused(PCA):
        excused = {name: "its scores depend on their neighbours"}  # noqa: RUF012

    checked = {check.name for _, check in contract([PCA()])}
    assert checked - {check.name for _, check in contract([Excused()])} == {name}


@pytest.mark.parametrize(
    ("name", "reason", "complaint"),
    [
        ("transform_is_row_by_row", " ", "without a reason"),
        ("transform_is_slow", "it is", "no check"),
        ("orthonormal", "a claim is dropped instead", "no check"),
    ],
)
def test_excuse_without_right(name, reason, complaint):
    class Excused(PCA):
        excused = {name: reason}  # noqa: RUF012

    with pytest.raises(ContractError, match=complaint):
        contract([Excused()])


def test_estimators_walk_the_register():
    """All but the scalers, which are scikit-learn's but for the tables that they take."""
    fitted = [name for name in eigenlens.__all__ if hasattr(getattr(eigenlens, name), "fit")]
    scalers = [scaling.scaler.__name__ for scaling in SCALERS.values() if scaling.scaler]
    found = [type(estimator).__name__ for estimator in estimators()]
    assert sorted([*found, *scalers]) == sorted(fitted)


# ------------------------------------------------------------------------------ align, exact


def test_align_undoes_sign_and_order():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((7, 4)))[0].T
    order, signs = np.array([2, 0, 3, 1]), np.array([1, -1, -1, 1])
    other = (V * signs[:, None])[order]
    found = align(V, other)
    np.testing.assert_array_equal(order[found.permutation], np.arange(4))
    np.testing.assert_array_equal(found.signs, signs)
    np.testing.assert_allclose(found.aligned, V)
    np.testing.assert_allclose(found.cosines, 1)
    X = rng.standard_normal((5, 7))
    np.testing.assert_allclose(found.scores(X @ other.T), X @ V.T)


def test_align_takes_fewer_from_more_but_not_more_from_fewer():
    assert align(np.eye(3)[1:2], np.eye(3)).permutation == [1]
    with pytest.raises(ValueError, match=r"\(3, 3\).*\(1, 3\)"):
        align(np.eye(3), np.eye(3)[1:2])


def test_compare_sees_every_attribute():
    X = datasets.planted_subspace(random_state=0).X
    peer = sklearn.decomposition.PCA(n_components=3, svd_solver="full").fit(X)
    ours = PCA(n_components=3).fit(X)
    found = compare(peer, ours)
    assert set(found) >= {"components_", "explained_variance_", "mean_", "noise_variance_"}
    assert max(found.values()) < 1e-10
    ours.components_ = -ours.components_[::-1]
    ours.explained_variance_ = ours.explained_variance_[::-1]
    assert compare(peer, ours)["components_"] < 1e-10
    assert compare(peer, ours)["explained_variance_"] < 1e-10
    assert compare(peer, ours, free=False)["components_"] > 0.1
    ours.mean_ = ours.mean_[:-1]
    assert compare(peer, ours)["mean_"] == np.inf


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, np.pi / 2])
def test_largest_angle(angle):
    line = [[np.cos(angle), np.sin(angle), 0], [0, 0, 1]]
    assert largest_angle([[1, 0, 0], [0, 0, 2]], line) == pytest.approx(angle, abs=1e-14)


@pytest.mark.parametrize("shape", [SMALL, WIDE])
def test_exact_variances_of_a_known_spectrum(shape):
    n, d = shape
    m = min(n - 1, d)
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n, m))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((d, m)))[0]
    deviations = 0.8 ** np.arange(m)
    found = exact_variances(np.sqrt(n - 1) * (U * deviations) @ V.T + 7)
    np.testing.assert_allclose(found[:m].astype(float), deviations**2, atol=1e-14)
