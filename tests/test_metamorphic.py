"""How an answer moves with the table: what the claims of a class leave to its parameters.

Each class of the register has each of `RELATIONS`, and that batches make up the whole, either as a
claim, which the contract checks, or in `HOLDS`, where parameters are chosen or move with the table,
or in `FAILS`, with the reason. What is said not to hold must be seen not to hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

import eigenlens
from eigenlens import (
    MDS,
    NMF,
    PCA,
    TSNE,
    DictionaryLearning,
    Isomap,
    KernelPCA,
    MiniBatchDictionaryLearning,
    MiniBatchNMF,
    MiniBatchSparsePCA,
    Moments,
    RobustPCA,
    SparsePCA,
    VectorQuantizer,
    select,
)
from eigenlens._claims import RELATIONS
from eigenlens._register import classes
from eigenlens.datasets import planted_subspace
from eigenlens.testing import CHECKS, SMALL, WIDE
from eigenlens.testing.relations import CHANGES, MOVES, Move, assert_moved, scale
from eigenlens.testing.tables import easy, ready

SCALES = (1e-120, 1e-9, 3.0, 1e120)
OFF = 1e-2  # by which a relation fails that is said to

TALL_AND_WIDE = SMALL, WIDE
STREAM = "streaming"


@dataclass(frozen=True)
class Holds:
    """A relation that an estimator keeps as it is set, with parameters moved with the table."""

    estimator: object
    relation: str
    params: Callable = lambda change: {}
    moves: dict = field(default_factory=dict)
    tol: float = 1e-9
    shapes: tuple = TALL_AND_WIDE

    def __str__(self):
        given = " ".join(str(self.estimator).split())
        return f"{given}-{self.relation}"


@dataclass(frozen=True)
class Fails:
    """A relation that an estimator does not keep as it is set, and why."""

    estimator: object
    relation: str
    reason: str
    shape: tuple = SMALL

    __str__ = Holds.__str__


def times(**powers):
    """Let parameters move with powers of the scale, by those of the copies of each row."""

    def moved(change):
        copies = len(change.rows) / len(np.unique(change.rows))
        return {
            name: value * change.scale**degree * copies**rows
            for name, (value, degree, rows) in powers.items()
        }

    return moved


def without_unit(**moves):
    """Let what has the unit of X elsewhere have none, as that of a kernel of distances over it."""
    names = "eigenvalues_", "explained_variance_", "total_variance_", "transform"
    return {name: replace(MOVES[name], degree=0.0) for name in names} | moves


def batches(**params):
    """Return the method with as many epochs as show what it does, not as many as end it."""
    return MiniBatchNMF(3, tol=0.0, max_iter=50, **params)


def centres(shape):
    """Return rows of the table to start from."""
    return easy(VectorQuantizer(), shape)[:4]


# starts that are the same whatever the order or number of rows
STARTED = [
    Holds(VectorQuantizer(4, init=centres(shape)), relation, shapes=(shape,))
    for shape in TALL_AND_WIDE
    for relation in ("row_order", "repeated_rows")
]
# |X - W H|^2 is shared out between W and H by the start, whose W has the length of all rows
SHARED = {"components_": Move("kd", copies=0.25), "transform": Move(".k", copies=-0.25)}
RBF, GIVEN = KernelPCA(3, kernel="rbf", gamma=0.1), {"gamma_": Move("", -2)}
STILL = {"max_iter": 250, "early_exaggeration": 1.0, "learning_rate": 1.0, "random_state": 0}

HOLDS = [
    *(Holds(KernelPCA(3), relation) for relation in ("shift", "scale", "rotation", "zero_columns")),
    *(Holds(RBF, relation) for relation in ("shift", "rotation", "zero_columns")),
    Holds(RBF, "scale", times(gamma=(0.1, -2, 0)), without_unit(**GIVEN)),
    *(
        Holds(KernelPCA(3, kernel="rbf", gamma=rule), "scale", moves=without_unit(**GIVEN))
        for rule in ("scale", "median")
    ),
    Holds(KernelPCA(3, kernel="poly", gamma=0.1), "rotation"),
    Holds(Isomap(n_neighbors=8), "scale"),
    Holds(Isomap(n_neighbors=8), "row_order"),
    Holds(Isomap(n_neighbors=None, radius=30.0), "scale", times(radius=(30.0, 1, 0))),
    Holds(Isomap(n_neighbors=None, radius=30.0), "repeated_rows"),
    Holds(TSNE(perplexity=7.0, **STILL), "row_order", tol=1e-3),
    *STARTED,
    *(Holds(NMF(3, init=init), "scale") for init in ("nndsvd", "random")),
    Holds(NMF(3, init="nndsvd"), "zero_columns"),
    Holds(NMF(3, init="nndsvd"), "repeated_rows", moves=SHARED),
    Holds(batches(batch_size=100), "row_order"),
    Holds(batches(init="nndsvd"), "zero_columns"),
    Holds(batches(init="nndsvd", forget_factor=0.0), "scale"),
    Holds(batches(init="nndsvd", forget_factor=0.0), "repeated_rows", moves=SHARED),
    Holds(RobustPCA(), "zero_columns", shapes=(SMALL,)),
    Holds(RobustPCA(lam=0.2), "zero_columns", tol=1e-6),
    Holds(RobustPCA(), "repeated_rows", moves={"lam_": Move(copies=-0.5)}, shapes=(SMALL,)),
    Holds(
        RobustPCA(lam=0.2),
        "repeated_rows",
        times(lam=(0.2, 0, -0.5)),
        {"lam_": Move(copies=-0.5)},
    ),
    Holds(RobustPCA(outliers="rows"), "rotation"),
    *(
        Holds(kind(3, alpha=0.3), relation, times(alpha=(0.3, 1, 0.5)), moves, tol=1e-4)
        for kind in (SparsePCA, MiniBatchSparsePCA)
        for relation, moves in (
            ("scale", {"alpha_": Move("", 1)}),
            ("repeated_rows", {"alpha_": Move("", copies=0.5)}),
        )
    ),
    Holds(
        SparsePCA(2, alpha=0.3, alpha_scores=0.1, max_iter=300),
        "scale",
        times(alpha=(0.3, 1, 0), alpha_scores=(0.1, 2, 0)),
        {"alpha_": Move("", 1), "scores_": Move("nk")},
    ),
    Holds(SparsePCA(2, formulation="l0", n_nonzero=4), "scale", shapes=(SMALL,)),
    Holds(SparsePCA(1, formulation="scotlass", n_nonzero=4), "scale", tol=1e-6, shapes=(SMALL,)),
    Holds(
        SparsePCA(1, formulation="elastic-net", n_nonzero=4),
        "scale",
        moves={"alpha_": Move("", 2)},
        tol=1e-3,  # there is a ridge, of one size in most units
        shapes=(SMALL,),
    ),
    Holds(SparsePCA(2, n_nonzero=4), "scale", moves={"alpha_": Move("", 1)}, tol=1e-6),
    *(
        Holds(kind(4, alpha=0.3), "scale", times(alpha=(0.3, 1, 0)), tol=1e-4)
        for kind in (DictionaryLearning, MiniBatchDictionaryLearning)
    ),
    *(
        Holds(DictionaryLearning(3, alpha=0.3), relation, tol=1e-4)
        for relation in ("row_order", "repeated_rows")
    ),
]

NO_BATCHES = "it has no partial_fit: blocks of a table are in the check 'blocks'"
NOT_CENTRED = "X is not centred, and the shift is part of what components must make up"
BY_ORDER = "some of the fit is drawn by the places of the rows"
FILLED = "zeros of the start are filled with the mean of X, as in scikit-learn"
REFUSED = "negative numbers are refused"
ABSOLUTE = "the penalty is weighed against squares of X, and has to move with them"

FAILS = [
    *(
        Fails(kind(), STREAM, NO_BATCHES)
        for kind in (DictionaryLearning, Isomap, KernelPCA, MDS, NMF, PCA, RobustPCA, TSNE)
    ),
    Fails(VectorQuantizer(), STREAM, NO_BATCHES),
    Fails(batches(), STREAM, "partial_fit takes one step, and forgets batches with time"),
    Fails(MiniBatchDictionaryLearning(3), STREAM, "partial_fit takes one step for each batch"),
    Fails(DictionaryLearning(3, alpha=0.3), "shift", NOT_CENTRED),
    Fails(DictionaryLearning(3, alpha=0.3), "scale", ABSOLUTE),
    Fails(Isomap(n_neighbors=8, n_landmarks=12), "row_order", BY_ORDER),
    Fails(Isomap(n_neighbors=8), "repeated_rows", "copies are neighbours, and leave half the room"),
    Fails(KernelPCA(3, kernel="poly", gamma=0.1), "shift", "products of rows depend on their zero"),
    Fails(RBF, "scale", "gamma has the unit of X to the power of -2"),
    Fails(KernelPCA(3, kernel="laplacian"), "rotation", "sums of absolute values are not kept"),
    Fails(KernelPCA(3, kernel="rbf"), "zero_columns", "gamma=None is 1 / n_features"),
    Fails(MiniBatchDictionaryLearning(3, alpha=0.3), "shift", NOT_CENTRED),
    Fails(MiniBatchDictionaryLearning(3, alpha=0.3), "scale", ABSOLUTE),
    Fails(MiniBatchDictionaryLearning(3, alpha=0.3), "row_order", BY_ORDER),
    Fails(MiniBatchDictionaryLearning(3, alpha=0.3), "repeated_rows", BY_ORDER, WIDE),
    Fails(batches(), "shift", NOT_CENTRED),
    Fails(batches(), "scale", FILLED),
    Fails(batches(), "rotation", REFUSED),
    Fails(batches(batch_size=20), "row_order", "batches follow the order of the rows"),
    Fails(batches(), "zero_columns", FILLED),
    Fails(batches(), "repeated_rows", FILLED),
    Fails(MiniBatchSparsePCA(3, alpha=0.3), "scale", ABSOLUTE),
    Fails(MiniBatchSparsePCA(3, alpha=0.3), "rotation", "sums of absolute values are not kept"),
    Fails(MiniBatchSparsePCA(3, alpha=0.3), "column_order", "a batch is some columns"),
    Fails(MiniBatchSparsePCA(3, alpha=0.3), "zero_columns", "a batch is some columns"),
    Fails(MiniBatchSparsePCA(3, alpha=0.3), "repeated_rows", ABSOLUTE),
    Fails(NMF(3), "shift", NOT_CENTRED),
    Fails(NMF(3), "scale", FILLED),
    Fails(NMF(3), "rotation", REFUSED),
    Fails(NMF(3), "zero_columns", FILLED),
    Fails(NMF(3), "repeated_rows", FILLED),
    Fails(RobustPCA(), "rotation", "sums of absolute values are not kept"),
    Fails(RobustPCA(), "zero_columns", "lam='auto' is 1 / sqrt(n_features) of a wide table", WIDE),
    Fails(RobustPCA(), "repeated_rows", "lam='auto' does not see the rows of a wide table", WIDE),
    Fails(RobustPCA(3), "zero_columns", "noise is estimated by a median over all entries"),
    Fails(SparsePCA(3, alpha=0.3), "scale", ABSOLUTE),
    Fails(SparsePCA(3, alpha=0.3), "rotation", "sums of absolute values are not kept"),
    Fails(SparsePCA(3, alpha=0.3), "repeated_rows", ABSOLUTE),
    Fails(TSNE(perplexity=7.0, max_iter=250), "repeated_rows", "copies are among the neighbours"),
    Fails(VectorQuantizer(4), "row_order", BY_ORDER),
    Fails(VectorQuantizer(4), "repeated_rows", BY_ORDER),
]

COUNTED = {  # in rows or columns, or settled by how many there are
    "zero_columns": {"noise_variance_", "spectrum_", "batch_size_", "gamma_", "support_fraction_"},
    "repeated_rows": {"noise_variance_", "spectrum_", "spectrum_complete_", "residual_variance_"},
}


def hold(case, shape, *changes, tol):
    """Raise unless the relation holds on a table of this shape."""
    X, new = easy(case.estimator, shape), easy(case.estimator, shape, seed=1)
    model = ready(case.estimator).fit(X)
    moves = MOVES | getattr(case, "moves", {})
    ignore = {"var_"} | COUNTED.get(case.relation, set())
    for change in changes:
        params = case.params(change) if isinstance(case, Holds) else {}
        other = ready(case.estimator, **params).fit(change.table(X))
        assert_moved(model, other, change, (X, new), tol, moves=moves, ignore=ignore)


@pytest.mark.parametrize("case", HOLDS, ids=str)
def test_relation_holds(case):
    for shape in case.shapes:
        change = CHANGES[case.relation]
        scaled = [scale(shape, c) for c in SCALES]
        changes = scaled if case.relation == "scale" else [change(shape)]
        hold(case, shape, *changes, tol=case.tol)


@pytest.mark.parametrize("case", [case for case in FAILS if case.relation != STREAM], ids=str)
def test_relation_does_not_hold(case):
    error = (ValueError, "Negative") if case.reason == REFUSED else (AssertionError, "is off by")
    with pytest.raises(error[0], match=error[1]):
        hold(case, case.shape, CHANGES[case.relation](case.shape), tol=OFF)


@pytest.mark.parametrize("case", [case for case in FAILS if case.relation == STREAM], ids=str)
def test_batches_are_not_all_rows(case):
    if not hasattr(case.estimator, "partial_fit"):
        assert case.reason == NO_BATCHES
        return
    X = easy(case.estimator, case.shape)
    whole, stream = ready(case.estimator).fit(X), ready(case.estimator)
    for batch in np.array_split(X, 4):
        stream.partial_fit(batch)
    assert np.abs(whole.components_ - stream.components_).max() > OFF


def test_every_relation_is_a_change():
    assert set(CHANGES) == set(RELATIONS)


@pytest.mark.parametrize("name", classes())
def test_every_relation_is_claimed_or_tested_or_refuted(name):
    kind = classes()[name]
    listed = {case.relation for case in (*HOLDS, *FAILS) if type(case.estimator) is kind}
    assert kind.claims | listed >= {*RELATIONS, STREAM}
    refuted = {case.relation for case in FAILS if type(case.estimator) is kind}
    assert not kind.claims & refuted


@pytest.mark.parametrize(
    ("kind", "relation"),
    [(kind, one) for kind in classes().values() for one in CHANGES if one in kind.claims],
)
def test_claims_on_wide_tables(kind, relation):
    few = {"n_components": 3} if kind().n_components is None else {}
    CHECKS[relation].at(WIDE)(kind(**{**kind.exemplar, **few}))


# ------------------------------------------------------------------------------ what is counted


@pytest.mark.parametrize("shape", TALL_AND_WIDE)
@pytest.mark.parametrize("relation", ["zero_columns", "repeated_rows"])
def test_noise_is_the_mean_of_as_many_variances_as_there_are(relation, shape):
    X, change = easy(PCA(), shape), CHANGES[relation](shape)
    model, other = PCA(3).fit(X), PCA(3).fit(change.table(X))
    rest, more = (min(table.shape) - 3 for table in (X, change.table(X)))
    n = len(X)
    spread = 2 * (n - 1) / (2 * n - 1) if relation == "repeated_rows" else 1.0
    assert_allclose(other.noise_variance_ * more, model.noise_variance_ * rest * spread, rtol=1e-8)
    assert_allclose(other.spectrum_[:rest], model.spectrum_[:rest] * spread, rtol=1e-8)


CODED = {"alpha": 0.3, "transform_algorithm": "lasso_cd"}


@pytest.mark.parametrize("shape", TALL_AND_WIDE)
@pytest.mark.parametrize("kind", [NMF, DictionaryLearning])
def test_rows_of_zeros_are_made_of_nothing(kind, shape):
    """Of methods that do not centre; to others such a row is one like any other."""
    given = {NMF: {"init": "nndsvd"}, DictionaryLearning: CODED}[kind]
    estimator = kind(3, **given)
    X = easy(estimator, shape)
    model = ready(estimator).fit(X)
    other = ready(estimator).fit(np.insert(X, [0, 5], 0.0, axis=0))
    assert_allclose(other.components_, model.components_, atol=1e-6 * np.abs(X).max())
    assert_array_equal(other.transform(np.zeros((1, shape[1]))), 0)


# ------------------------------------------------------------------------------ tiny and huge


@pytest.mark.parametrize("algorithm", ["omp", "lars", "lasso_lars", "lasso_cd", "threshold"])
@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e-5), ("float64", 1e-9)])
def test_rows_of_small_numbers_have_codes(algorithm, dtype, size):
    """Pursuits of scikit-learn end at products below the root of a rounding, whatever the unit."""
    X = easy(PCA(), SMALL).astype(dtype)
    given = {"alpha": 0.1, "transform_algorithm": algorithm, "random_state": 0}
    model = DictionaryLearning(4, **given).fit(X)
    tiny = X * X.dtype.type(size)
    scaled = model.set_params(transform_alpha=0.1 * size).transform(tiny)
    plain = model.set_params(transform_alpha=0.1).transform(X)
    assert_allclose(scaled / size, plain, rtol=1e-3, atol=1e-4 * np.abs(plain).max())


@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e-9), ("float64", 1e-30)])
def test_scores_of_small_numbers_are_white(dtype, size):
    X = easy(PCA(), SMALL).astype(dtype)
    white = PCA(3, whiten=True).fit_transform(X * X.dtype.type(size))
    assert_allclose(white, PCA(3, whiten=True).fit_transform(X), rtol=1e-3, atol=1e-3)


def test_batches_of_parts_go_on_in_the_unit_of_the_first():
    X = easy(MiniBatchNMF(), SMALL)
    parts = []
    for power in (-200, -100, 100):
        unit, model = 4.0**power, MiniBatchNMF(3, init="nndsvd", random_state=0)
        for batch in np.array_split(X * unit, 3):
            model.partial_fit(batch)
        parts.append(model.components_ / np.sqrt(unit))
    assert_array_equal(parts[1], parts[0])
    assert_array_equal(parts[2], parts[0])


# ------------------------------------------------------------------------------ around the methods

SCALERS = {
    "StandardScaler": {"shift", "scale", "row_order", "column_order", "repeated_rows"},
    "MinMaxScaler": {"shift", "scale", "row_order", "column_order", "repeated_rows"},
    "RobustScaler": {"shift", "scale", "row_order", "column_order"},
    "Normalizer": {"scale", "rotation", "row_order", "column_order", "repeated_rows"},
}
UNKEPT = {
    "StandardScaler": {"rotation"},
    "MinMaxScaler": {"rotation"},
    "RobustScaler": {"rotation", "repeated_rows"},  # a quartile lies between two rows, or not
    "Normalizer": {"shift"},
}
TAKEN_FOR_ZERO = 10 * np.finfo(float).eps  # by scikit-learn's scalers


@pytest.mark.parametrize("shape", [(61, 9), WIDE])
@pytest.mark.parametrize(
    ("name", "relation"), [(name, one) for name, kept in SCALERS.items() for one in sorted(kept)]
)
def test_scaled_columns_move_with_the_table(name, relation, shape):
    X = easy(PCA(), shape)
    scaler = getattr(eigenlens, name)
    changes = changes_of(relation, shape)
    if relation == "scale" and name != "StandardScaler":
        changes = [change for change in changes if change.scale > TAKEN_FOR_ZERO]
    for change in changes:
        plain, moved = scaler().fit_transform(X), scaler().fit_transform(change.table(X))
        expected = replace(change, scale=1.0, shift=0.0).table(plain)
        assert_allclose(moved, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "relation"), [(name, one) for name, lost in UNKEPT.items() for one in sorted(lost)]
)
def test_scaled_columns_do_not_move_with_the_table(name, relation):
    shape = (62, 9)
    X, change = easy(PCA(), shape), CHANGES[relation](shape)
    scaler = getattr(eigenlens, name)
    plain, moved = scaler().fit_transform(X), scaler().fit_transform(change.table(X))
    assert np.abs(moved - replace(change, shift=0.0).table(plain)).max() > 1e-6


@pytest.mark.parametrize("name", ["MinMaxScaler", "RobustScaler", "Normalizer"])
def test_scikit_learn_takes_tiny_ranges_and_lengths_for_zero(name):
    X = easy(PCA(), SMALL)
    scaler = getattr(eigenlens, name)
    tiny = scaler().fit_transform(TAKEN_FOR_ZERO / 100 * X)
    assert np.abs(tiny).max() < 1e-10 < np.abs(scaler().fit_transform(X)).max()


def changes_of(relation, shape):
    return [scale(shape, c) for c in SCALES] if relation == "scale" else [CHANGES[relation](shape)]


def test_columns_in_any_units_after_a_scaler():
    """Each column may have a unit of its own: PCA of standardised columns does not see it."""
    X = easy(PCA(), SMALL)
    units = 10.0 ** np.arange(-4, 5)
    plain, other = (
        make_pipeline(eigenlens.StandardScaler(), PCA(3)).fit(table) for table in (X, X * units)
    )
    assert_allclose(other[-1].components_, plain[-1].components_, atol=1e-12)
    assert_allclose(other.transform(X * units), plain.transform(X), atol=1e-12)


@pytest.mark.parametrize("shape", TALL_AND_WIDE)
@pytest.mark.parametrize("relation", list(CHANGES))
def test_moments_move_with_the_table(relation, shape):
    X = easy(PCA(), shape)
    plain = Moments.of(X)
    for change in changes_of(relation, shape):
        moved, m = Moments.of(change.table(X)), len(change.rows) / len(X)
        assert moved.count == m * plain.count
        assert_allclose(moved.mean, change.new(plain.mean[None])[0], rtol=1e-12)
        turned = change.columns.T @ plain.scatter @ change.columns
        expected = m * change.scale**2 * turned
        assert_allclose(moved.scatter, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("relation", [name for name in CHANGES if name != "rotation"])
def test_covariance_and_correlation_move_with_the_table(relation, holes):
    X = easy(PCA(), SMALL)
    if holes:
        X[np.random.default_rng(8).random(SMALL) < 0.1] = np.nan
    for change in changes_of(relation, SMALL):
        C, R = eigenlens.covariance(X), eigenlens.correlation(X)
        P, n = change.columns, len(X)
        moved = change.table(X)
        spread = change.scale**2
        if relation != "repeated_rows":
            found = eigenlens.covariance(moved)
            assert_allclose(found, P.T @ C @ P * spread, atol=1e-11 * spread * np.abs(C).max())
        elif not holes:  # with holes, each pair of columns has its own number of rows
            found = eigenlens.covariance(moved) * (2 * n - 1) / (2 * n - 2)
            assert_allclose(found, C, atol=1e-11 * np.abs(C).max())
        if relation != "zero_columns":  # which have no correlation
            assert_allclose(eigenlens.correlation(moved), P.T @ R @ P, atol=1e-11)


@pytest.mark.parametrize("rule", select.RULES)
@pytest.mark.parametrize("shape", [(200, 30), (40, 90)])
@pytest.mark.parametrize("relation", ["shift", "scale", "rotation", "row_order", "column_order"])
def test_rules_of_rank_do_not_see_units_places_or_turns(relation, shape, rule):
    """On a table whose factors are clear: draws are other draws in another order of its rows."""
    X = planted_subspace(*shape, rank=2, decay=0.9, noise=0.05, random_state=0).X
    found = select.RULES[rule](X, np.random.default_rng(0))
    assert found.k == 2
    for change in changes_of(relation, shape):
        moved = select.RULES[rule](change.table(X), np.random.default_rng(0))
        assert moved.k == found.k


@pytest.mark.parametrize("rule", [select.fraction(0.9), select.minka(60)])
def test_rules_on_spectra_do_not_see_units(rule):
    spectrum = PCA().fit(easy(PCA(), SMALL)).spectrum_
    for c in SCALES:
        scaled = spectrum * c**2
        assert rule(scaled, scaled.sum(), True) == rule(spectrum, spectrum.sum(), True)
