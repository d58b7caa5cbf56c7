"""
Occlusions off faces
====================

Faces that are cut out alike vary in a few ways that many of them share. A hand, a scarf or a label
before a face is large, covers few pixels, and is elsewhere in each picture. Principal component
pursuit (Candes, Li, Ma, Wright 2011) parts them, with pictures as the rows of :math:`M`:

.. math:: \\min_{m, L, S} \\; \\|L\\|_* + \\lambda \\|S\\|_1
   \\quad \\text{with} \\quad 1 m^\\top + L + S = M.

Real faces are not exactly of low rank, so that no theorem applies and nothing is recovered exactly.
The blocks here are planted on real faces: what is behind them is known, and the error can be told.
"""

# %%
# Some faces are covered
# ----------------------
# Three of ten get a black or a white block, of a third of the width and height, in a random place.
# With ``EIGENLENS_DATA``, the faces are the 400 of Olivetti.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, RobustPCA, datasets

images = datasets.faces()
faces, (height, width) = images.X, images.shape
n = len(faces)
rng = np.random.default_rng(0)
covered = np.zeros((n, height, width), dtype=bool)
chosen = rng.permutation(n)[: 3 * n // 10]
for k in chosen:
    top, left = rng.integers(height - height // 3), rng.integers(width - width // 3)
    covered[k, top : top + height // 3, left : left + width // 3] = True
covered = covered.reshape(n, -1)
pictures = np.where(covered, rng.choice([0, 1], size=(n, 1)), faces)
print(f"{images.source}: {len(chosen)} of {n} are covered, {covered.mean():.1%} of all pixels")

# %%
# What is behind a block
# ----------------------
# The default weight, :math:`1 / \sqrt{\max(n, d)}`, is that of the theorem. These faces have much
# of their own, and with half of it the low-rank part has only what many share. The error is the
# root mean square inside the blocks. The mean face is what anybody could put there. PCA of the same
# rank is worse than that, for its components bend towards the blocks. The low-rank part is better,
# without being told where the blocks are.

weight = 0.5 / np.sqrt(max(faces.shape))


def take_apart(table):
    return RobustPCA(lam=weight, tol=1e-4, random_state=0).fit(table)


def error(filled, where=covered):
    return np.sqrt(np.mean((filled - faces)[where] ** 2))


model = take_apart(pictures)
plain = PCA(n_components=model.rank_).fit(pictures)
answers = {
    "the block itself": pictures,
    "mean face": np.broadcast_to(pictures.mean(axis=0), faces.shape),
    f"PCA, rank {model.rank_}": plain.inverse_transform(plain.transform(pictures)),
    f"robust, rank {model.rank_}": model.low_rank_,
}
for name, filled in answers.items():
    print(f"{name}: error {error(filled):.3f} inside the blocks, of brightness 0 to 1")

# %%
# What is taken off
# -----------------
# Nearly all of each block is in the sparse part. So is what a face has to itself, such as a dark
# background or a grin: pixels far from all that recurs, whatever they are.

taken = np.abs(model.sparse_) > 0.2
print(f"off by more than 0.2: {taken[covered].mean():.0%} of covered pixels")
print(f"and {taken[~covered].mean():.0%} of the others")


def draw(rows, **columns):
    """Draw these rows of tables of pictures, a table a column."""
    size = (1.6 * len(columns), 1.65 * len(rows) + 0.3)
    panels = plt.subplots(len(rows), len(columns), figsize=size, layout="constrained")[1]
    for line, k in zip(panels, rows, strict=True):
        for panel, pixels in zip(line, columns.values(), strict=True):
            panel.imshow(pixels[k].reshape(height, width), cmap="gray", vmin=0, vmax=1)
            panel.set(xticks=[], yticks=[])
    for panel, name in zip(panels[0], columns, strict=True):
        panel.set_title(name.replace("_", " "))


smeared, low_rank = list(answers.values())[2:]
grey = 0.5 + model.sparse_ / 2  # of both signs
draw(chosen[:5], face=faces, covered=pictures, PCA=smeared, low_rank=low_rank, sparse=grey)

# %%
# What recurs is no error
# -----------------------
# Dark glasses on four of ten faces, all in the same place. On :math:`k` faces, :math:`p` pixels
# each, of contrast :math:`c`, they cost the sparse part :math:`\lambda c k p`. As one component
# they cost about :math:`c \sqrt{k p}`, which is less once :math:`k p > 1 / \lambda^2`. Nothing
# tells them from a trait that four of ten people have, and they stay: the error is above that of
# the mean face.

glasses = np.zeros((n, height, width), dtype=bool)
wearers = rng.permutation(n)[: 4 * n // 10]
glasses[wearers, height // 4 : 2 * height // 5, width // 10 : -(width // 10)] = True
glasses = glasses.reshape(n, -1)
worn = np.where(glasses, 0, faces)
kept = take_apart(worn)
mean_face = np.broadcast_to(worn.mean(axis=0), faces.shape)
print(f"k p = {glasses.sum()}, 1 / weight^2 = {1 / weight**2:.0f}")
print(f"error inside: mean face {error(mean_face, glasses):.3f}", end=", ")
print(f"robust {error(kept.low_rank_, glasses):.3f}")
draw(wearers[:2], face=faces, worn=worn, low_rank=kept.low_rank_, sparse=0.5 + kept.sparse_ / 2)
plt.show()
