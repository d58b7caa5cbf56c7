"""
Noise off an image, patch by patch
==================================

Cut an image into all its patches of 7 x 7 pixels: 49 numbers each, most of which hold an edge or
nothing at all. An overcomplete dictionary has more atoms than that, here 100, of which each patch
needs few. Atoms :math:`D` and codes :math:`C` of the patches :math:`X` come from

.. math:: \\min_{C, D} \\; \\tfrac12 \\|X - C D\\|^2 + \\alpha \\|C\\|_1
          \\quad \\text{with} \\quad \\|D_k\\| \\le 1,

sparse PCA with the penalty on the other factor. Noise is like no atom. So a patch is described by
as few atoms as bring what is left down to the size of the noise, and each pixel is the mean of all
patches that it is in (Elad and Aharon 2006). The dictionary is learned from the noisy image itself.
"""

# %%
# An image and its noise
# ----------------------
# A corner of the coins of scikit-image at half their size, and white noise of a tenth of the full
# brightness. PSNR is minus ten times the logarithm of the mean squared error: 3 dB more is half the
# error.

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d
from sklearn.linear_model import orthogonal_mp_gram

from eigenlens import PCA, MiniBatchDictionaryLearning

SIDE, SIGMA = 7, 25 / 255
clean = data.coins()[:256, :256].reshape(128, 2, 128, 2).mean(axis=(1, 3)) / 255
noisy = clean + SIGMA * np.random.default_rng(0).standard_normal(clean.shape)


def psnr(image):
    return -10 * np.log10(np.mean((image - clean) ** 2))


def assembled(patches):
    """Return the image whose pixels are the means of all patches that have them."""
    return reconstruct_from_patches_2d(patches.reshape(-1, SIDE, SIDE), clean.shape)


patches = extract_patches_2d(noisy, (SIDE, SIDE)).reshape(-1, SIDE**2)
brightness = patches.mean(axis=1, keepdims=True)
X = patches - brightness
print(f"{len(X)} patches; the noisy image has {psnr(noisy):.1f} dB")

# %%
# What PCA can do
# ---------------
# The first components keep edges and leave out noise, but all patches have to do with the same
# ones. The number that is best is found by looking at the clean image, which nobody else has. A
# second way is fairer to PCA: all 48 components that patches without their brightness have, and of
# each patch only the scores that are larger than two and a half times the noise.

pca = PCA(SIDE**2 - 1).fit(X)
scores = pca.transform(X)


def from_scores(scores):
    return assembled(scores @ pca.components_[: scores.shape[1]] + pca.mean_ + brightness)


sizes = np.arange(2, 31, 2)
kept = [psnr(from_scores(scores[:, :k])) for k in sizes]
best = sizes[np.argmax(kept)]
subspace = from_scores(scores[:, :best])
thresholded = from_scores(np.where(np.abs(scores) > 2.5 * SIGMA, scores, 0))
print(f"PCA, {best} components: {psnr(subspace):.1f} dB")
print(f"PCA, large scores of each patch: {psnr(thresholded):.1f} dB")

# %%
# What a dictionary can do
# ------------------------
# Orthogonal matching pursuit takes the atom that is most like what is left of a patch, fits all
# weights anew, and goes on until what is left is as long as noise of 1.15 times the known
# deviation, as in the paper.

model = MiniBatchDictionaryLearning(100, alpha=0.3, random_state=0).fit(X[::3])
atoms = model.components_ / np.linalg.norm(model.components_, axis=1, keepdims=True)
code = orthogonal_mp_gram(
    atoms @ atoms.T, atoms @ X.T, tol=(1.15 * SIGMA * SIDE) ** 2, norms_squared=(X**2).sum(axis=1)
).T
denoised = assembled(code @ atoms + brightness)
needed = (code != 0).sum(axis=1).mean()
print(f"dictionary: {psnr(denoised):.1f} dB, with {needed:.1f} atoms a patch")

figure, panels = plt.subplots(2, 3, figsize=(8.4, 6), layout="constrained")
pictures = {
    "clean": clean,
    "noisy": noisy,
    f"PCA, {best} components": subspace,
    "PCA, large scores": thresholded,
    "dictionary": denoised,
}
for panel, (title, image) in zip(panels.flat, pictures.items(), strict=False):
    panel.imshow(image, cmap="gray", vmin=0, vmax=1)
    gained = "" if image is clean else f": {psnr(image):.1f} dB"
    panel.set(title=title + gained, xticks=[], yticks=[])
curve = panels[1, 2]
curve.plot(sizes, kept, "o-", color="#0072B2", markersize=4, label="PCA")
curve.axhline(psnr(thresholded), color="#E69F00", linestyle="--", label="PCA, large scores")
curve.axhline(psnr(denoised), color="#009E73", label="dictionary")
curve.set(xlabel="components of PCA", ylabel="PSNR, dB")
curve.legend(fontsize="small", loc="center right")

# %%
# The dictionary is 3 dB ahead of PCA with its best number of components. Two of these are due to
# the choice that each patch has, which thresholding gives to PCA as well; one is due to the atoms.

# %%
# The atoms
# ---------
# Those most in use come first. Nearly all are edges and arcs at some angle and place, as the rims
# of coins have them. The first principal components are waves, of which an edge needs many, and the
# last ones are noise.


def mosaic(tiles, across):
    """Return tiles in rows, each to its own largest number, with lines between them."""
    tiles = (tiles / np.abs(tiles).max(axis=1, keepdims=True)).reshape(-1, across, SIDE, SIDE)
    framed = np.pad(tiles, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    return framed.swapaxes(1, 2).reshape(-1, across * (SIDE + 1))


order = np.argsort(-(code != 0).sum(axis=0), kind="stable")
size = {"figsize": (8, 5), "width_ratios": (10, 8), "layout": "constrained"}
figure, (left, right) = plt.subplots(1, 2, **size)
left.imshow(mosaic(atoms[order], 10), cmap="PuOr_r", vmin=-1, vmax=1)
right.imshow(mosaic(pca.components_, 8), cmap="PuOr_r", vmin=-1, vmax=1)
left.set(title="100 atoms", xticks=[], yticks=[])
right.set(title="48 principal components", xticks=[], yticks=[])
plt.show()
