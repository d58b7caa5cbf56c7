"""
How many parts?
===============

Each further part brings :math:`W H` nearer to the table that it is fitted to, and nearer to new
rows too, since a new row gets codes of its own,

.. math:: \\min_{w \\ge 0} \\; \\|x - w H\\|^2,

and more parts leave less of it. So neither the error of the fit nor that of rows left out says when
to stop. Single entries do (Wold 1978; for non-negative parts Kanagal, Sindhwani 2010): hide some
:math:`(i, j)`, fit the others, and see how well :math:`(W H)_{ij}` foretells what was hidden.
"""

# %%
# Five parts and noise
# --------------------
# Three ways to take an error, for one to nine parts: of the table that is fitted, of as many rows
# that the fit has not seen, and of a tenth of the entries, hidden as NaN. With ``missing="mask"``
# these have no part in the loss, and ``impute`` fills them in.

import matplotlib.pyplot as plt
import numpy as np

from eigenlens import NMF

rng = np.random.default_rng(0)
parts = rng.exponential(size=(5, 60)) * (rng.random((5, 60)) < 0.5)
means = rng.exponential(size=(400, 5)) @ parts
X, others = np.split(np.maximum(means + rng.standard_normal(means.shape), 0), 2)
hidden = rng.random(X.shape) < 0.1
holes = np.where(hidden, np.nan, X)


def rms(errors):
    return np.sqrt(np.mean(errors**2))


numbers = np.arange(1, 10)
curves = {"the table itself": [], "rows left out": [], "entries left out": []}
for k in numbers:
    model = NMF(k, max_iter=2000).fit(X)
    masked = NMF(k, missing="mask", max_iter=2000).fit(holes)
    curves["the table itself"].append(rms(X - model.inverse_transform(model.transform(X))))
    curves["rows left out"].append(rms(others - model.inverse_transform(model.transform(others))))
    curves["entries left out"].append(rms((masked.impute(holes) - X)[hidden]))
for name, curve in curves.items():
    print(f"{name}: {', '.join(f'{error:.3f}' for error in curve)}")

# %%
# ``n_components="cv"`` does this with each fifth of the entries in turn, and takes the smallest
# number that is not worse than the best by more than the standard error.

chosen = NMF("cv", max_iter=2000, random_state=0).fit(X)
print(chosen.choice_)

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
looks = zip(curves.items(), ("#0072B2", "#009E73", "#D55E00"), ("o:", "s--", "D-"), strict=True)
for (name, curve), colour, style in looks:
    ax.plot(numbers, curve, style, color=colour, label=name)
ax.axvline(chosen.n_components_, color="0.9", linewidth=12, zorder=0, label="number chosen")
ax.set(title="Five parts are planted", xticks=numbers, ylim=(0, None))
ax.set(xlabel="number of parts", ylabel="root mean squared error")
ax.legend()

# %%
# The errors of the table and of the rows bend at five, and go on falling. That of entries has its
# least value there, and rises with each part more: such parts are fitted to the noise of the
# entries that are seen, which says nothing about the others.

plt.show()
