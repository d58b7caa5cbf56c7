"""
What moves in front of a camera
===============================

A fixed camera sees the same scene in every frame, up to the light: frames as rows make a table of
low rank. Whatever passes by covers few pixels of few frames: a sparse table. Principal component
pursuit (Candes, Li, Ma, Wright 2011) takes a video :math:`M` apart into these two,

.. math:: \\min_{m, L, S} \\; \\|L\\|_* + \\lambda \\|S\\|_1
          \\quad \\text{with} \\quad 1 m^\\top + L + S = M,

and a mean frame :math:`m`, without being shown an empty road. The sum of the singular values,
:math:`\\|L\\|_*`, stands for the rank, and the sum of absolute values for the number of pixels that
are covered.
"""

# %%
# The video
# ---------
# A road between fields, under a lamp that flickers, and two cars on it: a bright one that drives to
# the right and a dark one that comes back. With ``EIGENLENS_DATA``, a real road of 51 frames.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, RobustPCA, datasets
from eigenlens.plot import SeparationDisplay


def cars(times, y, x):
    """Return the brightness of the cars, NaN where there is none."""
    seen = np.full((len(times), *x.shape), np.nan)
    for start, speed, lane, brightness in ((0, 0.7, 14, 1.0), (45, -0.9, 9, 0.0)):
        place = (start + speed * times)[:, None, None]
        seen[(np.abs(x - place) <= 3) & (np.abs(y - lane) <= 1.5)] = brightness
    return seen


recorded = datasets.original("video_highway_tiny.npz")
if recorded:
    video = recorded["X"].reshape(-1, *recorded["image_shape"]) / 255
    road = None
else:
    times = np.arange(60)
    y, x = np.mgrid[:24, :32]
    scene = 0.5 + 0.15 * np.sin(x / 3) * np.cos(y / 4) - 0.2 * (np.abs(y - 11.5) < 6)
    lamp = 0.2 * np.exp(-((x - 6) ** 2 + (y - 4) ** 2) / 60)
    road = scene + np.sin(times / 7)[:, None, None] * lamp
    passing = cars(times, y, x)
    video = np.where(np.isnan(passing), road, passing)
frames = video.reshape(len(video), -1)
print(f"{len(video)} frames of {video.shape[1]} x {video.shape[2]} pixels")

# %%
# Two videos out of one
# ---------------------
# The mean of the low-rank part is the scene, and its components are what the light does to it. The
# noise of a real camera is in the sparse part, so that only what differs by a tenth of the full
# brightness counts as seen.

model = RobustPCA(random_state=0).fit(frames)
background = model.low_rank_.reshape(video.shape)
foreground = model.sparse_.reshape(video.shape)
print(f"background: of rank {model.rank_} about its mean, after {model.n_iter_} iterations")
print(f"foreground: {np.mean(np.abs(foreground) > 0.1):.1%} of the pixels")
print(f"solved to a duality gap of {model.certificate_.value:.0e}")

figure, lines = plt.subplots(3, figsize=(8, 7), layout="constrained")
for line, k in zip(lines, len(video) * np.arange(1, 4) // 4, strict=True):
    SeparationDisplay.from_estimator(model, row=k, image_shape=video.shape[1:], ax=line)

# %%
# No car is left in the background. The certificate is a bound: no other pair has a smaller
# objective by more than this share. In the video that was made both parts are exact: the background
# is the road, and the foreground is where the cars are, pixel for pixel.

if road is not None:
    same = np.array_equal(foreground != 0, ~np.isnan(passing))
    print(f"largest error of the background: {np.abs(background - road).max():.0e}")
    print(f"the foreground is where the cars are: {same}")

# %%
# Ghosts of plain PCA
# -------------------
# Least squares spreads each car over all frames. The background of PCA, of the same rank, has cars
# in it, like ghosts.

plain = PCA(n_components=model.rank_).fit(frames)
smeared = plain.inverse_transform(plain.transform(frames)).reshape(video.shape)
middle = len(video) // 2
pictures = {"frame": video, "background, PCA": smeared, "background, robust": background}

figure, panels = plt.subplots(1, 3, figsize=(8, 2.4), layout="constrained")
for panel, (title, pixels) in zip(panels, pictures.items(), strict=True):
    panel.imshow(pixels[middle], cmap="gray", vmin=0, vmax=1)
    panel.set(title=title, xticks=[], yticks=[])
if road is not None:
    print(f"largest error of the background of PCA: {np.abs(smeared - road).max():.2f}")
plt.show()
