"""
The same components whole, in batches and by a sketch
=====================================================

The components of a table are the leading eigenvectors of its scatter, and the scatter of two
batches of rows is known from their own,

.. math:: S = \\sum_i (x_i - \\bar x)(x_i - \\bar x)^\\top = S_1 + S_2
          + \\frac{n_1 n_2}{n_1 + n_2} (\\bar x_1 - \\bar x_2)(\\bar x_1 - \\bar x_2)^\\top

(Chan, Golub, LeVeque 1979). So rows may come in batches and none is kept. Where :math:`S` is too
large to be formed, products :math:`S Q` with a few random columns :math:`Q` are a *sketch* of it.
Which of these ways are exact? And of one that is not, who says so?
"""

# %%
# Tables with a known answer
# --------------------------
# Singular vectors are drawn at random, and deviations along them are given: the true components are
# then known to the last digit. How fast the deviations fall is what makes a table easy or hard.

import matplotlib.pyplot as plt
import numpy as np
import sklearn.decomposition as peer

from eigenlens import PCA, IncrementalPCA
from eigenlens.measure import largest_angle

K = 10
SPECTRA = {
    "steep": lambda j: 0.8**j,
    "slow": lambda j: (j + 1.0) ** -0.5,
    "flat": lambda j: (j + 1.0) ** -0.1,
}
COLOURS = dict(zip(SPECTRA, ("#0072B2", "#E69F00", "#009E73"), strict=True))


def planted(spectrum, shape):
    """Return a table, its true components by falling variance, and these variances."""
    n, d = shape
    rng = np.random.default_rng(0)
    deviations = SPECTRA[spectrum](np.arange(d))
    left = rng.standard_normal(shape)
    left = np.linalg.qr(left - left.mean(axis=0))[0]
    right = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return 3 + np.sqrt(n - 1) * (left * deviations) @ right, right[:K], deviations**2


def degrees_off(model, components):
    return np.degrees(largest_angle(model.components_, components))


# %%
# From batches
# ------------
# A table of 2000 rows and 100 columns comes in 1 to 100 batches. ``IncrementalPCA`` adds up what is
# written above, and its components are those of the whole table, whatever the batches.
# scikit-learn's class of that name keeps the first ten directions of what it has seen, and what a
# batch has beside them is gone before the next one comes. Where all rows are one batch it is exact
# too. With more, it is off by one or two degrees on the steep spectrum, and on the flat one what it
# ends with has little to do with the true components, from two batches on.

n_batches = np.array([1, 2, 5, 10, 20, 40, 100])
in_batches = {}
for name in SPECTRA:
    X, components, variances = planted(name, (2000, 100))
    for what, make in (("ours", IncrementalPCA), ("scikit-learn", peer.IncrementalPCA)):
        models = [make(K, batch_size=len(X) // count).fit(X) for count in n_batches]
        in_batches[name, what] = np.array([degrees_off(model, components) for model in models])
    print(f"{name}: ours {in_batches[name, 'ours'].max():.0e} degrees off at most, scikit-learn's")
    print("   ", ", ".join(f"{a:.1f}" for a in in_batches[name, "scikit-learn"]))

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, colour in COLOURS.items():
    ax.loglog(n_batches, in_batches[name, "scikit-learn"], "s--", color=colour, label=name)
    ax.loglog(n_batches, in_batches[name, "ours"], "o-", color=colour)
ax.text(3, 1e-11, "eigenlens", va="center")
ax.text(3, 1e-2, "scikit-learn", va="center")
ax.set(xlabel="batches", ylabel="degrees off the true components", ylim=(1e-14, 1e3))
ax.set_xticks(n_batches, n_batches)
ax.minorticks_off()
ax.legend(title="spectrum", loc="center right")

# %%
# What is dropped on the way is missing from the noise as well: on the flat spectrum the mean of the
# variances beyond the ten, ``noise_variance_``, is too small by a factor of about the number of
# batches. Two models of ours that have seen half of the rows each are merged without loss.

by_halves = IncrementalPCA(K).partial_fit(X[::2]).merge(IncrementalPCA(K).partial_fit(X[1::2]))
noise = {"merged": by_halves.noise_variance_ / variances[K:].mean()}
for count in (10, 20):
    theirs = peer.IncrementalPCA(K, batch_size=len(X) // count).fit(X)
    noise[f"scikit-learn, {count} batches"] = theirs.noise_variance_ / variances[K:].mean()
print(f"two halves merged: {degrees_off(by_halves, components):.0e} degrees off")
for what, share in noise.items():
    print(f"noise, {what}: {share:.2f} of the true")

# %%
# From a sketch
# -------------
# A table of 900 rows and 600 columns is multiplied with a block of 20 columns, in each step once by
# the table and once by its transpose. Power iteration, scikit-learn's way, keeps the last block.
# Block Krylov (Musco, Musco 2015), ours, keeps all of them and looks for the components in what
# they span together. Its last block goes into the proof, so that it takes two steps at least.
#
# On the steep spectrum either is soon there. On the flat one, where the tenth variance is nearly
# two thirds of the first, block Krylov is right to a fraction of a degree after 8 steps, and power
# iteration is still some 30 degrees off. 8 steps are scikit-learn's default for this shape,
# whatever the spectrum, and nothing in the answer says how far it is off.

steps = np.array([2, 3, 4, 5, 6, 8, 10, 12, 14])
sketches = {}
for name in SPECTRA:
    X, components, variances = planted(name, (900, 600))
    sketch = {"svd_solver": "randomized", "random_state": 0}
    krylov = [PCA(K, iterated_power=int(count) - 2, **sketch).fit(X) for count in steps]
    power = [peer.PCA(K, iterated_power=int(count) - 1, **sketch).fit(X) for count in steps]
    errors = [np.abs(m.explained_variance_ - variances[:K]).max() / variances[0] for m in krylov]
    sketches[name] = {
        "block Krylov": np.array([degrees_off(model, components) for model in krylov]),
        "power iteration": np.array([degrees_off(model, components) for model in power]),
        "error": np.array(errors),
        "certificates": [model.certificate_ for model in krylov],
        "automatic": PCA(K, **sketch).fit(X),
    }
    for what in ("block Krylov", "power iteration"):
        print(f"{name}, 8 steps of {what}: {sketches[name][what][steps == 8].item():.0e} degrees")

figure, panels = plt.subplots(2, 3, figsize=(9, 6), sharex=True, sharey="row", layout="constrained")
for (above, below), (name, found) in zip(panels.T, sketches.items(), strict=True):
    above.semilogy(steps, found["power iteration"], "s--", color="#D55E00", label="power iteration")
    above.semilogy(steps, found["block Krylov"], "o-", color="#0072B2", label="block Krylov")
    above.set(title=f"{name} spectrum")
    bound = np.array([certificate.value for certificate in found["certificates"]])
    holds = np.array([certificate.holds for certificate in found["certificates"]])
    below.semilogy(steps, bound, "^--", color="0.55", label="certificate")
    below.semilogy(steps[holds], bound[holds], "^", color="black", label="certificate holds")
    below.semilogy(steps, found["error"], "o-", color="#0072B2", label="true error")
    below.set(xlabel="steps", xticks=[2, 5, 10, 14])
panels[0, 0].set(ylabel="degrees off")
panels[1, 0].set(ylabel="error of variances / first variance")
panels[0, 2].legend(loc="lower left")
panels[1, 2].legend(loc="lower left")

# %%
# What the certificate says
# -------------------------
# Of other tables nobody knows the true components. The certificate is made without them. The
# residuals :math:`S v - \lambda v` bound how far variances are from eigenvalues of :math:`S`.
# Whether a larger one was missed, they do not say: until they are small, all the variance that is
# left is added to the bound, as if one direction had it. So the bound is far too large on the slow
# and the flat spectrum, up to the step at which the residuals are small enough. From there on the
# certificate makes the weaker statement, and says that it does. The true error was never above it.

for name, found in sketches.items():
    print(f"{name}, {steps[1]} steps: {found['certificates'][1]}")
    print(f"{name}, left alone, {found['automatic'].n_iter_} steps: ", end="")
    print(found["automatic"].certificate_)

# %%
# Left alone, the sketch goes on until its certificate holds: about 4 steps on the steep spectrum, 9
# on the slow one and 15 on the flat one.

plt.show()
