"""
Words of all documents, words of one
====================================

Documents of one kind share much of their words: a few patterns, and so a table of low rank. What a
document is about are the words that it has beyond these patterns, and no other has as often: a
sparse table. Robust PCA finds both, and stop words need no list (Min, Zhang, Wright, Ma 2010).

The documents here are the docstrings of scikit-learn's classes. Give text files to take those::

    python examples/document_words.py minutes/*.txt
"""

# %%
# The table
# ---------
# Logarithms of counts, so that no document outweighs another by its length. Words that are in few
# documents only are left out: they would be keywords of these without any mathematics.

import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from eigenlens import RobustPCA

MODULES = """cluster covariance decomposition discriminant_analysis ensemble feature_selection
    gaussian_process impute linear_model manifold mixture naive_bayes neighbors neural_network
    preprocessing svm tree"""


def docstrings():
    """Return the docstring of each public class of the modules, by its name."""
    modules = [importlib.import_module(f"sklearn.{name}") for name in MODULES.split()]
    named = {name: getattr(module, name) for module in modules for name in module.__all__}
    return {name: inspect.getdoc(value) for name, value in named.items() if inspect.isclass(value)}


paths = [Path(argument) for argument in sys.argv[1:]]
documents = {path.name: path.read_text(encoding="utf-8") for path in paths} or docstrings()
counter = CountVectorizer(token_pattern="[a-z]{3,}", min_df=0.05)
X = np.log1p(counter.fit_transform(documents.values()).toarray())
names, words = np.array(list(documents)), counter.get_feature_names_out()
print(f"{len(names)} documents, {len(words)} words that are in at least 5 % of them")

# %%
# Words of all
# ------------
# The mean of the low-rank part has what all documents share. Its components are kinds of documents:
# those at the two ends of one have little in common.

model = RobustPCA(random_state=0).fit(X)
common = words[np.argsort(-model.mean_)[:20]].tolist()
print(f"in all: {', '.join(common)}")
for number, scores in enumerate(model.scores_.T[:3], start=1):
    ends = names[np.argsort(scores)]
    print(f"component {number}: from {', '.join(ends[:3])} to {', '.join(ends[-3:])}")
print(f"rank {model.rank_}, {model.support_fraction_:.0%} of the entries sparse")
print(f"solved to a duality gap of {model.certificate_.value:.0e}")

# %%
# Words of one
# ------------
# The largest entries of the sparse part of a row.

keywords = {
    name: words[np.argsort(-row)[:6]].tolist()
    for name, row in zip(names, model.sparse_, strict=True)
}
for name in names[:: max(1, len(names) // 12)]:
    print(f"{name}: {', '.join(keywords[name])}")

# %%
# Stop words, which were not taken out, are frequent in all documents, and seldom keywords.


def share_of_stop_words(lists):
    return np.mean([word in ENGLISH_STOP_WORDS for chosen in lists for word in chosen])


frequent = [words[np.argsort(-row)[:6]] for row in X]
print(f"stop words among the six most frequent words: {share_of_stop_words(frequent):.0%}")
print(f"among the six keywords: {share_of_stop_words(keywords.values()):.0%}")
