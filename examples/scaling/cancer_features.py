"""
Thirty features of a tumour, one by one and together
====================================================

Ten properties of the nuclei in an image of cells (radius, texture, perimeter, ...) were measured in
569 breast tumours: for each tumour their mean, the standard error and the worst value (Street,
Wolberg, Mangasarian 1993). Which of the thirty columns tell benign from malignant by themselves,
and how many different things do they say? The second question is answered by the eigenvalues of the
correlation matrix, which sum to the number of columns:

.. math:: R \\, v_k = \\lambda_k v_k, \\qquad \\sum_k \\lambda_k = \\operatorname{tr} R = 30.

An eigenvalue of 1 is what a single column would bring that is related to no other.
"""

# %%
# One by one
# ----------
# In the pictures of radius, perimeter, area and concave points the classes are mostly apart; in
# those of texture error or mean fractal dimension one lies on top of the other.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from eigenlens import correlation, datasets
from eigenlens.plot import CorrelationDisplay, HistogramsDisplay

table = datasets.breast_cancer()
malignant = table.target == table.target_names.index("malignant")
kinds = np.where(malignant, "malignant", "benign")

figure, panels = plt.subplots(8, 4, figsize=(8, 10), layout="constrained")
HistogramsDisplay.from_data(table.X, kinds, names=table.names, ax=panels)
for panel in panels.flat:
    panel.spines[["top", "right"]].set_visible(False)

# %%
# The area under the ROC curve puts a number to it: the probability that a malignant tumour has the
# larger value of two tumours, one of each class. It is 1/2 for a column that says nothing, and the
# same in whatever units. The worst perimeter alone is right in 97.5 % of such pairs. Of the five
# best columns three are sizes of the worst nuclei and two count concave points. Four columns are no
# better than a coin, or hardly: within 0.06 of 1/2.

auc = np.array([roc_auc_score(malignant, column) for column in table.X.T])
ranking = np.argsort(-auc)
for j in ranking[:5]:
    print(f"{table.names[j]}: AUC {auc[j]:.3f}")
useless = [name for name, area in zip(table.names, auc, strict=True) if abs(area - 0.5) < 0.06]
print(f"near 1/2: {', '.join(useless)}")

figure, panel = plt.subplots(figsize=(7, 6), layout="constrained")
panel.hlines(range(30), 0.5, auc[ranking], color="#B8BEC6")
panel.plot(auc[ranking], range(30), "o", color="#0072B2")
panel.set_yticks(range(30), [table.names[j] for j in ranking], fontsize=8)
panel.axvline(0.5, color="#5b6573", linewidth=0.8)
panel.invert_yaxis()
panel.set(xlabel="area under the ROC curve", title="How well one column tells the classes apart")

# %%
# Together
# --------
# Columns that go together stand side by side here. Sizes are one block: of a disc, radius,
# perimeter and area tell the same. Radius and perimeter are correlated by 0.998. Compactness and
# concavity are another block. So the best columns of the ranking say mostly the same, and five of
# them do not know five things.

R = correlation(table.X)
display = CorrelationDisplay.from_data(table.X, names=table.names, order="clustered")
radius, perimeter = (table.names.index(f"mean {what}") for what in ("radius", "perimeter"))
print(f"mean radius and mean perimeter: {R[radius, perimeter]:.3f}")

# %%
# How many things
# ---------------
# The first eigenvalue is worth 13 columns, 44 % of the sum. Six are above 1, and ten are needed for
# 95 %. The last one is about 1e-4: some combination of the standardised columns hardly varies.
#
# All digits are needed for this. Correlations that are rounded to one decimal, as for print, are no
# correlation matrix any more: eight of its eigenvalues are negative.

eigenvalues = np.linalg.eigvalsh(R)[::-1]
share = np.cumsum(eigenvalues) / eigenvalues.sum()
above = int(np.sum(eigenvalues > 1))
needed = int(np.argmax(share >= 0.95)) + 1
rounded = np.linalg.eigvalsh(R.round(1))[::-1]
print(f"sum {eigenvalues.sum():.1f}, largest {eigenvalues[0]:.1f}, smallest {eigenvalues[-1]:.0e}")
print(f"{above} eigenvalues above 1, {needed} for 95 %")
print(f"of the rounded matrix: {np.sum(rounded < 0)} below 0, the lowest {rounded[-1]:.2f}")

figure, panel = plt.subplots(figsize=(7, 3.6), layout="constrained")
number = np.arange(1, 31)
panel.bar(number, eigenvalues, color=np.where(eigenvalues > 1, "#0072B2", "#B8BEC6"))
panel.axhline(1, color="#5b6573", linewidth=0.8, linestyle="--")
panel.axvline(needed + 0.5, color="#D55E00", linewidth=1)
panel.text(needed + 0.8, 8, f"95 % with {needed}", color="#D55E00")
panel.text(30.4, 1.1, "as much as one column", ha="right", va="bottom", color="#5b6573")
panel.set(xlabel="number", ylabel="eigenvalue", title="Eigenvalues of the correlation matrix")
plt.show()
