"""The examples on classes before and after PCA, and on PCA in batches and by sketches."""

import numpy as np
import pytest
import sklearn.decomposition
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import PCA
from eigenlens.measure import largest_angle


@pytest.fixture
def cancer(run):
    return run("pca/cancer_before_after")


def test_two_components_of_the_cancer_table(cancer):
    names, (first, second) = cancer["table"].names, cancer["components"]
    order, plane = cancer["order"], cancer["plane"]
    assert order[0] == pytest.approx(0.97, abs=0.01)
    assert order[1] == order[1:].max() == pytest.approx(0.62, abs=0.01)
    assert plane.score(cancer["X"], cancer["malignant"]) == pytest.approx(0.956, abs=0.005)
    # what they mean
    assert first.min() > 0
    assert all("concav" in names[j] for j in np.argsort(-first)[:3])
    fractal = {names.index(f"{kind}fractal dimension") for kind in ("mean ", "worst ")}
    assert fractal | {names.index("fractal dimension error")} == set(np.argsort(-second)[:3])
    assert {names[j].split()[1] for j in np.argsort(second)[:6]} == {"radius", "perimeter", "area"}
    # the line of a chance of 0.9, which was drawn last, and the side on which malignant ones are
    weights, offset = cancer["weights"], cancer["offset"]
    for point in (cancer["along"], cancer["along"] + 3 * np.array(cancer["direction"])):
        assert expit(weights @ point + offset) == pytest.approx(0.9)
    assert weights[0] > 0 > weights[1]


def test_accuracy_by_the_number_of_components(cancer):
    counts, accuracy = np.array(cancer["counts"]), cancer["accuracy"]
    assert counts[-1] == cancer["X"].shape[1]
    for (_, rows), shares in accuracy.items():
        assert shares[counts == 1] < 0.92 < 0.94 < shares[counts == 2] < 0.96
        if rows == "rows left out":
            assert shares[counts == 5] > shares[counts == 2] + 0.015
    calm = accuracy["default penalty", "rows left out"][counts >= 5]
    assert np.ptp(calm) < 0.02
    # without a penalty the rows of the fit would keep all, and the others lose by it
    by_heart, left_out = (
        accuracy["next to none", f"rows {rows}"] for rows in ("of the fit", "left out")
    )
    assert by_heart[-1] == by_heart.max() == pytest.approx(0.997, abs=0.002)
    assert left_out[-1] == pytest.approx(left_out[counts == 2].item(), abs=0.01)
    assert left_out.max() > left_out[-1] + 0.015
    assert calm[-1] > left_out[-1] + 0.015


def test_accuracy_is_what_it_is_with_scikit_learn(cancer):
    rule = LogisticRegression(C=1e4, solver="newton-cholesky")
    model = make_pipeline(StandardScaler(), sklearn.decomposition.PCA(10), rule)
    theirs = cross_val_score(model, cancer["X"], cancer["malignant"], cv=cancer["folds"])
    ours = cancer["accuracy"]["next to none", "rows left out"][cancer["counts"].index(10)]
    assert theirs.mean() == pytest.approx(ours, abs=0.004)


@pytest.fixture
def ways(run):
    return run("pca/batches_and_sketches")


def test_batches(ways):
    found, batches = ways["in_batches"], ways["n_batches"]
    several = batches > 1
    for name in ways["SPECTRA"]:
        assert found[name, "ours"].max() < 1e-9
        assert found[name, "scikit-learn"][~several].max() < 1e-6
    assert found["steep", "scikit-learn"][several].min() > 0.3
    assert found["steep", "scikit-learn"][several].max() < 4
    assert found["slow", "scikit-learn"][several].min() > 5
    assert found["flat", "scikit-learn"][several].min() > 45
    assert ways["degrees_off"](ways["by_halves"], planted(ways, "flat", (2000, 100))[1]) < 1e-9
    merged, tenth, twentieth = ways["noise"].values()
    assert merged == pytest.approx(1, abs=1e-9)
    assert tenth == pytest.approx(1 / 10, rel=0.2)
    assert twentieth == pytest.approx(1 / 20, rel=0.2)


def planted(ways, *args):
    X, components, variances = ways["planted"](*args)
    found = PCA(ways["K"], svd_solver="full").fit(X)
    # so the truth that all angles are taken against is one
    np.testing.assert_allclose(found.explained_variance_, variances[: ways["K"]], rtol=1e-10)
    assert np.degrees(largest_angle(found.components_, components)) < 1e-9
    return X, components, variances


def test_sketches(ways):
    sketches, steps, K = ways["sketches"], ways["steps"], ways["K"]
    at = {int(count): i for i, count in enumerate(steps)}
    for name, found in sketches.items():
        krylov, power = found["block Krylov"], found["power iteration"]
        assert krylov[at[2]] > 0.1
        assert krylov[at[5]] < 6
        if name != "steep":
            assert np.all(krylov[steps >= 5] < power[steps >= 5] / 2)
    assert sketches["steep"]["power iteration"][at[2]] < 0.1
    assert all(sketches["steep"][way][at[5]] < 1e-6 for way in ("block Krylov", "power iteration"))
    X, components, variances = planted(ways, "flat", (900, 600))
    assert variances[K - 1] / variances[0] == pytest.approx(0.63, abs=0.01)
    flat = sketches["flat"]
    assert flat["block Krylov"][at[8]] < 0.5
    assert 20 < flat["power iteration"][at[8]] < 45
    assert flat["power iteration"][at[14]] > 3
    # which is what scikit-learn does if it is not told otherwise
    peer = sklearn.decomposition.PCA(K, svd_solver="randomized", random_state=0).fit(X)
    assert ways["degrees_off"](peer, components) == pytest.approx(
        flat["power iteration"][at[8]], rel=1e-3
    )


def test_certificates_of_sketches(ways):
    for name, found in ways["sketches"].items():
        bounds = np.array([certificate.value for certificate in found["certificates"]])
        holds = np.array([certificate.holds for certificate in found["certificates"]])
        assert np.all(found["error"] <= bounds)
        assert not holds[0]
        assert holds[-1]
        assert found["automatic"].certificate_.holds
        assert found["error"][holds].max() < 1e-8
        if name == "steep":
            continue
        # far too large, then another and weaker statement
        assert bounds[~holds].min() > 1
        assert bounds[holds].max() < 1e-8
        for certificate in found["certificates"]:
            said = "distance of a variance from an eigenvalue" in certificate.what
            assert said == certificate.holds
    taken = {name: found["automatic"].n_iter_ for name, found in ways["sketches"].items()}
    assert 3 <= taken["steep"] <= 5 < 8 <= taken["slow"] <= 10 < 13 <= taken["flat"] <= 17
