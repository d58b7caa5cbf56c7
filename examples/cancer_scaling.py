"""
Scaling, components and classes of the breast cancer table
===========================================================

Thirty measurements of 569 tumours, in units of their own: areas are in the thousands, fractal
dimensions below 0.1. How well do logistic regression and a support vector machine tell benign from
malignant, before and after columns are brought to one scale, and from principal components alone?

Every row of the table is a pipeline: a scaler, PCA or nothing, a classifier. It is fitted to three
quarters of the rows; the accuracy is that on the last quarter::

    python examples/cancer_scaling.py
    python examples/cancer_scaling.py --components 2
"""

# %%
# Pipelines
# ---------
# Scalers and PCA see the rows that are fitted, and nothing else.

import argparse
from functools import partial

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.svm import SVC

from eigenlens import PCA

parser = argparse.ArgumentParser(description="Classes of tumours from scaled columns and from PCA.")
parser.add_argument(
    "--components", type=float, default=0.95, metavar="K", help="number or share [0.95]"
)
options = parser.parse_args()
components = options.components if 0 < options.components < 1 else int(options.components)

scalers = {
    "none": lambda: "passthrough",
    "standard": StandardScaler,
    "min-max": MinMaxScaler,
    "robust": RobustScaler,
    "normaliser": Normalizer,
}
# without a scale, logistic regression takes thousands of steps
classifiers = {"logistic": partial(LogisticRegression, max_iter=20_000), "SVM": partial(SVC, C=100)}


def fitted(scaler, reducer, classifier, X, y):
    return make_pipeline(scaler(), reducer, classifier()).fit(X, y)


# %%
# Accuracy on rows that no fit saw
# --------------------------------

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

models, accuracy = {}, {}
print(f"{'scaler':12}{'classifier':12}{'columns':>9}{'PCA':>9}  components")
for scaler, make_scaler in scalers.items():
    for classifier, make_classifier in classifiers.items():
        for what, reducer in (("columns", "passthrough"), ("PCA", PCA(components))):
            model = fitted(make_scaler, reducer, make_classifier, X_train, y_train)
            models[scaler, classifier, what] = model
            accuracy[scaler, classifier, what] = model.score(X_test, y_test)
        kept = models[scaler, classifier, "PCA"][1].n_components_
        before, after = (accuracy[scaler, classifier, what] for what in ("columns", "PCA"))
        print(f"{scaler:12}{classifier:12}{before:9.3f}{after:9.3f}  {kept}")
