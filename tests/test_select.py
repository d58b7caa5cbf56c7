"""How many components: levels on noise, planted factors found, closed forms, and odd tables."""

import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks.rank import SHADOWS, STEPS, Problem
from eigenlens.select import (
    RULES,
    Choice,
    consensus,
    cross_validation,
    deflation,
    factored,
    flip,
    gavish_donoho,
    parallel,
    rank_of,
    resampling,
)
from eigenlens.select.cross_validation import CHARGE, _Blocks, against_the_least
from eigenlens.select.gavish_donoho import (
    hard_threshold,
    marchenko_pastur_median,
    noise_deviation,
)

each_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def rng(seed=0):
    return np.random.default_rng(seed)


def clear(n=300, d=80, uneven=False):
    """Draw a table with five factors far above its noise, and noise that is not a rare event.

    A rule with a level finds one component too many in a hundredth or a twentieth of all tables.
    """
    return Problem("clear", n, d, tuple(8 * STEPS), uneven).draw(4)


def noise(seed, n=60, d=20):
    return rng(seed).standard_normal((n, d)) * rng(seed).uniform(0.7, 1.4, d)


# -------------------------------------------------------------------------------- planted truth


@each_rule
@pytest.mark.parametrize("shape", [(300, 80), (80, 300), (150, 150)])
def test_factors_far_above_white_noise_are_found(rule, shape):
    assert rule(clear(*shape), rng()).k == 5


def test_flip_and_consensus_find_factors_in_uneven_noise():
    """At 3 to 4.5 times the limit, where white-noise rules drown. 200 draws: benchmarks rank."""
    problem = Problem("uneven", 500, 200, tuple(3 * STEPS), uneven=True)
    agreed = [consensus(problem.draw([5, s]), rng(s)) for s in range(6)]
    found = [{choice.rule: choice.k for choice in a.choices} for a in agreed]
    assert sum(f["flip"] == 5 for f in found) >= 5
    assert sum(a.k == 5 for a in agreed) >= 5
    assert min(f["gavish-donoho"] for f in found) > 10  # it needs white noise


@pytest.mark.parametrize("shadow", list(SHADOWS)[:2])
def test_consensus_sees_what_a_strong_factor_hides(shadow):
    problem = Problem(shadow, 500, 200, SHADOWS[shadow], uneven=True)
    agreed = [consensus(problem.draw([6, s]), rng(s)) for s in range(4)]
    hidden = [choice.k for a in agreed for choice in a.choices if choice.rule == "flip"]
    assert max(hidden) < 5
    assert sum(a.k == 5 for a in agreed) >= 3


def test_deflation_does_not_go_on_into_the_noise():
    """After five factors the level is still 1 %: of 40 tables, 4 or more happen once in 1000."""
    problem = Problem("strong", 60, 30, tuple(8 * STEPS), uneven=True)
    found = [deflation(problem.draw([7, s]), rng(s)).k for s in range(40)]
    assert min(found) == 5
    assert sum(k > 5 for k in found) < 4


def test_residual_of_the_factors_looks_like_its_flips():
    """Behind five factors, the share of draws above the next value is uniform: on average 1/2."""
    problem = Problem("strong", 60, 30, tuple(8 * STEPS), uneven=True)
    shares = []
    for s in range(60):
        table = factored(problem.draw([9, s]))
        draw = resampling._Destroyed(table, 5, resampling._flip_signs).draw
        shares.append(np.mean([draw(seed)[0] >= table.singular[5] for seed in range(20)]))
    assert abs(np.mean(shares) - 0.5) < 0.13  # 3.3 standard errors of the mean of 60 uniforms


def test_more_factors_than_are_tried_at_first():
    X = Problem("many", 300, 100, tuple(np.linspace(12, 10, 20)), uneven=False).draw(0)
    assert cross_validation(X, rng()).k == 20
    assert deflation(X, rng()).k == 20


def test_parallel_looks_further_where_it_first_looked_at_few(monkeypatch):
    X = Problem("many", 200, 90, tuple(np.linspace(7, 6, 20)), uneven=False).draw(0)
    whole = parallel(X, rng(), n_draws=19)
    monkeypatch.setattr(resampling, "FORMED", 0)
    assert resampling.START < 20
    assert parallel(X, rng(), n_draws=19).k == whole.k == 20


def test_leading_values_of_large_matrices():
    """By Lanczos, far closer than draws differ from each other."""
    F = rng().standard_normal((820, 900)).astype(np.float32)
    M = F @ F.T
    found = resampling._leading(M, 3, rng())
    np.testing.assert_allclose(found, np.linalg.eigvalsh(M)[:-4:-1], rtol=1e-4)


# -------------------------------------------------------------------------------- level


@pytest.mark.parametrize(("rule", "level"), [(parallel, 0.05), (flip, 0.05), (deflation, 0.01)])
def test_level_on_pure_noise(rule, level):
    """Each bound is passed by chance once in a thousand times."""
    draws = 200
    found = sum(rule(noise(s), rng(s)).k > 0 for s in range(draws))
    bound = {0.05: 21, 0.01: 8}[level]
    assert found <= bound
    if level == 0.05:
        assert found >= 1  # a test with a level uses it: none in 200 happens once in 30 000


@pytest.mark.parametrize("rule", [cross_validation, gavish_donoho, consensus])
def test_noise_has_no_components(rule):
    white = [rng(s).standard_normal((100, 40)) for s in range(20)]
    assert sum(rule(X, rng(s)).k > 0 for s, X in enumerate(white)) <= 1


def test_flip_keeps_its_level_where_every_cell_has_its_own_variance():
    def uneven(s):
        r = rng([8, s])
        cells = np.multiply.outer(r.uniform(0.3, 3, 80), r.uniform(0.3, 3, 40))
        return r.standard_normal((80, 40)) * cells

    tables = [uneven(s) for s in range(60)]
    assert (
        sum(flip(X, rng(s)).k > 0 for s, X in enumerate(tables)) <= 9
    )  # more happen once in a thousand
    # permuting columns mixes quiet and loud rows, and takes the loud ones for structure
    assert sum(parallel(X, rng(s)).k > 0 for s, X in enumerate(tables)) > 30


# -------------------------------------------------------------------------------- closed forms


def test_threshold_of_a_square_matrix():
    assert hard_threshold(400, 400) == pytest.approx(4 / np.sqrt(3) * 20, rel=1e-14)


@pytest.mark.parametrize("shape", [(1000, 1000), (1000, 300), (50, 1000)])
def test_threshold_is_where_keeping_a_factor_begins_to_pay(shape):
    """At it the error of the kept factor, x^2 + y^2 - 2 x y c c~, equals that of zero, x^2."""
    beta = min(shape) / max(shape)
    y = hard_threshold(*shape) / np.sqrt(max(shape))
    square = y**2 - 1 - beta
    x = np.sqrt((square + np.sqrt(square**2 - 4 * beta)) / 2)  # the factor seen as y
    assert y == pytest.approx(np.sqrt((x + 1 / x) * (x + beta / x)), rel=1e-12)
    left = np.sqrt((x**4 - beta) / (x**4 + beta * x**2))
    right = np.sqrt((x**4 - beta) / (x**4 + x**2))
    assert y == pytest.approx(2 * x * left * right, rel=1e-12)


@pytest.mark.parametrize(
    ("beta", "omega"), [(0.05, 1.5194), (0.1, 1.6089), (0.5, 2.1711), (1.0, 2.8582)]
)
def test_published_coefficients_for_unknown_noise(beta, omega):
    """Gavish, Donoho (2014), table IV: threshold over the median singular value."""
    n = 10**6
    ratio = hard_threshold(n, round(beta * n)) / np.sqrt(n * marchenko_pastur_median(beta))
    assert ratio == pytest.approx(omega, abs=2e-4)


@pytest.mark.parametrize("beta", [1e-6, 0.01, 0.3, 0.999, 1.0])
def test_median_halves_the_law(beta):
    a, b = (1 - np.sqrt(beta)) ** 2, (1 + np.sqrt(beta)) ** 2
    t = (np.arange(400_000) + 0.5) / 400_000 * np.pi  # by the midpoint rule, in x = centre + r cos
    x = (a + b) / 2 + (b - a) / 2 * np.cos(t)
    mass = (b - a) ** 2 / 4 * np.sin(t) ** 2 / (2 * np.pi * beta * x) * np.pi / len(t)
    below = x < marchenko_pastur_median(beta)
    assert mass.sum() == pytest.approx(1, abs=1e-5)
    assert mass[below].sum() == pytest.approx(0.5, abs=1e-5)


def test_noise_of_a_large_matrix_is_found_and_used():
    X = 3.0 * rng().standard_normal((800, 400))
    unknown, known = gavish_donoho(X), gavish_donoho(X, noise=3.0)
    assert unknown.thresholds[0] == pytest.approx(known.thresholds[0], rel=0.01)
    assert known.thresholds[0] == pytest.approx(3 * hard_threshold(799, 400), rel=1e-14)


@pytest.mark.parametrize("shape", [(6, 30), (7, 30), (30, 6)])
def test_noise_is_that_of_the_median_of_the_singular_values_that_centring_leaves(shape):
    X, (n, d) = rng().standard_normal(shape), shape
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[: min(n - 1, d)]
    threshold = hard_threshold(n - 1, d) * noise_deviation(np.median(values), n - 1, d)
    np.testing.assert_allclose(gavish_donoho(X).thresholds, threshold, rtol=1e-10)


# -------------------------------------------------------------------------------- mechanism


@pytest.mark.parametrize("missing", [False, True])
def test_blocks_are_predicted_as_owen_and_perry_write_it(missing):
    """Costs against ``B D_k^+ C`` taken literally; with a mask that hides nothing too."""
    Z = rng().standard_normal((40, 15)) @ np.diag(np.linspace(3, 1, 15))
    rows, columns = np.arange(40) % 4, np.arange(15) % 3
    seen = np.ones_like(Z) if missing else None
    costs = _Blocks(Z, seen, rows, columns, rng()).costs(5)
    assert costs.shape == (12, 6)
    expected = []
    for i in range(4):
        for j in range(3):
            inside, hidden = rows == i, columns == j
            A, B = Z[np.ix_(inside, hidden)], Z[np.ix_(inside, ~hidden)]
            C, D = Z[np.ix_(~inside, hidden)], Z[np.ix_(~inside, ~hidden)]
            U, s, Vt = np.linalg.svd(D, full_matrices=False)
            for k in range(6):
                inverse = Vt[:k].T @ np.diag(1 / s[:k]) @ U[:, :k].T
                charge = CHARGE * (s[:k] ** 2).sum() * A.size / D.size
                expected.append(np.sum((A - B @ inverse @ C) ** 2) + charge)
    np.testing.assert_allclose(costs.ravel(), expected, rtol=1e-9)


def test_products_are_those_of_the_rows_that_have_both_columns():
    Z, rows = rng().standard_normal((30, 6)), np.arange(30) % 3
    seen = (rng(1).random(Z.shape) < 0.7).astype(float)
    products = _Blocks(Z * seen, seen, rows, np.arange(6) % 2, rng())._products()
    for group, G in enumerate(products):
        for a in range(6):
            both = (rows != group) & (seen[:, a] * seen[:, 3] > 0)
            assert G[a, 3] == pytest.approx(20 * np.mean(Z[both, a] * Z[both, 3]), abs=1e-12)


def test_destroying_keeps_what_it_should():
    E = rng().standard_normal((7, 50)).astype(np.float32)  # features are rows
    F = np.empty_like(E)
    resampling._flip_signs(F, E, rng())
    np.testing.assert_array_equal(np.abs(F), np.abs(E))
    assert 0.4 < np.mean(F == E) < 0.6
    resampling._permute(F, E, rng())
    np.testing.assert_array_equal(np.sort(F, axis=1), np.sort(E, axis=1))
    order = np.argsort(F, axis=1)[:, 0] - np.argsort(E, axis=1)[:, 0]
    assert len(set(order)) > 3  # every feature its own way


def test_noise_that_projections_took_is_restored():
    """Variances w mixed by the squares of ``P = I - QQ'`` come back, however uneven they are."""
    Q = np.linalg.qr(rng().standard_normal((300, 4)))[0]
    w = rng(1).uniform(0.2, 5, 300)
    left = np.square(np.eye(300) - Q @ Q.T) @ w
    np.testing.assert_allclose(left * resampling._restoring(left, Q) ** 2, w, rtol=1e-6)


@pytest.mark.parametrize(("above", "found"), [(0, 1), (1, 1), (2, 0), (39, 0)])
def test_quantile_counts_the_observed_value_too(above, found):
    """Two of forty are 5 %: with the observed one, one draw may be as large."""
    values = iter([2.0] * above + [0.5 + 0.01 * i for i in range(39 - above)])
    compared = resampling._compare(
        np.array([1.0]), lambda _: np.array([next(values)]), 0.95, 39, rng()
    )
    assert compared.k == found


@pytest.mark.parametrize("rounding", [0, 1e-6])
def test_ties_do_not_count_as_above(rounding):
    drawn = np.array([1 - rounding])  # single precision
    assert resampling._compare(np.ones(3), lambda _: drawn, 0.95, 39, rng()).k == 0


def test_smallest_number_within_one_standard_error_of_the_best():
    """Blocks save 4 by the first component, 0.2 +- 1 by the second, and lose by the third."""
    saved = np.array([1.2, -0.8] * 10)
    costs = np.stack([np.full(20, 10.0), np.full(20, 6.0), 6 - saved, 7 - saved], axis=1)
    excess, error = against_the_least(costs)
    spread = np.sqrt(20) * saved.std(ddof=1) / 200
    np.testing.assert_allclose(excess, np.array([84, 4, 0]) / 200, atol=1e-14)
    np.testing.assert_allclose(error, [spread, spread, 0], atol=1e-14)
    assert Choice.of("cv", "cost", excess, error, "").k == 1


def test_drawing_stops_when_the_answer_is_settled():
    early = parallel(clear(), rng(), n_draws=999)
    assert "999 draws" not in early.note
    assert early.k == 5
    assert "999 draws" not in flip(noise(0), rng(), n_draws=999).note


@pytest.mark.usefixtures("many_threads")
def test_draws_do_not_depend_on_the_number_of_threads():
    X = clear(uneven=True)
    with threadpool_limits(1):
        one = consensus(X, rng())
    two = consensus(X, rng())
    for a, b in zip(one.choices, two.choices, strict=True):
        np.testing.assert_array_equal(a.observed, b.observed)
        np.testing.assert_array_equal(a.thresholds, b.thresholds)


@each_rule
def test_a_factored_table_gives_the_same(rule):
    X = clear()
    assert str(rule(factored(X), rng())) == str(rule(X, rng()))


def test_vote_is_the_median(monkeypatch):
    def says(name, k):
        return lambda X, rng: Choice(name, k, "value", np.empty(0), np.empty(0))

    answers = {"parallel": 9, "flip": 2, "deflation": 7, "gavish-donoho": 99, "cv": 4}
    stubs = {name: says(name, k) for name, k in answers.items()}
    monkeypatch.setattr(sys.modules["eigenlens.select.consensus"], "ALONE", stubs)
    agreed = consensus(clear(), rng())
    assert agreed.k == 4
    for name, k in answers.items():
        assert f"{name:14}{k:4}" in str(agreed)


@each_rule
def test_answer_names_its_rule_and_shows_its_evidence(rule):
    name = next(key for key, value in RULES.items() if value is rule)
    answer = rule(clear(), rng())
    assert answer.rule == name
    assert str(answer).startswith(f"{name}: 5 components")
    for choice in getattr(answer, "choices", [answer]):
        passed = choice.observed > choice.thresholds
        assert passed[: choice.k].all()
        assert not passed[choice.k : choice.k + 1].any()


# -------------------------------------------------------------------------------- metamorphic


@each_rule
@pytest.mark.parametrize("factor", [2.0**40, 2.0**-40, -1e150, 1e-150])
def test_scale_changes_nothing(rule, factor):
    X = clear(120, 40)
    before, after = rule(X, rng()), rule(factor * X, rng())
    assert after.k == before.k == 5
    if np.log2(abs(factor)).is_integer() and not hasattr(before, "choices"):
        power = 0 if before.rule == "cv" else 1  # costs are relative, singular values are not
        np.testing.assert_allclose(after.thresholds, before.thresholds * factor**power, rtol=1e-12)


@each_rule
def test_order_and_offsets_change_nothing(rule):
    X, r = clear(120, 40), rng(1)
    others = {
        "rows": X[r.permutation(120)],
        "columns": X[:, r.permutation(40)],
        "offsets": X + 1e4 * r.standard_normal(40),
        "signs of columns": X * r.choice([-1, 1], 40),
    }
    assert {name: rule(Y, rng()).k for name, Y in others.items()} == dict.fromkeys(others, 5)


@each_rule
def test_single_precision_gives_the_same(rule):
    X = clear(uneven=True) + 30
    single = X.astype(np.float32)
    a, b = rule(single, rng()), rule(single.astype(np.float64), rng())
    assert a.k == b.k
    if not hasattr(a, "choices"):
        np.testing.assert_allclose(a.observed, b.observed, rtol=1e-4, atol=1e-5)


# -------------------------------------------------------------------------------- odd tables


@pytest.mark.parametrize("rule", [deflation, gavish_donoho, cross_validation, consensus])
def test_noise_far_below_the_factors_is_still_noise(rule):
    """A second group of factors a million times weaker, itself above the noise."""
    U, V = (np.linalg.qr(rng(s).standard_normal((size, 4)))[0] for s, size in ((1, 200), (2, 60)))
    X = (U * [4e8, 3e8, 400, 300]) @ V.T + rng().standard_normal((200, 60))
    assert rule(X, rng()).k == 4


@each_rule
def test_constant_columns_and_tables(rule):
    X = clear(120, 40)
    X = np.concatenate([X, np.full((120, 3), 7.1), np.zeros((120, 2))], axis=1)
    assert rule(X, rng()).k == 5
    assert rule(np.full((10, 4), 0.1), rng()).k == 0


@each_rule
def test_low_rank_without_noise(rule):
    """No rule goes beyond the rank, whatever is rounding."""
    X = rng().standard_normal((200, 4)) @ rng(1).standard_normal((4, 50)) + 5
    assert len(factored(X).singular) == 4
    answer = rule(X, rng())
    assert 1 <= answer.k <= 4
    if rule not in (parallel, flip):
        assert answer.k == 4


@each_rule
@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 1), (5, 1), (2, 50), (4, 4), (6, 300)])
def test_tiny_tables(rule, shape):
    X = rng(4).standard_normal(shape)
    assert 0 <= rule(X, rng()).k <= min(shape[0] - 1, shape[1])


@each_rule
def test_input_is_left_alone(rule):
    X = clear(60, 20)
    X.flags.writeable = False
    kept = X.copy()
    rule(X, rng())
    np.testing.assert_array_equal(X, kept)
    assert rule(np.asfortranarray(X), rng()).k == rule(X, rng()).k
    assert rule((1000 * clear()).round().astype(np.int64), rng()).k == 5


@pytest.mark.parametrize("shape", [(400, 60), (60, 400)])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_cross_validation_takes_holes(shape, share):
    X = Problem("holes", *shape, tuple(8 * STEPS), uneven=True).draw(0) + 20
    X[rng(1).random(shape) < share] = np.nan
    X[:, 3] = np.nan  # a column that nobody has seen
    assert cross_validation(X, rng()).k == 5


@each_rule
def test_holes_are_refused_with_a_remedy(rule):
    X = clear(60, 20)
    X[3, 4] = np.nan if rule is not cross_validation else np.inf
    with pytest.raises(ValueError, match="Fill or drop"):
        rule(X, rng())


@pytest.mark.parametrize("X", [np.zeros(5), np.zeros((1, 5)), np.zeros((5, 0))])
@each_rule
def test_what_is_no_table_is_refused(rule, X):
    with pytest.raises(ValueError, match="at least two rows"):
        rule(X, rng())


@pytest.mark.parametrize(("quantile", "n_draws"), [(0.95, 18), (1.0, 99), (0.0, 99), (0.99, 50)])
def test_draws_too_few_for_the_level_are_refused(quantile, n_draws):
    with pytest.raises(ValueError, match=f"n_draws={n_draws}"):
        flip(clear(60, 20), rng(), quantile=quantile, n_draws=n_draws)


def test_one_group_is_refused():
    with pytest.raises(ValueError, match="groups=1"):
        cross_validation(clear(60, 20), rng(), groups=1)


def test_long_evidence_is_cut_short():
    text = str(Choice.of("rule", "value", np.arange(40.0, 0, -1), 0.5, "note"))
    assert text.startswith("rule: 40 components (note)")
    assert text.endswith("28 more")


def test_global_random_state_is_not_used():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    consensus(clear(60, 20), rng())
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_rules_on_spectra_are_named_as_before():
    assert rank_of(None, 10, 4) == 4
    assert rank_of(3, 10, 4) == 3
    assert rank_of(0.5, 10, 4)(np.array([3.0, 1.0]), 4.0, True) == 1
    assert rank_of("mle", 100, 4)(np.array([9.0, 1.1, 1.0, 0.9]), 12.0, True) == 1


def test_benchmark_counts_hits():
    from benchmarks import rank
    from benchmarks.harness import Options

    tables = list(rank.run(Options(smoke=True)))
    assert [table.name for table in tables] == ["white", "uneven", "shadow"]
    for table in tables:
        assert table.columns[1 : 1 + len(RULES)] == list(RULES)
        assert all(cell.endswith("%") for row in table.rows for cell in row[1:])
