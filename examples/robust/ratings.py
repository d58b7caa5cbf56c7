"""
Ratings, some missing, some made up
===================================

Who likes what follows a few tastes, so that a table of people by films has low rank. Much of it is
missing, and some of what is there was put in on purpose, to push a film or to sink it. With
:math:`P` the operator that keeps observed entries, robust PCA

.. math:: \\min_{m, L, S} \\; \\|L\\|_* + \\lambda \\|S\\|_1
   \\quad \\text{with} \\quad P(1 m^\\top + L + S) = P(M)

fills what is missing and finds what is false (Candes, Li, Ma, Wright 2011). PCA with
holes fills too, and believes all it is told.
"""

# %%
# The table
# ---------
# Three tastes, ratings in half stars, half of them missing. One in twenty says the opposite of what
# the person thinks.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import PCA, RobustPCA

PEOPLE, FILMS, TASTES = 200, 100, 3


def stars(opinion):
    return np.clip(np.round(2 * opinion) / 2, 1, 5)


rng = np.random.default_rng(0)
liking = rng.standard_normal((PEOPLE + 1, TASTES)) @ rng.standard_normal((TASTES, FILMS))
everyone = 3 + 0.35 * liking + 0.3 * rng.standard_normal(FILMS)
truth, newcomer = everyone[:-1], everyone[-1]
seen = rng.random(truth.shape) < 0.5
false = seen & (rng.random(truth.shape) < 0.05)
ratings = stars(truth)
ratings[false] = np.where(truth[false] > 3, 1, 5)
ratings[~seen] = np.nan
print(f"{PEOPLE} people, {FILMS} films, {seen.mean():.0%} rated, {false.sum()} ratings are false")

# %%
# Filling it
# ----------
# Rounding to half stars is noise, of deviation :math:`0.5 / \sqrt{12} \approx 0.14` in each entry.
# It is told from false ratings if the number of tastes is given, or with ``noise='auto'``. The
# latter is a convex problem. It looks for the number itself, not always rightly, and shrinks the
# low-rank part. ``decompose`` fits the rows to the components anew, and does not.


def error(filled, where):
    return np.sqrt(np.mean((filled - truth)[where] ** 2))


plain = PCA(n_components=TASTES, missing="em").fit(ratings)
convex = RobustPCA(noise="auto", random_state=0).fit(ratings)
model = RobustPCA(n_components=TASTES, random_state=0).fit(ratings)
answers = {
    "PCA with holes": plain.inverse_transform(plain.transform(ratings)),
    f"robust, rank {convex.rank_} found": convex.low_rank_,
    "the same, fitted anew": convex.decompose(ratings)[0],
    "robust, rank 3 given": model.low_rank_,
}
for name, filled in answers.items():
    holes, lies = error(filled, ~seen), error(filled, false)
    print(f"{name}: error {holes:.3f} stars at holes, {lies:.3f} at false ratings")

figure, panels = plt.subplots(1, 4, figsize=(9, 3.1), sharey=True, layout="constrained")
for panel, (title, filled) in zip(panels, answers.items(), strict=True):
    panel.scatter(truth[~seen], filled[~seen], s=1, alpha=0.3, color="0.55", label="not rated")
    panel.scatter(truth[false], filled[false], s=3, color="#D55E00", label="rated falsely")
    panel.axline((3, 3), slope=1, color="black", linewidth=0.6)
    panel.set(xlabel="what they think", aspect="equal", xlim=(0, 6), ylim=(0, 6))
    panel.set_title(title, fontsize="medium")
panels[0].set_ylabel("what is filled in")
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, markerscale=4
)

# %%
# Finding what is false
# ---------------------
# What is neither taste nor noise. A few opinions are beyond five stars or below one, and were cut
# off there: these seem false too.

doubted = {
    f"rank {convex.rank_} found": convex.decompose(ratings)[1] != 0,
    "rank 3 given": model.decompose(ratings)[1] != 0,
}
for name, caught in doubted.items():
    print(f"{name}: {caught.sum()} ratings doubted, {np.sum(caught & false)} of them false")

# %%
# A new person
# ------------
# Thirty films rated, three of them falsely. The scores of a row are found by absolute deviations,
# which a few false ratings hardly move. PCA trusts all entries alike.

row = np.full(FILMS, np.nan)
row[:30] = stars(newcomer[:30])
row[:3] = np.where(newcomer[:3] > 3, 1, 5)
off = {}
for name, fit in (("PCA with holes", plain), ("robust", model)):
    unseen = (fit.inverse_transform(fit.transform([row]))[0] - newcomer)[30:]
    off[name] = np.sqrt(np.mean(unseen**2))
    print(f"{name}: error {off[name]:.3f} stars for a new person")
plt.show()
