"""
Shadows off faces
=================

Under a distant lamp a matt surface is as bright as the cosine between its normal and the light:
pictures of one face under many lamps are a table of rank 3. Where the surface turns away from the
lamp, or another part of it is in the way, it is black, and where it shines it is brighter. These
are errors, large, and in a minority of pixels. Robust PCA takes them off, and the three components
that are left know the shape of the face (Wu, Ganesh, Shi, Matsushita, Wang, Ma 2010).

A face is made here, so that the truth is known. ``--draw`` saves a picture (needs matplotlib)::

    python examples/face_shadows.py --draw faces.png
"""

# %%
# A face under many lamps
# -----------------------
# A relief with a nose and eye sockets, and darker eyes and lips.

import argparse

import numpy as np
from scipy.linalg import subspace_angles
from scipy.ndimage import map_coordinates

from eigenlens import RobustPCA

parser = argparse.ArgumentParser(description="Shadows and highlights off pictures of a face.")
parser.add_argument("--draw", metavar="PICTURE", help="save a picture here")
options = parser.parse_args()

SIDE, LAMPS = 32, 80
rng = np.random.default_rng(0)
y, x = np.mgrid[-1 : 1 : SIDE * 1j, -1 : 1 : SIDE * 1j]


def spot(x0, y0, width, height):
    """Return a smooth spot of this size on each half of the face."""
    return np.exp(-(((np.abs(x) - x0) / width) ** 2) - ((y - y0) / height) ** 2)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cast_shadow(lamp):
    """Return the pixels from which some part of the relief hides the lamp."""
    along = np.linspace(0.05, 1, 20)[:, None, None]
    places = np.array([y + along * lamp[1], x + along * lamp[0]])
    above = map_coordinates(relief, (places + 1) / 2 * (SIDE - 1), order=1, cval=-np.inf)
    return (above > relief + along * lamp[2]).any(axis=0).ravel()


head = np.sqrt(1.6 - 0.8 * x**2 - 0.5 * y**2)
relief = head + 0.3 * spot(0, 0.05, 0.16, 0.25) - 0.1 * spot(0.4, -0.3, 0.2, 0.15)
slope_y, slope_x = np.gradient(relief, 2 / (SIDE - 1))
normals = unit(np.stack([-slope_x, -slope_y, np.ones_like(x)], axis=-1).reshape(-1, 3))
colour = 1 - 0.6 * spot(0.4, -0.3, 0.2, 0.08) - 0.4 * spot(0, 0.6, 0.3, 0.06)
surface = 0.8 * colour.reshape(-1, 1) * normals

lamps = unit(np.column_stack([rng.uniform(-1, 1, (LAMPS, 2)), np.full(LAMPS, 0.8)]))
halfway = unit(lamps + np.array([0, 0, 1]))  # between lamp and eye: a surface that faces it shines
shine = (halfway @ normals.T).clip(0) ** 150
matt = lamps @ surface.T
lit = np.where([cast_shadow(lamp) for lamp in lamps], 0, matt.clip(0))
faces = lit + np.where(shine > 0.1, shine, 0)
wrong = faces != matt
print(f"{LAMPS} pictures of {SIDE} x {SIDE} pixels, {wrong.mean():.0%} in shadow or shining")

# %%
# Physics knows the rank
# ----------------------
# Shadows and highlights come in patches, not in random places, and there are many. That is too much
# for the convex problem, which looks for the rank too: it is solved, and the answer is another one.
# With the rank given, the errors are found.


def report(name, low_rank, components):
    """Print how far pictures and shape are from the truth."""
    error = np.linalg.norm(low_rank - matt) / np.linalg.norm(matt)
    angle = np.degrees(subspace_angles(components[:3].T, surface)[0])
    print(f"{name}: error of the pictures {error:.1e}, of the shape {angle:.2f} degrees")


U, s, Vt = np.linalg.svd(faces, full_matrices=False)
report("plain, rank 3", (U[:, :3] * s[:3]) @ Vt[:3], Vt)
convex = RobustPCA(center=False, random_state=0).fit(faces)
report(f"robust, rank found as {convex.rank_}", convex.low_rank_, convex.components_)
model = RobustPCA(n_components=3, center=False, random_state=0).fit(faces)
report("robust, rank 3", model.low_rank_, model.components_)
found = model.sparse_ != 0
print(f"wrong pixels that are found: {found[wrong].mean():.1%}, others: {found[~wrong].mean():.1%}")

# %%
# Three pictures, and what becomes of them.

if options.draw:
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(3, 4, figsize=(9, 7), layout="constrained")
    parts = (faces, matt, model.low_rank_, model.sparse_ / 2 + 0.5)
    titles = ("picture", "truth", "low rank", "sparse")
    for row, k in zip(panels, np.argsort(matt.min(axis=1))[[0, 5, 40]], strict=True):
        for panel, title, part in zip(row, titles, parts, strict=True):
            panel.imshow(part[k].reshape(SIDE, SIDE), cmap="gray", vmin=0, vmax=1)
            panel.set(title=title, xticks=[], yticks=[])
    figure.savefig(options.draw, dpi=120)
