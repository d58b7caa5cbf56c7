"""The example on the breast cancer table: scalers, PCA and classifiers in one pipeline."""

import numpy as np
import pytest
import sklearn.decomposition


@pytest.mark.parametrize("components", [2, 0.95])
def test_pipelines_give_what_they_give_with_scikit_learn(run, components):
    found = run("cancer_scaling", "--components", components)
    fitted, X_test = found["fitted"], found["X_test"]
    for (scaler, classifier, what), model in found["models"].items():
        if what == "columns":
            continue
        given = found["scalers"][scaler], sklearn.decomposition.PCA(components)
        peer = fitted(*given, found["classifiers"][classifier], found["X_train"], found["y_train"])
        assert model[1].n_components_ == peer[1].n_components_
        np.testing.assert_array_equal(model.predict(X_test), peer.predict(X_test))
        np.testing.assert_allclose(
            model.decision_function(X_test), peer.decision_function(X_test), rtol=1e-3, atol=1e-3
        )


def test_what_the_table_shows(run):
    found = run("cancer_scaling", "--components", 2)
    accuracy = found["accuracy"]
    # scaled columns are told apart better than raw ones, most of all by distances
    for scaler in ("standard", "min-max", "robust"):
        assert accuracy[scaler, "SVM", "columns"] > accuracy["none", "SVM", "columns"]
    # two components of thirty standardised columns lose little
    for classifier in ("logistic", "SVM"):
        both = [accuracy["standard", classifier, what] for what in ("columns", "PCA")]
        assert min(both) > 0.9
    # raw, the first components are areas, and little else
    assert found["models"]["none", "SVM", "PCA"][1].explained_variance_ratio_[0] > 0.98
