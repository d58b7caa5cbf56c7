"""
More components, more noise
===========================

How many components should a reconstruction keep? Kernel PCA has as many as there are points but
one, here 1099 for points of the plane. With :math:`P_k` the projection onto the mean and the first
:math:`k` components of the feature space, a point :math:`x` is taken to

.. math:: z_k = \\arg\\min_z \\; \\| \\phi(z) - P_k \\phi(x) \\|^2,

and with all components to itself: nothing is taken off, and nothing was gained. The reference is
Mika, Schoelkopf, Smola, Mueller, Scholz, Raetsch (NIPS 1999).
"""

# %%
# One to a hundred components
# ---------------------------
# Eleven clusters with a noise of 0.05. A hundred points of each are the fit, and 33 more are to be
# de-noised.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import KernelPCA
from eigenlens.plot import KernelComponentsDisplay

SIGMA = 0.05
rng = np.random.default_rng(0)
centres = rng.uniform(-1, 1, (11, 2))
X, new = (
    np.repeat(centres, m, axis=0) + SIGMA * rng.standard_normal((11 * m, 2)) for m in (100, 33)
)
truth = np.repeat(centres, 33, axis=0)


def kernel_pca(k):
    gamma = 1 / (4 * SIGMA**2)
    return KernelPCA(k, kernel="rbf", gamma=gamma, preimage="fixed_point", random_state=0).fit(X)


def error(Z):
    return np.mean(np.sum((Z - truth) ** 2, axis=1))


counts = (1, 5, 11, 20, 100)
models = {k: kernel_pca(k) for k in counts}
cleaned = {k: model.denoise(new) for k, model in models.items()}
shares = {k: error(Z) / error(new) for k, Z in cleaned.items()}
for k, share in shares.items():
    print(f"{k:3} components: error {share:.2f} of that of the noisy points")

# %%
# The mean in the feature space alone is a density whose peaks are near the centres: with one
# component points already go to the peak of their cluster. Eleven components, as many as there are
# clusters, tell these apart, and are the best here. Those that follow are shapes of clusters, along
# which the noise comes back: more than a third of it with 20, and nine tenths with a hundred.

figure, panels = plt.subplots(2, 3, figsize=(8.5, 5.6), layout="constrained")
titles = {k: f"{k} component{'s' * (k > 1)}" for k in counts}
shown = {"noisy": new} | {f"{titles[k]}: {shares[k]:.0%} left": Z for k, Z in cleaned.items()}
for panel, (title, Z) in zip(panels.flat, shown.items(), strict=True):
    panel.scatter(*X.T, s=2, color="#b8bec6")
    panel.scatter(*Z.T, s=5, color="#D55E00")
    panel.set(title=title, xticks=[], yticks=[], aspect="equal")

# %%
# One cluster, close up
# ---------------------
# The cross is the true centre. Few components take one of these points to the wrong cluster, eleven
# take all to the right one, with 20 they lie on a line, and with 100 they are back where they were.

size = {"figsize": (9.5, 2.3), "layout": "constrained"}
figure, panels = plt.subplots(1, 5, sharex=True, sharey=True, **size)
for panel, k in zip(panels, counts, strict=True):
    panel.scatter(*new[:33].T, s=10, color="#b8bec6")
    panel.scatter(*cleaned[k][:33].T, s=10, color="#D55E00")
    panel.plot(*centres[0], "k+", ms=10)
    panel.set(title=titles[k], xticks=[], yticks=[], aspect="equal")

# %%
# What the components are
# -----------------------
# The first have one sign over whole clusters. Later ones, here the 20th and the 100th, change their
# sign within them.

KernelComponentsDisplay.from_estimator(models[100], X, components=(0, 19, 99))
plt.show()
