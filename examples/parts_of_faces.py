"""
Parts of faces
==============

Three ways to write images as X = W H, with parts H and codes W, after Lee and Seung (Nature 1999).
They differ in what they allow:

- NMF: neither W nor H may be negative. Nothing cancels, so parts only add up: noses, eyes, mouths.
- VQ (vector quantisation): each row of W has a single 1, so a part has to be a whole image.
- PCA: W and H may be anything. The error is the least that there is, but parts are faces with
  negative pixels, which cancel each other.

``--data`` takes an .npz file with ``X``, one grey image a row (the CBCL faces for instance), and
``image_shape`` if they are not square; without it, the small digits of scikit-learn are taken.
``-o`` saves a picture laid out like that of the paper (needs matplotlib)::

    python examples/parts_of_faces.py -o parts.png
    python examples/parts_of_faces.py --data cbcl_faces.npz --components 49 -o faces.png
"""

# %%
# Images
# ------
# As in the paper, pixels of each face are brought to a mean and a deviation of 1/4, and cut off at
# 0 and 1. Digits, which are dark but for their lines, stay as they are.

import argparse

import numpy as np
from sklearn.datasets import load_digits

from eigenlens import NMF, PCA, VectorQuantizer
from eigenlens.measure import sparseness

parser = argparse.ArgumentParser(description="Parts of images by NMF, VQ and PCA.")
parser.add_argument("--data", metavar="FILE", help="npz with X and, if not square, image_shape")
parser.add_argument("--components", type=int, default=16, metavar="K", help="parts [16]")
parser.add_argument("--image", type=int, default=0, metavar="ROW", help="the one to draw [0]")
parser.add_argument("-o", "--draw", metavar="PICTURE", help="save a picture here")
options = parser.parse_args()


def scaled(images):
    centred = images - images.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    return np.clip(0.25 + 0.25 * centred / np.where(deviation == 0, 1, deviation), 0, 1)


if options.data:
    with np.load(options.data) as data:
        X = scaled(data["X"].reshape(len(data["X"]), -1).astype(np.float64))
        shape = tuple(data["image_shape"]) if "image_shape" in data else None
else:
    X, shape = load_digits().data / 16, None
height, width = shape or 2 * (round(X.shape[1] ** 0.5),)
k = options.components
print(f"{len(X)} images of {height} x {width} pixels, {k} parts")

# %%
# Parts and codes
# ---------------
# The PCA of the paper takes eigenvectors of X'X, without the mean: this is the PCA of X and -X
# together, whose mean is zero. So all three have the same number of parts and nothing beside them,
# and PCA has the least error of all tables of rank k.

nmf = NMF(k, max_iter=2000, random_state=0)
vq = VectorQuantizer(k, n_init=5, random_state=0)
pca = PCA(k).fit(np.vstack([X, -X]))
found = {
    "NMF": (nmf.fit_transform(X), nmf.components_),
    "VQ": (vq.fit_transform(X), vq.components_),
    "PCA": (pca.transform(X), pca.components_),
}

# %%
# What they cost and what they look like
# --------------------------------------
# Errors are ``|X - W H| / |X|``. Sparseness is Hoyer's, as a mean over parts or over the codes of
# images: 0 if all pixels, or all numbers of a code, are alike, 1 if only one of them is not zero.
# Codes are those of parts of length 1, because a part may be made longer if its numbers are made
# smaller.

table = {}
print("       error     sparseness          zeros")
print("                parts   codes    parts   codes")
for name, (codes, parts) in found.items():
    length = np.linalg.norm(parts, axis=1)
    table[name] = row = {
        "error": np.linalg.norm(X - codes @ parts) / np.linalg.norm(X),
        "parts": np.nanmean(sparseness(parts)),
        "codes": np.nanmean(sparseness(codes * length)),
    }
    zeros = [f"{np.mean(factor == 0):8.1%}" for factor in (parts, codes)]
    print(f"{name:4} {row['error']:7.4f} {row['parts']:8.3f}{row['codes']:8.3f} {''.join(zeros)}")

# %%
# In the picture, parts times code is the image. Each number of the code stands where its part does,
# as its root, so that small ones are seen too. Where there are both signs, white is zero.

if options.draw:
    import matplotlib.pyplot as plt

    from eigenlens.plot import PartsDisplay

    figure, lines = plt.subplots(3, figsize=(9.6, 9.6), layout="constrained")
    for line, model in zip(lines, (nmf, vq, pca), strict=True):
        PartsDisplay.from_estimator(
            model, X[options.image], image_shape=(height, width), most=k, ax=line
        )
    figure.savefig(options.draw, dpi=110)
