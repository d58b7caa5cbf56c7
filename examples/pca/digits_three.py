"""
Handwritten threes along two components
=======================================

Images of one digit, each a row of pixels, lie around their mean. Two components span a plane
through it, and every point of the plane is an image again,

.. math:: f(a, b) = \\bar x + a \\, v_1 + b \\, v_2.

To move along :math:`a` or :math:`b` and to look shows what a component means. The experiment is
that of Hastie, Tibshirani, Friedman (The elements of statistical learning, 2009, section 14.5),
with 130 threes written on envelopes. It runs on all threes of that set (USPS, 16 x 16 pixels) where
``EIGENLENS_DATA`` names a folder that has them, else on the 183 threes of scikit-learn, of 8 x 8
pixels. What the components mean is not the same for the two.
"""

# %%
# The mean and two components
# ---------------------------
# In a component, white is zero: orange pixels become brighter with the score, violet ones darker.
# Two components have little of the variance, 22 % of USPS and 36 % of the small digits, but no
# other two have more.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist

from eigenlens import PCA, datasets
from eigenlens.plot import ComponentImagesDisplay, TraversalDisplay

digits = datasets.digits()
threes = digits.X[digits.labels == 3]
pca = PCA(2).fit(threes)
scores = pca.transform(threes)
share = pca.explained_variance_ratio_.sum()
print(f"{len(threes)} threes: {digits.source}; two components have {share:.0%} of the variance")

figure, panels = plt.subplots(1, 3, figsize=(7, 2.7), layout="constrained")
ComponentImagesDisplay.from_estimator(pca, image_shape=digits.shape, ax=panels)

# %%
# Moving along them
# -----------------
# The scores of the grid are quantiles of those of the threes, from 5 % to 95 %, so that it stays
# where images are. Four measures say what is seen:
#
# - the ink, which is the sum of all pixels;
# - the width of the bottom curve, as the deviation of the ink in the lower three eighths from its
#   middle;
# - the place of the top curve, as the middle of the ink in the upper half, from the left;
# - the lean, by how much the top is to the right of the middle of the ink in the lower half.
#
# **USPS.** Along the first component the bottom curve becomes longer, to both sides: its width
# about doubles, from 2 to 4 pixels. Ink is added too, as a longer stroke has more. Along the second
# the strokes become thicker: the ink nearly doubles, and the width of the curve changes little.
#
# **Small digits.** Along the first component the bottom curve becomes narrower, by a third, and the
# top moves to the right over it. The second moves the top to the left, by half a pixel, and leaves
# the width as it is. The ink stays about the same along both. No component of these two is the
# thickness of strokes, and at 8 x 8 pixels there is little room for it.

display = TraversalDisplay.from_estimator(pca, X=threes, image_shape=digits.shape)


def measures(images):
    """Return four measures of each image; all but the ink are in pixels."""
    height, width = digits.shape
    images = images.reshape(-1, height, width)
    column = np.arange(width)

    def middle(part):
        ink = part.sum(axis=1)
        return ink @ column / ink.sum(axis=1)

    bottom = images[:, 5 * height // 8 :]
    off = column - middle(bottom)[:, None]
    ink = bottom.sum(axis=1)
    spread = np.sqrt(np.sum(ink * off**2, axis=1) / ink.sum(axis=1))
    top, low = middle(images[:, : height // 2]), middle(images[:, height // 2 :])
    return {"ink": images.sum(axis=(1, 2)), "width": spread, "top": top, "lean": top - low}


zero = np.zeros_like(display.across)
ways = {
    "component 1": np.column_stack([display.across, zero]),
    "component 2": np.column_stack([zero, display.down[::-1]]),
}
along = {way: measures(pca.inverse_transform(places)) for way, places in ways.items()}
for way, found in along.items():
    for name, values in found.items():
        print(f"along {way}, {name}: {np.array2string(values, precision=2)}")

# %%
# Threes that were written
# ------------------------
# A sum of pixels is linear in the scores, so the ink of the images on the grid grows or falls
# evenly, whatever the component is. That the measures mean something is seen in the threes that
# people wrote. Of these, with USPS, the first score goes with the width of the bottom curve
# (correlation about 0.8). The second goes with the ink (0.7) and not with the width. Ink goes with
# the first as well (0.6), since long strokes have more of it.
#
# With the small digits the first score goes with the lean (0.8) and against the width (-0.8), the
# second against the place of the top (-0.6). Neither goes with the ink.

written = measures(threes)
correlation = {
    name: np.corrcoef(values, scores.T)[0, 1:].round(2) for name, values in written.items()
}
for name, (first, second) in correlation.items():
    print(f"{name}: correlation {first:.2f} with score 1, {second:.2f} with score 2")

# %%
# Below, each point is a three, and the ones nearest to the places of the grid are shown as they
# were written. They have what the two scores say, and much besides that is in the components left
# out.

across, down = np.meshgrid(display.across, display.down)
grid = np.column_stack([across.ravel(), down.ravel()])
nearest = cdist(grid, scores).argmin(axis=1)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 5.3), layout="constrained")
left.plot(*scores.T, ".", color="0.55", markersize=4)
left.plot(*grid.T, "+", color="#0072B2", label="grid")
left.plot(*scores[nearest].T, "o", color="#D55E00", fillstyle="none", label="nearest three")
left.set(title="All threes", xlabel="component 1", ylabel="component 2", aspect="equal")
figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
height, width = digits.shape
tiles = np.full((5, height + 1, 5, width + 1), np.nan)  # with a line between images
tiles[:, :height, :, :width] = threes[nearest].reshape(5, 5, height, width).swapaxes(1, 2)
tiles = tiles.reshape(5 * (height + 1), 5 * (width + 1))[:-1, :-1]
right.imshow(tiles, cmap="gray", vmin=0, vmax=1)
right.set(
    title="The nearest ones", xlabel="component 1", ylabel="component 2", xticks=[], yticks=[]
)
plt.show()
