"""
Classes before and after PCA
============================

Does a classifier gain from PCA before it, and with how many components? Benign and malignant
tumours of the breast cancer table are told apart by logistic regression on the first :math:`k`
scores of its 30 standardised columns,

.. math:: P(\\text{malignant}) = \\frac{1}{1 + e^{-(w_0 + w^\\top z)}}, \\qquad
          z = V_k \\, \\frac{x - \\bar x}{s},

so :math:`k` says how many weights there are to learn. PCA has never seen a class: it keeps what
varies, and whether that is what tells classes apart, one has to look. (What other scalers and
classifiers make of this table is shown in
:ref:`sphx_glr__generated_gallery_scaling_cancer_scaling.py`.)
"""

# %%
# The plane of two components
# ---------------------------
# With two components the boundary is a line, and can be looked at. The dashed lines are where the
# probability is 0.1 and 0.9. The first component alone tells nearly all: it puts a pair of a
# malignant and a benign tumour into the right order in 97 % of cases. No other component does so in
# more than about 62 %.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline

from eigenlens import PCA, StandardScaler, datasets
from eigenlens.plot import BiplotDisplay, ScoresDisplay

table = datasets.breast_cancer()
X, malignant = table.X, table.target == 0
kinds = np.where(malignant, "malignant", "benign")


def classifier(n_components, C=1.0):
    """Return scaling, PCA and logistic regression; the larger C, the less its weights cost."""
    rule = LogisticRegression(C=C, solver="newton-cholesky")
    return make_pipeline(StandardScaler(), PCA(n_components), rule)


plane = classifier(2).fit(X, malignant)
shown = ScoresDisplay.from_estimator(plane[:2], X, kinds)
weights, offset = plane[-1].coef_[0], plane[-1].intercept_[0]
for chance, style in ((0.1, "--"), (0.5, "-"), (0.9, "--")):
    along = (np.log(chance / (1 - chance)) - offset) / (weights @ weights) * weights
    direction = [-weights[1], weights[0]]
    shown.ax_.axline(along, along + direction, color="0.3", linestyle=style, linewidth=1)
shown.ax_.set(xlim=(-7, 17), ylim=(-9, 13))
shown.ax_.set_title(f"{plane.score(X, malignant):.0%} on the side of their class")

scores = PCA().fit_transform(StandardScaler().fit_transform(X))
order = np.array([roc_auc_score(malignant, score) for score in scores.T])
order = np.maximum(order, 1 - order)  # the sign of a component has no meaning
print(f"pairs in the right order: {order[0]:.0%} by component 1, {order[1:].max():.0%} by another")

# %%
# What the two mean
# -----------------
# The first component has a positive weight on every column: it is large for tumours whose cell
# nuclei are large and dented, concave points and concavity weighing most. The second one sets
# fractal dimension, which is the roughness of outlines, against size. Large scores belong to small
# rough nuclei. Along it the classes hardly differ, but the boundary leans on it: of two tumours
# with the same first score, the one with the smaller second score is more likely malignant.

biplot = BiplotDisplay.from_estimator(plane[:2], X, kinds, names=table.names, most=12)
components = plane[1].components_
for number, weights_of in enumerate(components, 1):
    largest = np.argsort(-np.abs(weights_of))[:6]
    named = ", ".join(f"{table.names[j]} {weights_of[j]:.2f}" for j in largest)
    print(f"component {number}, weights {weights_of.min():.2f} to {weights_of.max():.2f}: {named}")

# %%
# How many components
# -------------------
# Each of ten parts of the rows is predicted from the other nine; the scaler and PCA are fitted to
# the nine as well. With the default penalty on weights the accuracy rises up to five components or
# so, and from there on all numbers are within 2 % of each other: small weights do for the last
# components what leaving them out would do.
#
# With next to no penalty it is another matter. On the rows of the fit accuracy goes up to 99.7 %
# with all components, which are the columns in other coordinates. On rows left out it falls again,
# and 30 components end where two were. In the last components there is little but noise, which
# weights that cost nothing learn by heart. There PCA is the penalty. And had the rows of the fit
# been asked, the answer would have been to keep everything.

counts = (1, 2, 3, 5, 7, 10, 15, 20, 25, 30)
folds = StratifiedKFold(10, shuffle=True, random_state=0)
penalties = {"default penalty": 1.0, "next to none": 1e4}
whose = {"train": "rows of the fit", "test": "rows left out"}
accuracy = {}
print("components:", *counts)
for name, C in penalties.items():
    tried = [
        cross_validate(classifier(k, C), X, malignant, cv=folds, return_train_score=True)
        for k in counts
    ]
    for key, rows in whose.items():
        accuracy[name, rows] = np.array([found[f"{key}_score"].mean() for found in tried])
        print(f"{name}, {rows}:", *(f"{share:.3f}" for share in accuracy[name, rows]))

figure, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for (name, rows), shares in accuracy.items():
    colour = "#0072B2" if name == "default penalty" else "#D55E00"
    look = "o-" if rows == "rows left out" else ".--"
    ax.plot(counts, shares, look, color=colour, label=f"{name}, {rows}")
ax.set(xlabel="components", ylabel="accuracy", xticks=[1, 5, 10, 15, 20, 25, 30])
ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
ax.grid(alpha=0.4)
ax.legend(loc="lower right")
plt.show()
