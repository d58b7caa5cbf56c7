"""The examples of non-negative factors: what each of them says it finds."""

import numpy as np
import pytest
from real_data import real_folder

KL, SQUARES = "kullback-leibler", "frobenius"


@pytest.mark.parametrize("original", [False, True], ids=["small", "original"])
def test_parts_of_faces(run, original):
    """Lee, Seung (1999), figure 1: parts of faces by NMF, whole faces by VQ, eigenfaces by PCA."""
    data = real_folder("cbcl_faces.npz") if original else None
    found = run("nonnegative/parts_of_faces", data=data)
    X, k, models, table = found["X"], found["k"], found["models"], found["table"]
    assert (*X.shape, k) == ((2429, 361, 49) if original else (200, 361, 36))
    assert X.min() == 0
    assert X.max() == 1
    nmf, vq, pca = (table[name] for name in ("NMF", "VQ", "PCA"))
    # the least error of any table of rank k is that of PCA
    assert 0 < pca["error"] <= nmf["error"] <= vq["error"] < 1
    singular = np.linalg.svd(X, compute_uv=False)
    least = np.sqrt((singular[k:] ** 2).sum() / (singular**2).sum())
    assert abs(pca["error"] / least - 1) < 1e-10
    assert nmf["error"] < 1.2 * pca["error"]
    assert vq["error"] / pca["error"] == pytest.approx(2.1 if original else 1.5, abs=0.1)
    # parts of NMF are sparse, of the others not; VQ has one 1 in a code
    sparseness = {name: row["sparseness of parts"] for name, row in table.items()}
    assert sparseness["NMF"] > 2.7 * max(sparseness["VQ"], sparseness["PCA"])
    assert sparseness["NMF"] > 0.6
    assert abs(vq["sparseness of codes"] - 1) < 1e-12
    for name in ("VQ", "PCA"):
        assert np.mean(np.abs(models[name].components_) > 1e-12) > 0.8
    # nothing is taken away but by PCA
    assert models["NMF"].transform(X).min() >= 0
    assert models["NMF"].components_.min() >= 0
    assert models["VQ"].components_.min() > -1e-12
    assert models["PCA"].components_.min() < 0
    assert nmf["cancelled"] == pytest.approx(0, abs=1e-12)
    assert vq["cancelled"] == pytest.approx(0, abs=1e-12)
    assert pca["cancelled"] == pytest.approx(2 / 3, abs=0.04)
    # a face takes many parts
    assert np.median((models["NMF"].transform(X) > 0).sum(axis=1)) > k / 3


def test_likelihood_rises_as_the_divergence_falls(run):
    found = run("nonnegative/poisson_counts")
    X, likelihood, divergence = found["X"], found["likelihood"], found["divergence"]
    assert X.shape == (300, 40)
    assert (np.diff(likelihood) > 0).all()
    assert (np.diff(divergence) < 0).all()
    by_hand = np.sum([x * np.log(x) - x for x in X[X > 0].astype(float)])
    assert found["constant"] == pytest.approx(by_hand, rel=1e-12)
    np.testing.assert_allclose(likelihood + divergence, by_hand, rtol=1e-10)
    # what one gains the other loses, to more digits than either moves by
    np.testing.assert_allclose(np.diff(likelihood), -np.diff(divergence), rtol=1e-6, atol=1e-4)


def test_squares_lose_rare_topics(run):
    found = run("nonnegative/poisson_counts")
    wrong, ratios = found["wrong"], found["ratios"]
    assert ratios == [1, 3, 10, 30, 100]
    last = {loss: np.median(shares[..., -1], axis=1) for loss, shares in wrong.items()}
    apart = np.mean(found["between"])
    assert apart == pytest.approx(0.7, abs=0.03)
    assert last[SQUARES][0] == pytest.approx(last[KL][0], abs=0.02)
    assert last[SQUARES][0] < 0.1
    assert last[SQUARES][3] > 0.8 * apart
    assert last[SQUARES][4] > 0.9 * apart
    assert last[KL][3] == pytest.approx(0.1, abs=0.03)
    assert np.sort(wrong[KL][4, :, -1])[3] < 0.3  # all draws but one
    assert np.sort(wrong[KL][4, :, -1])[4] > 0.4
    for loss in (KL, SQUARES):
        assert np.median(wrong[loss][..., 0], axis=1).max() < 0.1
    # draw by draw, where the ratio is large
    assert (wrong[KL][3:, :, -1] < wrong[SQUARES][3:, :, -1]).all()
    # and the same for the topic that is drawn
    words = {loss: np.abs(found["shown"][loss] - found["topics"][-1]).sum() / 2 for loss in wrong}
    assert words[KL] < 0.2 < 0.4 < words[SQUARES]
    assert found["topics"][-1, np.argmax(found["shown"][SQUARES])] < 0.02


def test_misplaced_words_are_counted(run):
    misplaced = run("nonnegative/poisson_counts")["misplaced"]
    topics = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    parts = np.array([[0, 0, 3, 3], [6, 2, 0, 0.0]])  # the other way round, of other lengths
    np.testing.assert_allclose(misplaced(topics, parts), [0.25, 0])


def test_how_many_parts(run):
    found = run("nonnegative/how_many_parts")
    table, rows, entries = (np.array(curve) for curve in found["curves"].values())
    assert list(found["curves"]) == ["the table itself", "rows left out", "entries left out"]
    assert found["X"].shape == found["others"].shape
    assert (np.diff(table) < 0).all()
    assert (np.diff(rows) < 0).all()
    assert found["numbers"][np.argmin(entries)] == 5
    assert (np.diff(entries[4:]) > 0).all()
    for falling in (table, rows):  # they bend at five
        assert falling[3] - falling[4] > 5 * (falling[4] - falling[5])
    assert found["chosen"].n_components_ == 5
    assert found["hidden"].mean() == pytest.approx(0.1, abs=0.01)
