"""
Noise off handwritten digits
============================

Images of digits lie near a curved surface in the space of pixels. Linear PCA takes noise off by
projecting onto a plane: with few components it blurs, with many it keeps the noise. Kernel PCA
projects in the feature space of the kernel

.. math:: k(x, y) = e^{-\\|x - y\\|^2 / c}, \\qquad c = d / 2,

for images of :math:`d` pixels, and takes the :math:`z` whose :math:`\\phi(z)` is nearest to the
projection. It has more components than there are pixels to choose from, and more of them help it
longer. The experiment is that of Mika et al. (NIPS 1999) and of Schoelkopf and Smola (2002, chapter
18), on images of 16 x 16 pixels.
"""

# %%
# Images with noise
# -----------------
# Pixels are brought to [-1, 1]; the noise is Gaussian, of deviation 0.5. With ``EIGENLENS_DATA``,
# the images are those of the experiment, USPS, smoothed a little; without, small digits of 8 x 8
# pixels.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

from eigenlens import PCA, KernelPCA, datasets

images = datasets.digits()
rng = np.random.default_rng(0)
usps = images.shape == (16, 16)
if usps:
    tested, smooth, each = 2007, 0.75, (300, 50)
    counts = (4, 16, 32, 64, 128, 256, 512)
    order = np.arange(len(images.X))
else:
    tested, smooth, each = 497, 0.0, (100, 20)
    counts = (1, 4, 8, 16, 24, 32, 48, 64, 128, 256)
    order = rng.permutation(len(images.X))


def some_of_each(rows, count):
    """Return this many images of each digit, brought to [-1, 1] and smoothed."""
    rows = np.concatenate([rows[images.labels[rows] == digit][:count] for digit in range(10)])
    squares = 2 * images.X[rows].reshape(-1, *images.shape) - 1
    return gaussian_filter(squares, (0, smooth, smooth)).reshape(len(rows), -1)


train, clean = some_of_each(order[:-tested], each[0]), some_of_each(order[-tested:], each[1])
noisy = clean + 0.5 * rng.standard_normal(clean.shape)
d = train.shape[1]
print(f"{images.source}: {len(train)} to learn from, {len(clean)} with noise, {d} pixels")

# %%
# Linear and curved
# -----------------
# Errors are mean squared distances to the clean image, as a share of that of the noisy one.


def error(found):
    return np.sum((found - clean) ** 2) / np.sum((noisy - clean) ** 2)


linear, curved = {}, {}
for k in counts:
    if k <= d:
        pca = PCA(k).fit(train)
        linear[k] = pca.inverse_transform(pca.transform(noisy))
    model = KernelPCA(k, kernel="rbf", gamma=1 / (0.5 * d), preimage="fixed_point", random_state=0)
    curved[k] = model.fit(train).denoise(noisy)
    straight = f"{error(linear[k]):.3f}" if k in linear else "    -"
    print(f"{k:5} components: linear {straight}, kernel {error(curved[k]):.3f}")
errors = {
    "linear PCA": {k: error(found) for k, found in linear.items()},
    "kernel PCA": {k: error(found) for k, found in curved.items()},
}
best = {name: min(row, key=row.get) for name, row in errors.items()}
least = {name: errors[name][k] for name, k in best.items()}
gain = least["linear PCA"] / least["kernel PCA"]
alike = max(errors["linear PCA"][k] / errors["kernel PCA"][k] for k in linear)
print(f"best: {best}, and so a gain of {gain:.2f}; at equal size it is up to {alike:.1f}")

figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
looks = {"linear PCA": ("#D55E00", "o-"), "kernel PCA": ("#0072B2", "s-")}
for name, (colour, style) in looks.items():
    axis.semilogx(*zip(*errors[name].items(), strict=True), style, color=colour, label=name)
axis.axhline(1, color="0.55", linestyle="--", label="noisy")
axis.set(xlabel="components", ylabel="error, of that of the noisy image", ylim=(0, None))
axis.legend()

# %%
# With few components linear PCA is ahead. With more, its plane takes in the noise too, and with all
# of them nothing is taken off. The error of kernel PCA goes on falling, and at the best of both it
# is about 0.6 times that of linear PCA.
#
# One image of each digit, by either method at its best. Around the digits, where the clean images
# are black, kernel PCA leaves about half of the squared error of linear PCA.

black = clean < -0.9
rows = {"noisy": noisy, "linear": linear[best["linear PCA"]], "kernel": curved[best["kernel PCA"]]}
on_black = {name: np.mean((rows[name] - clean)[black] ** 2) for name in ("linear", "kernel")}
rows["clean"] = clean
print(f"where images are black, kernel over linear: {on_black['kernel'] / on_black['linear']:.2f}")

figure, panels = plt.subplots(len(rows), 10, figsize=(8, 3.4), layout="constrained")
for line, (title, pixels) in zip(panels, rows.items(), strict=True):
    for panel, image in zip(line, pixels[:: each[1]], strict=True):
        panel.imshow(image.reshape(images.shape), cmap="gray", vmin=-1, vmax=1)
        panel.set(xticks=[], yticks=[])
    line[0].set_ylabel(title, rotation=0, ha="right", va="center")
plt.show()
