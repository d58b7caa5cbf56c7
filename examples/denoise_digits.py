"""
Noise off handwritten digits
============================

Images of digits lie near a curved surface in the space of pixels. Linear PCA takes noise off by
projecting onto a plane: with few components it blurs, with many it keeps the noise. Kernel PCA
projects onto the surface, so that more components help it longer. The experiment is that of Mika et
al. (NIPS 1999) and of Schoelkopf and Smola (2002), on images of 16 x 16 pixels.

``--data`` takes an .npz file with ``X_train``, ``X_test`` and their labels ``y_train``, ``y_test``
(pixels in [0, 1], USPS for instance); without it, the small digits of scikit-learn are taken.
``--draw`` saves a picture (needs matplotlib)::

    python examples/denoise_digits.py --draw digits.png
"""

# %%
# Images with noise
# -----------------
# Pixels are brought to [-1, 1] and smoothed a little; the noise is Gaussian, of deviation 0.5.

import argparse

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits

from eigenlens import PCA, KernelPCA

parser = argparse.ArgumentParser(description="De-noising of digits by kernel PCA.")
parser.add_argument("--data", metavar="FILE", help="npz with X_train, y_train, X_test, y_test")
parser.add_argument("--draw", metavar="PICTURE", help="save a picture here")
options = parser.parse_args()


def some_of_each(X, y, count):
    return np.concatenate([X[y == digit][:count] for digit in range(10)])


rng = np.random.default_rng(0)
if options.data:
    with np.load(options.data) as data:
        train = some_of_each(data["X_train"], data["y_train"] % 10, 300)
        test = some_of_each(data["X_test"], data["y_test"] % 10, 50)
    smooth, counts = 0.75, (1, 4, 16, 32, 64, 128, 256, 512, 1024)
else:
    X, y = load_digits(return_X_y=True)
    order = rng.permutation(len(X))
    X, y = X[order] / 16, y[order]
    train, test = some_of_each(X[:1300], y[:1300], 130), some_of_each(X[1300:], y[1300:], 20)
    smooth, counts = 0.0, (1, 4, 8, 16, 32, 64, 128, 256)
side = int(train.shape[1] ** 0.5)


def prepared(images):
    square = 2.0 * images.reshape(-1, side, side) - 1
    return gaussian_filter(square, (0, smooth, smooth)).reshape(len(images), -1)


train, clean = prepared(train), prepared(test)
noisy = clean + 0.5 * rng.standard_normal(clean.shape)
print(f"{len(train)} images to learn from, {len(clean)} with noise, {side} x {side} pixels")

# %%
# Linear and curved
# -----------------
# Errors are mean squared distances to the clean image, as a part of that of the noisy one.


def error(images):
    return np.sum((images - clean) ** 2) / np.sum((noisy - clean) ** 2)


d = train.shape[1]
linear, curved = {}, {}
for k in counts:
    if k <= d:
        pca = PCA(k).fit(train)
        linear[k] = pca.inverse_transform(pca.transform(noisy))
    model = KernelPCA(k, kernel="rbf", gamma=1 / (0.5 * d), preimage="fixed_point", random_state=0)
    curved[k] = model.fit(train).denoise(noisy)
    straight = f"{error(linear[k]):.3f}" if k in linear else "    -"
    print(f"{k:5} components: linear {straight}, kernel {error(curved[k]):.3f}")
best_linear = min(linear, key=lambda k: error(linear[k]))
best_curved = min(curved, key=lambda k: error(curved[k]))
gain = error(linear[best_linear]) / error(curved[best_curved])
alike = max(error(linear[k]) / error(curved[k]) for k in linear)
print(f"best linear: {best_linear} components, best kernel: {best_curved}, gain {gain:.2f}")
print(f"at equal size the gain is up to {alike:.1f}")

# %%

if options.draw:
    import matplotlib.pyplot as plt

    rows = {"noisy": noisy, f"linear, {best_linear}": linear[best_linear]}
    rows |= {f"kernel, {best_curved}": curved[best_curved], "clean": clean}
    shown = [len(clean) // 10 * digit for digit in range(10)]
    figure, axes = plt.subplots(len(rows), 10, figsize=(8, 3.4), layout="constrained")
    for line, (title, images) in zip(axes, rows.items(), strict=True):
        for axis, i in zip(line, shown, strict=True):
            axis.imshow(images[i].reshape(side, side), cmap="gray", vmin=-1, vmax=1)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(title, rotation=0, ha="right", va="center")
    figure.savefig(options.draw, dpi=110)
