"""The examples on scaling and covariances."""

import numpy as np
import pytest
import sklearn.decomposition


def test_franke_scaling(run):
    found = run("scaling/franke_scaling")
    spread, error = found["spread"], found["error"]
    # monomials are between 0 and 1 before a scaler sees them, and differ in deviation
    assert found["X"].shape == (1000, 21)
    assert found["X"].min() >= 0
    assert found["X"].max() <= 1
    assert spread["none"]["deviation"].max() > 2 * spread["none"]["deviation"].min()
    np.testing.assert_allclose(spread["min-max"]["range"], 1)
    np.testing.assert_allclose(spread["standard"]["deviation"], 1)
    assert spread["robust"]["range"].max() > 10
    fixed = {name: error[name, "auto"] for name in found["scalers"]}
    assert fixed["none"] > 6 * fixed["standard"]
    assert fixed["none"] > 2 * fixed["robust"]
    for idle in ("min-max", "normaliser"):
        assert fixed[idle] == pytest.approx(fixed["none"], rel=0.1)
    assert max(fixed, key=fixed.get) == "normaliser"
    # with the width from the variance, little is left of this
    own = {name: error[name, "scale"] for name in found["scalers"]}
    assert own["none"] < 2 * own["standard"]
    assert own["none"] < fixed["none"] / 4
    assert own["min-max"] == pytest.approx(own["standard"], rel=0.2)
    assert own["normaliser"] < own["standard"] / 2
    assert own["robust"] > 1.5 * own["none"]
    assert 1 - fixed["none"] / found["z_test"].var() == pytest.approx(0.902, abs=0.01)


def test_what_a_kernel_that_is_too_wide_misses(run):
    found = run("scaling/franke_scaling")
    z, high = found["z_test"], found["z_test"] > 1
    raw, scaled = (
        np.mean(1 - found["predicted"][s, "auto"][high] / z[high]) for s in ("none", "standard")
    )
    assert raw == pytest.approx(0.25, abs=0.03)
    assert 0 < scaled < raw / 2


def test_franke_covariance(run):
    found = run("scaling/franke_covariance")
    C, R = found["C"], found["R"]
    # ones: covariance 0, correlation undefined, and said so by name
    assert not C[0].any()
    assert np.isnan(R[0]).all()
    assert np.isnan(R[:, 0]).all()
    assert not np.isnan(R[1:, 1:]).any()
    np.testing.assert_allclose(R[1:, 1:], found["R_numpy"][1:, 1:], atol=1e-12)
    assert len(found["ours"]) == 1
    assert "Column x0 is constant" in found["ours"][0]
    assert "Drop" in found["ours"][0]
    assert found["theirs"] == ["invalid value encountered in divide"] * 2
    # a constant that rounds: nothing may be made of it
    assert np.isnan(found["of_constant"][0]).all()
    assert len(found["warned"]) == 1
    if np.isfinite(found["of_rounding"][0, 1]):  # as the mean rounds here
        assert abs(found["of_rounding"][0, 1]) < 1e-6
        assert not found["silence"]


def test_monomials_are_near_to_singular(run):
    found = run("scaling/franke_covariance")
    names, R = found["names"], found["R"]
    assert (len(names), len(set(names))) == (21, 21)
    assert R[names.index("xxxx"), names.index("xxxxx")] > 0.99
    assert np.nanmax(np.triu(R, 1)) == pytest.approx(0.995, abs=1e-3)
    assert found["share"][1] < 0.95 < found["share"][2]
    assert found["eigenvalues"].sum() == pytest.approx(20)
    assert 0 < found["eigenvalues"][-1] < 3e-6
    monomials, legendre = map(np.array, found["conditions"].values())
    assert 5e6 < monomials[3] < 2e7
    growth = monomials[1:] / monomials[:-1]
    assert growth.min() > 30
    assert growth.max() < 60
    assert 1e13 < monomials[-1] < 1 / np.finfo(float).eps < monomials[-1] * 36**2
    assert legendre[3] == pytest.approx(2, abs=0.1)
    assert legendre.max() < 20


@pytest.fixture
def pipelines(run):
    return run("scaling/cancer_scaling")


def test_pipelines_give_what_they_give_with_scikit_learn(pipelines):
    fitted, X_test = pipelines["fitted"], pipelines["X_test"]
    components = {"95 %": 0.95, "two": 2}
    compared = 0
    for (scaler, classifier, what), model in pipelines["models"].items():
        if what == "columns":
            continue
        peer = fitted(
            pipelines["scalers"][scaler],
            sklearn.decomposition.PCA(components[what]),
            pipelines["classifiers"][classifier],
            pipelines["X_train"],
            pipelines["y_train"],
        )
        assert model[1].n_components_ == peer[1].n_components_
        np.testing.assert_array_equal(model.predict(X_test), peer.predict(X_test))
        np.testing.assert_allclose(
            model.decision_function(X_test), peer.decision_function(X_test), rtol=1e-3, atol=1e-3
        )
        compared += 1
    assert compared == 20


def test_cancer_scaling(pipelines):
    models, n = pipelines["models"], len(pipelines["y_test"])
    right = {key: round(share * n) for key, share in pipelines["accuracy"].items()}
    assert n == 143
    # scaled columns are told apart better than raw ones, most of all by distances
    for scaler in ("standard", "min-max", "robust"):
        assert 1 <= right[scaler, "SVM", "columns"] - right["none", "SVM", "columns"] <= 3
        assert right[scaler, "logistic", "columns"] > right["none", "logistic", "columns"]
    # ten components of thirty standardised columns lose nothing, two lose little
    for classifier, lost in (("logistic", 3), ("SVM", 5)):
        columns, ten, two = (right["standard", classifier, what] for what in pipelines["reducers"])
        assert models["standard", classifier, "95 %"][1].n_components_ == 10
        assert ten >= columns
        assert columns - two == lost
        assert two > 0.9 * n
        assert two <= right["none", classifier, "two"]
    # raw, the first component is the area, and little else
    raw = models["none", "SVM", "two"][1]
    assert models["none", "SVM", "95 %"][1].n_components_ == 1
    assert raw.explained_variance_ratio_[0] > 0.98
    areas = [pipelines["table"].names.index(f"{kind} area") for kind in ("mean", "worst")]
    assert np.sum(raw.components_[0, areas] ** 2) > 0.99
    assert pipelines["accuracy"]["normaliser", "logistic", "columns"] == pytest.approx(
        0.76, abs=0.01
    )
    # the gradient method, without and with a scale
    assert pipelines["steps"]["none"] > 100 * pipelines["steps"]["standard"]


def test_cancer_features(run):
    found = run("scaling/cancer_features")
    names, auc, R = found["table"].names, found["auc"], found["R"]
    assert {names[j] for j in found["ranking"][:3]} == {
        f"worst {what}" for what in ("perimeter", "radius", "area")
    }
    assert {names[j] for j in found["ranking"][3:5]} == {
        "worst concave points",
        "mean concave points",
    }
    assert auc.max() == auc[names.index("worst perimeter")] == pytest.approx(0.9755, abs=1e-4)
    # what the area is: pairs of a malignant and a benign tumour in the right order
    worst = found["table"].X[:, names.index("worst perimeter")]
    apart = worst[found["malignant"]][:, None] - worst[~found["malignant"]]
    assert np.mean((apart > 0) + (apart == 0) / 2) == pytest.approx(auc.max(), abs=1e-12)
    assert set(found["useless"]) == {
        "mean fractal dimension",
        "texture error",
        "smoothness error",
        "symmetry error",
    }
    np.testing.assert_allclose(R, np.corrcoef(found["table"].X.T), atol=1e-12)
    assert R[found["radius"], found["perimeter"]] == pytest.approx(0.998, abs=5e-4)
    # the sizes stand side by side in the picture, one block of correlations
    places = [
        found["display"].names.index(f"{kind} {what}")
        for kind in ("mean", "worst")
        for what in ("radius", "perimeter", "area")
    ]
    assert max(places) - min(places) == 5
    assert found["display"].correlation[np.ix_(places, places)].min() > 0.9


def test_eigenvalues_of_the_cancer_table(run):
    found = run("scaling/cancer_features")
    eigenvalues = found["eigenvalues"]
    assert eigenvalues.sum() == pytest.approx(30)
    assert eigenvalues[0] == pytest.approx(13.28, abs=0.01)
    assert found["share"][0] == pytest.approx(0.443, abs=1e-3)
    assert (found["above"], found["needed"]) == (6, 10)
    assert 1e-4 < eigenvalues[-1] < 2e-4
    assert np.sum(found["rounded"] < -1e-3) == np.sum(found["rounded"] < 0) == 8
    assert found["rounded"][-1] == pytest.approx(-0.19, abs=0.01)


def test_covariance_by_hand(run):
    found = run("scaling/covariance_by_hand")
    n, X, C, R = found["n"], found["X"], found["C"], found["R"]
    for other in (found["by_hand"], np.cov(X.T)):
        np.testing.assert_allclose(C, other, rtol=1e-12)
    assert R[0, 1] == pytest.approx(found["r_by_hand"], rel=1e-12)
    assert R[0, 1] == pytest.approx(np.corrcoef(X.T)[0, 1], rel=1e-12)
    # near the truth that is known, as far as 100 rows go
    np.testing.assert_allclose(C, [[1, 3], [3, 10]], rtol=0.1)
    assert R[0, 1] == pytest.approx(3 / np.sqrt(10), abs=0.01)
    np.testing.assert_allclose(found["covariance"](X, ddof=0), C * (n - 1) / n, rtol=1e-12)
    # the ellipse: eigenvectors and eigenvalues
    axes, variances = found["display"].axes, found["display"].variances
    np.testing.assert_allclose(axes.T * variances @ axes, C, rtol=1e-10)
    assert found["long_axis"] > C[0, 1] / C[0, 0] + 0.2


def test_covariance_with_holes_and_with_large_means(run):
    found = run("scaling/covariance_by_hand")
    C, C_holes, complete = found["C"], found["C_holes"], found["complete"]
    assert len(complete) == 67
    assert np.isnan(np.cov(found["holes"].T)[0, 1])
    assert C_holes[0, 0] == pytest.approx(C[0, 0], rel=1e-12)
    np.testing.assert_allclose(C_holes[1], np.cov(complete.T)[1], rtol=1e-12)
    # single precision: the textbook loses it digit by digit, from means of 10 000 on all of it
    means, textbook = found["means"], found["errors"]["textbook"]
    assert textbook[0] < 1e-5
    assert 1e-3 < textbook[means == 1e3].item() < 0.1
    assert textbook[means >= 1e4].min() > 0.99
    assert found["textbook"](found["shifted"][4]) % 8 == 0
    assert found["truth"][4] == pytest.approx(2.83, abs=0.01)
    assert found["errors"]["eigenlens"].max() < 1e-6
