"""
Words of all documents, words of one
====================================

Documents of one kind share much of their words: a few patterns, and so a table of low rank. What a
document is about are the words that it has beyond these patterns, and few others have as often: a
sparse table. With the logarithms of one plus the counts as :math:`M`, a row for each document,
robust PCA

.. math:: \\min_{m, L, S} \\; \\|L\\|_* + \\lambda \\|S\\|_1
   \\quad \\text{with} \\quad 1 m^\\top + L + S = M

finds both, and stop words need no list (Min, Zhang, Wright, Ma 2010).
"""

# %%
# Where the truth is known
# ------------------------
# Two kinds of document, recipes and reports, twelve of each, and a topic for each pair of them,
# which is named three times. Words that are in few documents only are left out: they would be
# keywords of these without any mathematics.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from eigenlens import RobustPCA, datasets

KINDS = {
    "recipe": "take the water and the salt and stir the pot and serve it hot with",
    "report": "the committee met and voted and the chair closed the session about",
}
TOPICS = (
    "garlic", "beans", "maize", "onions", "chard", "leeks",
    "barley", "lentils", "millet", "squash", "rice", "oats",
)  # fmt: skip


def counted(documents):
    """Return the logarithms of counts, and the words."""
    counter = CountVectorizer(token_pattern="[a-z]{3,}", min_df=0.05)
    return np.log1p(counter.fit_transform(documents).toarray()), counter.get_feature_names_out()


made = {f"{kind} on {topic}": f"{text} {topic} {topic} {topic}"
        for kind, text in KINDS.items() for topic in TOPICS}  # fmt: skip
table, made_words = counted(made.values())
small = RobustPCA(random_state=0).fit(table)
own = {
    name: made_words[np.flatnonzero(row)].tolist()
    for name, row in zip(made, small.sparse_, strict=True)
}
shared = made_words[np.argsort(-small.mean_, kind="stable")[:2]].tolist()
print(f"most common words: {shared}")
for name, row in zip(list(made)[::5], small.scores_[::5], strict=True):
    print(f"{name}: score {row[0]:+.1f} of rank {small.rank_}, and of its own {own[name]}")

# %%
# The mean has the words of all, one component tells the two kinds apart, and the sparse part of
# each document is its topic and nothing else.
#
# Real documents
# --------------
# The docstrings of scikit-learn's classes. The mean of the low-rank part has what all documents
# share. Its components are kinds of documents: those at the two ends of one have little in common.

documents = datasets.docstrings()
X, words = counted(documents.values())
names = list(documents)
model = RobustPCA(tol=1e-4, random_state=0).fit(X)
common = words[np.argsort(-model.mean_)[:20]].tolist()
print(f"{len(names)} documents, {len(words)} words that are in at least 5 % of them")
print(f"in all: {', '.join(common)}")
ends = [np.take(names, np.argsort(scores)) for scores in model.scores_.T[:3]]
for number, ordered in enumerate(ends, start=1):
    print(f"component {number}: from {', '.join(ordered[:3])} to {', '.join(ordered[-3:])}")
print(f"rank {model.rank_}, {model.support_fraction_:.0%} of the entries sparse")
print(f"solved to a duality gap of {model.certificate_.value:.0e}")

# %%
# Words of one
# ------------
# The largest entries of the sparse part of a row are the keywords of this document.

keywords = {
    name: words[np.argsort(-row)[:6]].tolist()
    for name, row in zip(names, model.sparse_, strict=True)
}
for name in names[:: len(names) // 12]:
    print(f"{name}: {', '.join(keywords[name])}")

# %%
# Four documents, and two times four words of each: those of which the low-rank part has most, and
# those of which the sparse part has.

figure, panels = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
for panel, name in zip(panels.flat, ("KMeans", "PCA", "SVC", "SimpleImputer"), strict=True):
    low_rank, sparse = model.low_rank_[names.index(name)], model.sparse_[names.index(name)]
    shown = np.concatenate([np.argsort(-low_rank)[:4], np.argsort(-sparse)[:4]])[::-1]
    places = np.arange(len(shown))
    panel.barh(places + 0.2, low_rank[shown], 0.4, color="0.55", label="low rank: of many")
    panel.barh(places - 0.2, sparse[shown], 0.4, color="#0072B2", label="sparse: its own")
    panel.set(title=name, xlim=(-1, 5), yticks=places, yticklabels=words[shown])
    panel.axvline(0, color="black", linewidth=0.6)
    panel.axhline(3.5, color="0.8", linewidth=0.8)
for panel in panels[1]:
    panel.set_xlabel("part of log (1 + count)")
figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)

# %%
# Stop words were not taken out. They are a third of the words that a document has most often, and
# hardly ever among its keywords.


def share_of_stop_words(lists):
    return np.mean([word in ENGLISH_STOP_WORDS for chosen in lists for word in chosen])


frequent = [words[np.argsort(-row)[:6]] for row in X]
stop_words = {
    "the six most frequent words": share_of_stop_words(frequent),
    "the six keywords": share_of_stop_words(keywords.values()),
}
for where, share in stop_words.items():
    print(f"stop words among {where}: {share:.0%}")
plt.show()
