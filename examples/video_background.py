"""
What moves in front of a camera
===============================

A fixed camera sees the same scene in every frame, up to the light: frames as rows make a table of
low rank. Whoever walks by covers few pixels of few frames: a sparse table. Robust PCA takes a video
apart into these two, without being shown an empty scene.

A small video is made here. For one of your own, give an ``.npz`` file with the arrays ``X`` (frames
by pixels) and ``image_shape`` (height, width). ``--draw`` saves a picture (needs matplotlib)::

    python examples/video_background.py video.npz --draw video.png
"""

# %%
# The video
# ---------
# A scene, a lamp that flickers, and two people who cross the scene, one of them bright, the other
# dark.

import argparse

import numpy as np

from eigenlens import PCA, RobustPCA

parser = argparse.ArgumentParser(description="Background and foreground of a video.")
parser.add_argument("video", nargs="?", help="an .npz file with X and image_shape")
parser.add_argument("--draw", metavar="PICTURE", help="save a picture here")
options = parser.parse_args()


def walkers(times, y, x):
    """Return the brightness of those who are in front of the scene, NaN where nobody is."""
    seen = np.full((len(times), *x.shape), np.nan)
    for start, speed, height, brightness in ((0, 0.7, 14, 1.0), (45, -0.9, 6, 0.0)):
        place = (start + speed * times)[:, None, None]
        seen[(np.abs(x - place) <= 1.5) & (np.abs(y - height) <= 3)] = brightness
    return seen


if options.video:
    with np.load(options.video) as file:
        video = file["X"].reshape(-1, *file["image_shape"]).astype(np.float32) / 255
    truth = None
else:
    times = np.arange(60)
    y, x = np.mgrid[:24, :32]
    scene = 0.5 + 0.25 * np.sin(x / 3) * np.cos(y / 4) + 0.2 * (x > 20)
    lamp = 0.2 * np.exp(-((x - 6) ** 2 + (y - 4) ** 2) / 60)
    truth = scene + np.sin(times / 7)[:, None, None] * lamp
    people = walkers(times, y, x)
    video = np.where(np.isnan(people), truth, people)
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

# %%
# Against the truth
# -----------------
# Plain PCA of the same rank leaves ghosts of the people in the background.

if truth is not None:
    plain = PCA(n_components=model.rank_).fit(frames)
    ghosts = plain.inverse_transform(plain.transform(frames)).reshape(video.shape) - truth
    print(f"largest error of the background: {np.abs(background - truth).max():.0e}")
    print(f"the same for plain PCA: {np.abs(ghosts).max():.2f}")
    agree = np.array_equal(foreground != 0, ~np.isnan(people))
    print(f"the foreground is where people are, pixel for pixel: {agree}")

# %%
# Three frames, what is behind and what is in front.

if options.draw:
    import matplotlib.pyplot as plt

    from eigenlens.plot import SeparationDisplay

    figure, lines = plt.subplots(3, figsize=(9, 7), layout="constrained")
    for line, k in zip(lines, len(video) * np.arange(1, 4) // 4, strict=True):
        SeparationDisplay.from_estimator(model, row=k, image_shape=video.shape[1:], ax=line)
    figure.savefig(options.draw, dpi=120)
