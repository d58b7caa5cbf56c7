"""
The way to a pre-image
======================

What kernel PCA projects is in general not the image of any point. Its pre-image is the point whose
image is nearest. For a Gaussian kernel, and a projection with coefficients :math:`g_i`, that is
where

.. math:: \\rho(z) = \\sum_i g_i \\, e^{-\\gamma \\|z - x_i\\|^2}

is largest. Set its gradient to zero, and :math:`z` is a mean of the points with weights that depend
on :math:`z` in turn, which suggests an iteration (Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch
1999):

.. math:: z_{t+1} = \\frac{\\sum_i g_i \\, e^{-\\gamma \\|z_t - x_i\\|^2} \\, x_i}
                       {\\sum_i g_i \\, e^{-\\gamma \\|z_t - x_i\\|^2}}.

Two things are to be seen: whether it ends at the same point wherever it starts, and what becomes of
it where the denominator, which is :math:`\\rho` itself, vanishes.
"""

# %%
# Eight starts, one end
# ---------------------
# A hundred points of one cluster, one component, the projection of the first point, the star, and
# eight starts drawn at random. ``preimage_path`` gives the steps of the plain iteration. Contours
# are the squared distance in the feature space, which is :math:`-2 \rho` up to a constant.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import KernelPCA
from eigenlens.plot import PreimagePathDisplay

SIGMA = 0.05
rng = np.random.default_rng(1)
centre = rng.uniform(-1, 1, 2)
X = centre + SIGMA * rng.standard_normal((100, 2))
gamma = 1 / (4 * SIGMA**2)
model = KernelPCA(1, kernel="rbf", gamma=gamma, preimage="fixed_point", random_state=0).fit(X)

display = PreimagePathDisplay.from_estimator(model, X, starts=8, n_steps=300)
ends = np.array([path[-1] for path in display.paths])
apart = np.ptp(ends, axis=0).max()
print(f"after 300 steps, the ends of {len(ends)} paths differ by {apart:.0e} at most")

# %%
# Each step goes uphill
# ---------------------
# The step from :math:`z_t` to the mean is the gradient of :math:`\rho`, divided by a positive
# number as long as :math:`\rho` is positive. Here each step makes :math:`\rho` larger, and the
# distance smaller, up to rounding. What is left to the end falls by the same factor in each step:
# less than twenty are enough for eight digits.

distances = [model.preimage_distances(X[0], path) for path in display.paths]
steepest = max(np.diff(distance).max() for distance in distances)
needed = [
    np.argmax(np.linalg.norm(path - path[-1], axis=1) < 1e-8 * SIGMA) for path in display.paths
]
print(f"the distance never rises by more than {steepest:.0e}")
print(f"steps to eight digits: {min(needed)} to {max(needed)}")

figure, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for path in display.paths:
    left = np.linalg.norm(path[:20] - path[-1], axis=1)
    axis.semilogy(np.where(left > 1e-15, left, np.nan), ".-", color="#0072B2", lw=0.8)
axis.set(xlabel="step", ylabel="distance from the end", xticks=range(0, 20, 2))

# %%
# A start far from all points
# ---------------------------
# Far away the kernel is nearly zero, and so is the denominator. The ratio of the two sums still
# tends to the nearest point of the fit, and the iteration comes back from as far as numbers of
# double precision reach: :math:`\rho` is :math:`10^{-154}` at a distance of 2, forty times the
# noise. At 3 it is zero, 0/0 is no step, and the path ends where it began.

away = np.array([0.5, 1.0, 2.0, 3.0, 5.0])
starts = centre + away[:, None] * [1, 0]
lengths = [len(model.preimage_path(X[0], start, n_steps=300)) - 1 for start in starts]

# %%
# ``denoise`` looks out for that. It projects the far point itself, not the star, and starts there;
# where there is no step it begins again at the best of the points that weigh most, and says so. To
# move at random until the denominator is not zero would be another way, but then the answer depends
# on luck.

cleaned, status = model.denoise(starts, return_status=True)
for distance, steps, how in zip(away, lengths, status, strict=True):
    print(f"start {distance} away: {steps} plain steps, denoise says {str(how)!r}")
furthest = np.linalg.norm(cleaned - cleaned.mean(axis=0), axis=1).max()
print(f"what it gives for all of them is within {furthest:.0e}")

reach = np.linspace(0, 3.5, 141)
squares = (centre + reach[:, None, None] * [1, 0] - X) ** 2
weights = model.axes_.coefficients(model.transform(X[:1]))[0]
denominator = np.exp(-gamma * squares.sum(axis=2)) @ weights
gone = reach[np.argmax(denominator == 0)]

figure, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axis.semilogy(reach, np.where(denominator > 0, denominator, np.nan), color="#0072B2")
axis.axvspan(gone, reach[-1], color="#D55E00", alpha=0.2)
axis.text((gone + reach[-1]) / 2, 1e-150, "no step", ha="center", color="#D55E00", rotation=90)
axis.set(xlabel="distance of the start from the centre", ylabel="denominator", xlim=(0, reach[-1]))
axis.set_yticks(10.0 ** np.arange(-300, 1, 50))
plt.show()
