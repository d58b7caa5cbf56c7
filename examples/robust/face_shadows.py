"""
Shadows off faces
=================

Under a distant lamp a matt surface is as bright as the cosine between its normal :math:`n_j` and
the light :math:`l_i`, times its colour :math:`c_j`. Pictures of one face under many lamps are a
table of rank 3,

.. math:: L_{ij} = c_j \\, l_i^\\top n_j.

Where the surface turns away from the lamp, or another part of it is in the way, it is black, and
where it shines it is brighter. These are errors, large, and in a minority of pixels. Robust PCA
takes them off, and the three components that are left span colour times normal: the shape of the
face, up to a linear map that known lamps would settle (Wu, Ganesh, Shi, Matsushita, Wang, Ma 2010).
A face is made here, so that the truth is known.
"""

# %%
# A face under many lamps
# -----------------------
# A relief with a nose and eye sockets, and darker eyes and lips.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import map_coordinates

from eigenlens import RobustPCA
from eigenlens.measure import largest_angle

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
# for the convex problem, which looks for the rank too: it is solved, and the answer is another one,
# of a higher rank and off by about 2 %. With the rank given, the errors are found, the pictures are
# exact to six digits, and the space of shapes is to a thousandth of a degree.


def report(name, low_rank, components):
    """Return how far pictures and shape are from the truth."""
    error = np.linalg.norm(low_rank - matt) / np.linalg.norm(matt)
    angle = np.degrees(largest_angle(components[:3], surface.T))
    print(f"{name}: error of the pictures {error:.0e}, of the shape {angle:.0e} degrees")
    return error, angle


U, s, Vt = np.linalg.svd(faces, full_matrices=False)
plain = (U[:, :3] * s[:3]) @ Vt[:3]
convex = RobustPCA(center=False, random_state=0).fit(faces)
model = RobustPCA(n_components=3, center=False, random_state=0).fit(faces)
off = {
    "plain": report("plain, rank 3", plain, Vt),
    "convex": report(f"robust, rank found as {convex.rank_}", convex.low_rank_, convex.components_),
    "given": report("robust, rank 3 given", model.low_rank_, model.components_),
}
found = model.sparse_ != 0
print(f"wrong pixels that are found: {found[wrong].mean():.1%}, others: {found[~wrong].mean():.1%}")
print(f"the convex problem is solved to a gap of {convex.certificate_.value:.0e}")

# %%
# Three pictures, and what becomes of them. The truth has no shadows and no highlights: where the
# light would come from behind it is negative, which is drawn black.

parts = {
    "picture": faces,
    "truth": matt,
    "plain, rank 3": plain,
    "robust, rank 3": model.low_rank_,
    "sparse": model.sparse_ / 2 + 0.5,
}
figure, panels = plt.subplots(3, 5, figsize=(8.5, 5.5), layout="constrained")
for row, k in zip(panels, np.argsort(matt.min(axis=1))[[0, 5, 40]], strict=True):
    for panel, part in zip(row, parts.values(), strict=True):
        panel.imshow(part[k].reshape(SIDE, SIDE), cmap="gray", vmin=0, vmax=1)
        panel.set(xticks=[], yticks=[])
for panel, title in zip(panels[0], parts, strict=True):
    panel.set_title(title)
plt.show()
