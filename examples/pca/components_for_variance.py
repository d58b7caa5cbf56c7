"""
Components for a share of the variance
======================================

How many components of images are enough? ``PCA(n_components=0.95)`` keeps the fewest that have more
than 95 % of the variance, and what it loses is known without looking at any image:

.. math:: \\frac{1}{n - 1} \\sum_i \\|x_i - \\tilde x_i\\|^2 = \\lambda_{k+1} + \\dots + \\lambda_d.

But a share of the variance does not ask what the variance is made of. The second half of this page
adds noise to the images, and compares the share with rules that look for what stands out of noise.
The images are handwritten digits: those of scikit-learn, with 64 pixels, or those of USPS, with
256, where ``EIGENLENS_DATA`` names a folder that has them.
"""

# %%
# Shares that add up
# ------------------
# The small digits take 29 of 64 components for 95 % of the variance, and USPS takes 88 of 256. Five
# have about half of it, twenty 89 % and 74 %.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, datasets

digits = datasets.digits()
X = digits.X
full = PCA().fit(X)
enough = PCA(0.95).fit(X).n_components_
added_up = np.cumsum(full.explained_variance_ratio_)
kept = (5, 20, enough)
print(f"{digits.source}: {enough} of {X.shape[1]} components for 95 % of the variance")

figure, panel = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
panel.plot(np.arange(len(added_up) + 1), 100 * np.append(0, added_up), color="#0072B2")
for k, colour in zip(kept, ("#D55E00", "#E69F00", "#009E73"), strict=True):
    share = 100 * added_up[k - 1]
    panel.plot([k, k, 0], [0, share, share], "--", color=colour, linewidth=1)
    panel.plot(k, share, "o", color=colour, label=f"{k} components: {share:.1f} %")
panel.set(xlabel="components", ylabel="share of the variance, %", xlim=(0, None), ylim=(0, 102))
panel.legend(loc="lower right")

# %%
# What is lost
# ------------
# The squared error over all images, measured pixel by pixel, is the sum of the variances left out,
# to rounding. Five components give blurred shapes, and some look like another digit. With twenty
# most can be read. With 95 % of the variance they look like the originals.

restored, lost, left_out = {}, {}, {}
for k in kept:
    model = PCA(k).fit(X)
    restored[k] = model.inverse_transform(model.transform(X))
    lost[k] = np.sum((X - restored[k]) ** 2) / (len(X) - 1)
    left_out[k] = full.explained_variance_[k:].sum()
    print(f"{k} components: squared error {lost[k]:.6f}, variance left out {left_out[k]:.6f}")

first = [np.flatnonzero(digits.labels == digit)[0] for digit in range(10)]
rows = {"original": X} | {f"{k} components": images for k, images in restored.items()}
figure, panels = plt.subplots(len(rows), 10, figsize=(9, 3.8), layout="constrained")
for line, (name, images) in zip(panels, rows.items(), strict=True):
    for panel, image in zip(line, images[first], strict=True):
        panel.imshow(image.reshape(digits.shape), cmap="gray", vmin=0, vmax=1)
        panel.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")

# %%
# More noise, more components
# ---------------------------
# Noise of deviation :math:`s` in every pixel adds about :math:`s^2` to each variance. The spectrum
# becomes flatter, and the share asked for takes more components, those of the noise: nearly all of
# them in the end.
#
# Other rules compare with tables that are noise, or predict entries that they did not see.
# ``"consensus"`` is the median of three such rules. Its number falls as the noise grows, since weak
# components drown. What is best is known here, as the images without noise are known: the number
# with which the restored images are nearest to them. With a deviation of 0.2 and more, consensus is
# near it and the share is far beyond. With 0.1 the share is the nearer of the two, and consensus
# leaves out components that are weak and still worth keeping.
#
# ``"parallel"`` keeps about the same few whatever the noise. It compares with permuted columns,
# which keep the variances of all pixels, and the weaker components of images do not rise above
# that. Without noise there is nothing to tell apart: best are all components, the share keeps what
# it was asked for, and consensus those that two of its three rules tell from noise.

RULES = (0.95, "parallel", "consensus")
noises = (0.0, 0.1, 0.2, 0.4)
some = X[:600]
draw = np.random.default_rng(0).standard_normal(some.shape)
found = {rule: [] for rule in (*RULES, "nearest to the truth")}
errors = {rule: [] for rule in found}
for noise in noises:
    noisy = some + noise * draw
    model = PCA().fit(noisy)
    scores, true_scores = model.transform(noisy), model.transform(some)
    # of k components: what they keep of the noise, and what the others leave of the images
    kept_noise = np.cumsum(np.sum((scores - true_scores) ** 2, axis=0))
    left_images = np.sum(true_scores**2) - np.cumsum(np.sum(true_scores**2, axis=0))
    error = np.abs(kept_noise + left_images) / len(some)  # 0 may round to less
    # the fewest, as without noise several are best to rounding
    best = int(np.argmax(error <= error.min() + 1e-9))
    numbers = {rule: PCA(rule, random_state=0).fit(noisy).n_components_ for rule in RULES}
    numbers["nearest to the truth"] = best + 1
    for rule, k in numbers.items():
        found[rule].append(k)
        errors[rule].append(error[k - 1])
    shown = ", ".join(f"{rule} {k} ({error[k - 1]:.1f})" for rule, k in numbers.items())
    print(f"noise {noise}: {shown}")

# %%
# The numbers in brackets are squared errors of an image against the one without noise, to the right
# in the picture. With a deviation of 0.4, the components for 95 % of the variance bring back nearly
# all of the noise. Consensus keeps seven for the small digits and seventeen for USPS, and has about
# a third of that error.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
looks = zip(found, ("o-", "s--", "D-", "--"), ("#D55E00", "#E69F00", "#0072B2", "0.3"), strict=True)
for rule, look, colour in looks:
    left.plot(noises, found[rule], look, color=colour, label=f"{rule}")
    right.plot(noises, errors[rule], look, color=colour)
right.plot(noises, X.shape[1] * np.square(noises), color="0.7", label="noise as it is")
left.set(title="How many components", xlabel="deviation of the noise", ylabel="components")
right.set(title="How far from the images", xlabel="deviation of the noise", ylabel="squared error")
left.set_ylim(0, None)
right.legend()
figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
plt.show()
