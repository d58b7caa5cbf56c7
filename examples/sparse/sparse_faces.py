"""
Faces in patches
================

An eigenface has a weight for every pixel, so it shows a whole face and says little about any part
of it. Sparse PCA makes most of the weights zero. Of the table :math:`X` of faces it keeps scores
:math:`Y` and components :math:`D` with

.. math:: \\min_{Y, D} \\; \\tfrac12 \\|X - Y D\\|^2 + \\alpha \\|D\\|_1
          \\quad \\text{with} \\quad \\|Y_k\\| \\le 1,

where the sum of absolute values, :math:`\\|D\\|_1`, is the price of weights. The bound on each
column of scores keeps the price from being avoided by a small :math:`D` and a large :math:`Y`.
Without the price :math:`Y D` is what PCA has, and :math:`D` any basis of its subspace. The problem
in this form is that of Mairal, Bach, Ponce and Sapiro (2010).
"""

# %%
# The faces
# ---------
# A hundred small faces that scikit-image carries; with ``EIGENLENS_DATA``, the 400 Olivetti faces.
# The mean face is taken off, and from each image its mean brightness, so that what is left is not
# about the lamp in the room. The penalty leaves one weight in five of the small faces, and about
# one in ten of the others.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, MiniBatchSparsePCA, SparsePCA, datasets
from eigenlens.plot import ComponentImagesDisplay

images = datasets.faces()
alpha = 0.8 if images.source == "olivetti faces" else 0.5
X = images.X - images.X.mean(axis=0)
X -= X.mean(axis=1, keepdims=True)
print(f"{images.source}: {len(X)} of {images.shape[0]} x {images.shape[1]} pixels")

# %%
# Six components, three times
# ---------------------------
# ``SparsePCA`` goes through all pixels until nothing moves. ``MiniBatchSparsePCA`` goes through a
# few at a time. The problem has many local minima, and the two end in different ones.

models = {
    "PCA": PCA(6),
    "sparse PCA": SparsePCA(6, alpha=alpha, random_state=0),
    "sparse PCA from mini-batches": MiniBatchSparsePCA(6, alpha=alpha, random_state=0),
}
figure = plt.figure(figsize=(9, 5.8), layout="constrained")
for part, (name, model) in zip(figure.subfigures(3), models.items(), strict=True):
    model.fit(X)
    part.suptitle(name, fontsize="medium", weight="bold")
    ComponentImagesDisplay.from_estimator(model, image_shape=images.shape, ax=part.subplots(1, 6))

# %%
# Eigenfaces have both colours everywhere, and white, which is zero, only where the sign changes.
# Sparse components are white with a patch on them, where images differ most: at the outline of the
# face, in the hair and in the background beside it; on the Olivetti faces also on the eyebrows and
# the lips.

# %%
# What the zeros cost
# -------------------
# The variance of sparse components is counted once: their scores are correlated, and each has only
# what those before it have not explained. No six directions explain more than those of PCA, and
# the patches explain about half of that.

nonzero = {name: np.mean(model.components_ != 0) for name, model in models.items()}
explained = {name: model.explained_variance_ratio_.sum() for name, model in models.items()}
for name, share in explained.items():
    print(f"{name}: {nonzero[name]:.1%} of the weights are not zero, {share:.1%} explained")
objective = models["sparse PCA"].objective_history_[-1]
print(f"objective of sparse PCA: {objective:.4f}")
plt.show()
