"""
De-noising by kernel PCA
========================

Points scatter about eleven centres. Projected onto a few kernel components and taken back to the
space that they came from, they move to their centres, which no projection onto a plane could do.
The way back is a *pre-image* of the projection :math:`P \\phi(x)` in the feature space: the point

.. math:: \\arg\\min_z \\; \\| \\phi(z) - P \\phi(x) \\|^2,

which for a Gaussian kernel is found as a weighted mean of the points of the fit, with weights that
depend on it in turn. This is the experiment of Mika, Schoelkopf, Smola, Mueller, Scholz and Raetsch
(NIPS 1999), in the plane to be looked at, and in ten dimensions to be compared with the numbers
that they print.
"""

# %%
# Five levels of noise in the plane
# ---------------------------------
# A hundred points of each cluster are the fit; 33 others have their noise taken off. The width of
# the kernel, :math:`c` in :math:`e^{-\|x - y\|^2 / c}`, is that of the paper, :math:`2 d \sigma^2`
# in :math:`d` dimensions. Both methods keep one component.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, KernelPCA


def clusters(rng, sigma, d, box):
    """Return points to learn from, points to de-noise, and the true centres of these."""
    centres = rng.uniform(-box, box, (11, d))
    train, test = (
        np.repeat(centres, m, axis=0) + sigma * rng.standard_normal((11 * m, d)) for m in (100, 33)
    )
    return train, test, np.repeat(centres, 33, axis=0)


def kernel_pca(X, k, sigma):
    gamma = 1 / (2 * X.shape[1] * sigma**2)
    return KernelPCA(k, kernel="rbf", gamma=gamma, preimage="fixed_point", random_state=0).fit(X)


def linearly_denoised(X, k, new):
    pca = PCA(k).fit(X)
    return pca.inverse_transform(pca.transform(new))


def error(Z, truth):
    return np.mean(np.sum((Z - truth) ** 2, axis=1))


SIGMAS = (0.05, 0.1, 0.2, 0.4, 0.8)
in_plane = {}
figure, rows = plt.subplots(2, 5, figsize=(10, 4.4), layout="constrained")
for column, sigma in zip(rows.T, SIGMAS, strict=True):
    X, new, truth = clusters(np.random.default_rng(0), sigma, 2, box=1.0)
    cleaned = linearly_denoised(X, 1, new), kernel_pca(X, 1, sigma).denoise(new)
    in_plane[sigma] = [error(Z, truth) for Z in cleaned]
    for axis, Z in zip(column, cleaned, strict=True):
        axis.scatter(*X.T, s=2, color="#b8bec6")
        axis.scatter(*Z.T, s=10, color="#D55E00", marker="*")
        axis.set(xticks=[], yticks=[])
    column[0].set_title(f"noise {sigma}")
    straight, curved = in_plane[sigma]
    print(f"noise {sigma}: squared error {straight:.3f} by linear, {curved:.3f} by kernel PCA")
rows[0, 0].set_ylabel("linear PCA")
rows[1, 0].set_ylabel("kernel PCA")

# %%
# Linear PCA moves everything onto one line. Kernel PCA moves points to the peaks of the density,
# which are the centres as long as the clusters are apart. From a noise of 0.4 on they are not:
# there is one heap, and a point goes towards its middle. At 0.4 linear PCA even comes nearer to the
# centres.

# %%
# The printed table
# -----------------
# In ten dimensions the table has the squared error of linear PCA over that of kernel PCA, with the
# same number of components. The paper puts the centres into :math:`[-1, 1]^{10}`. Its numbers come
# out with half that box, which is the same as twice the noise. That the table was made so is
# inferred from its numbers, and not said in the paper.

COUNTS = (1, 3, 6, 9)
PRINTED = {
    0.05: (2058.42, 846.14, 170.36, 92.23),
    0.1: (10.22, 21.51, 23.53, 63.41),
    0.2: (0.99, 1.18, 2.73, 6.32),
    0.4: (1.07, 1.44, 2.08, 2.47),
    0.8: (1.23, 1.54, 1.96, 2.39),
}

gains = {}
for sigma in SIGMAS:
    X, new, truth = clusters(np.random.default_rng(0), sigma, 10, box=0.5)
    gains[sigma] = [
        error(linearly_denoised(X, k, new), truth)
        / error(kernel_pca(X, k, sigma).denoise(new), truth)
        for k in COUNTS
    ]
    print(f"noise {sigma}: gain", "  ".join(f"{gain:7.2f}" for gain in gains[sigma]))

figure, axis = plt.subplots(figsize=(7, 4.4), layout="constrained")
colours = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00")
for sigma, colour, marker in zip(SIGMAS, colours, "oDs^X", strict=True):
    axis.semilogy(COUNTS, gains[sigma], color=colour, marker=marker, label=f"noise {sigma}")
    axis.semilogy(COUNTS, PRINTED[sigma], color=colour, linestyle="--", linewidth=1)
axis.axhline(1, color="black", linewidth=0.8)
axis.set(xlabel="components", ylabel="error of linear over kernel PCA", xticks=COUNTS)
figure.legend(title="dashed: printed", loc="outside right upper")

# %%
# In ten dimensions kernel PCA is ahead with each noise and each number of components, but for one:
# a single component at a noise of 0.2, where the paper prints 0.99. This one draw is within 10 % of
# the printed numbers at 0.4 and 0.8, and within 30 % at 0.2. With less noise the error is that of a
# few points which go to a wrong centre, and differs from draw to draw: at 0.1 this one is well
# below the printed ratios.

plt.show()
