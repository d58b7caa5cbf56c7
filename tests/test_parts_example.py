"""The example of parts: what NMF, vector quantisation and PCA find in the same images."""

import numpy as np
import pytest
from real_data import real_file


def assert_as_in_the_paper(found):
    """Lee, Seung (1999), figure 1: parts of faces by NMF, whole faces by VQ, eigenfaces by PCA."""
    X, k, table = found["X"], found["k"], found["table"]
    nmf, vq, pca = (table[name] for name in ("NMF", "VQ", "PCA"))
    assert 0 < pca["error"] <= nmf["error"] <= vq["error"] < 1
    singular = np.linalg.svd(X, compute_uv=False)
    least = np.sqrt((singular[k:] ** 2).sum() / (singular**2).sum())
    assert abs(pca["error"] / least - 1) < 1e-10  # no table of rank k is nearer
    assert nmf["parts"] > 2 * max(pca["parts"], vq["parts"])
    assert abs(vq["codes"] - 1) < 1e-12
    codes, parts = found["found"]["NMF"]
    assert codes.min() >= 0
    assert parts.min() >= 0
    assert found["found"]["PCA"][1].min() < 0


def test_parts_of_small_digits(run, drawing):
    assert_as_in_the_paper(run("parts_of_faces", *drawing))


@pytest.fixture
def faces():
    return real_file("cbcl_faces.npz")


def test_parts_of_faces(run, faces, drawing):  # without faces there is nothing to draw
    found = run("parts_of_faces", "--data", faces, "--components", 49, *drawing)
    assert found["X"].shape == (2429, 361)
    assert_as_in_the_paper(found)
    assert found["table"]["NMF"]["parts"] > 0.6
