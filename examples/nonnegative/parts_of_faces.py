"""
Parts of faces
==============

Lee and Seung (1999) wrote a table :math:`X` of faces, one a row, as codes times parts,

.. math:: X \\approx W H, \\qquad \\min_{W, H} \\; \\|X - W H\\|^2,

in three ways, which differ in what codes and parts may be:

- NMF: neither :math:`W` nor :math:`H` may be negative.
- Vector quantisation, VQ: each row of :math:`W` has a single 1 and is 0 elsewhere, so that a row of
  :math:`H` has to stand for a whole image.
- PCA: both may be anything.

What does each of them take for a part of a face?
"""

# %%
# The faces
# ---------
# With ``EIGENLENS_DATA`` these are the faces of the paper, 2429 of 19 x 19 pixels, and 49 parts as
# there. Without, they are a hundred faces that scikit-image carries and their mirror images, the
# middle 19 x 19 pixels of each, and 36 parts. As in the paper, the pixels of each face are brought
# to a mean and a deviation of 1/4, and cut off at 0 and 1: a dark picture of a face is then the
# same as a bright one.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import NMF, PCA, VectorQuantizer, datasets
from eigenlens.measure import sparseness
from eigenlens.plot import PartsDisplay

images = datasets.faces("cbcl")
faces, k = images.X.reshape(-1, *images.shape), 49
if images.source != "cbcl faces":
    faces, k = np.concatenate([faces, faces[:, :, ::-1]])[:, 3:22, 3:22], 36
pixels = faces.reshape(len(faces), -1)
centred = pixels - pixels.mean(axis=1, keepdims=True)
X = np.clip(0.25 + 0.25 * centred / centred.std(axis=1, keepdims=True), 0, 1)
print(f"{images.source}: {len(X)} images of {X.shape[1]} pixels, {k} parts")

# %%
# Parts and codes
# ---------------
# The PCA of the paper takes no mean off. It is the PCA of :math:`X` and :math:`-X` together, whose
# mean is zero. So all three have the same number of parts and nothing beside them, and PCA has the
# least error that any product of this size can have. The paper's loss for NMF is another one, the
# likelihood of counts; squares are taken here, so that the three errors can be compared.

models = {
    "NMF": NMF(k, max_iter=2000).fit(X),
    "VQ": VectorQuantizer(k, n_init=5, random_state=0).fit(X),
    "PCA": PCA(k).fit(np.vstack([X, -X])),
}

figure, rows = plt.subplots(3, figsize=(9, 8.6), layout="constrained")
for row, model in zip(rows, models.values(), strict=True):
    PartsDisplay.from_estimator(model, X[0], ax=row)

# %%
# Parts times code is the image. Each number of the code stands where its part does in the board of
# parts, as its root, so that small ones are seen too. Parts of NMF are black with a spot or two:
# the bridge of a nose, a cheek, a piece of the outline. A face takes many of them, and all are
# added. Parts of VQ are faces, and the code picks the nearest. Parts of PCA cover the whole face,
# in two colours for two signs, and what one of them adds, others take away.

# %%
# In numbers
# ----------
# - The error is :math:`\|X - W H\| / \|X\|`.
# - Sparseness is Hoyer's (2004): 0 if all numbers are alike, 1 if only one of them is not zero. The
#   mean over parts, and over the codes of images. Codes are those of parts of length 1, because a
#   part may be made longer if its codes are made smaller.
# - What is cancelled is one minus the ratio of :math:`\sum |W H|` to :math:`\sum |W| |H|`: nothing,
#   where all terms have the same sign.

table = {}
for name, model in models.items():
    W, H = model.transform(X), model.components_
    lengths = np.linalg.norm(H, axis=1)
    table[name] = {
        "error": np.linalg.norm(X - W @ H) / np.linalg.norm(X),
        "sparseness of parts": np.mean(sparseness(H)),
        "sparseness of codes": np.mean(sparseness(W * lengths)),
        "cancelled": 1 - np.abs(W @ H).sum() / (np.abs(W) @ np.abs(H)).sum(),
    }
    print(f"{name:4}", ", ".join(f"{what} {value:.2f}" for what, value in table[name].items()))

figure, panels = plt.subplots(1, 4, figsize=(9, 2.2), sharey=True, layout="constrained")
colours = dict(zip(models, ("#0072B2", "#E69F00", "#009E73"), strict=True))
for panel, what in zip(panels, table["NMF"], strict=True):
    values = [table[name][what] for name in models]
    bars = panel.barh(list(models), values, color=list(colours.values()))
    panel.bar_label(bars, fmt="%.2f", padding=3)
    panel.set(title=what, xlim=(0, 1.25 * max(values)), xticks=[])
    panel.spines[["top", "right", "bottom"]].set_visible(False)
panels[0].invert_yaxis()

# %%
# Parts cost NMF little: its error is less than a fifth above the least, that of VQ half above it on
# the small set and twice as large on the faces of the paper. Parts of NMF are about three times as
# sparse as those of the others, whose pixels are nearly all in use. NMF and VQ cancel nothing. Of
# what PCA adds up, two thirds cancel.

plt.show()
