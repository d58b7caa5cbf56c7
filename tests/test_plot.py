"""Pictures: the numbers behind them, what is drawn, and that every one can be drawn anywhere."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenlens import PCA, datasets
from eigenlens.plot import ScreeDisplay
from eigenlens.plot.display import label


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_labels_are_never_mathematics():
    assert label("$x^2$") == r"\$x^2\$"
    assert label("_hidden").startswith(" ")
    assert len(label("x" * 100)) == 24


def test_scree_has_all_variances_and_the_rules():
    X = datasets.planted_subspace(200, 12, rank=3, noise=0.1, random_state=0).X
    model = PCA("consensus", random_state=0).fit(X)
    display = ScreeDisplay.from_estimator(model)
    assert len(display.shares) == 12
    assert_allclose(display.shares.sum(), 1)
    assert display.rules == {one.rule: one.k for one in model.choice_.choices}
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert_allclose(heights, 100 * display.shares)
    words = " ".join(text.get_text() for text in display.figure_.findobj(plt.Annotation))
    assert all(rule in words for rule in display.rules)


def test_drawn_again_on_given_axes():
    display = ScreeDisplay.from_estimator(PCA(2).fit(np.eye(4)))
    first = display.ax_
    _, ax = plt.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax is not first


def test_scree_needs_variances():
    from eigenlens import VectorQuantizer

    with pytest.raises(ValueError, match="VectorQuantizer has no variances"):
        ScreeDisplay.from_estimator(VectorQuantizer(2, random_state=0).fit(np.eye(4)))
