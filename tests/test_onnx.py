"""Models as ONNX graphs, run by onnxruntime: the numbers of transform, and nothing else."""

import json
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from commands import fine, require_good_mistake
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import decomposition, preprocessing
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline

import eigenlens
from eigenlens import (
    NMF,
    PCA,
    IncrementalPCA,
    KernelPCA,
    MiniBatchSparsePCA,
    RobustPCA,
    SparsePCA,
    VectorQuantizer,
    export_onnx,
)
from eigenlens.data.writing import named

DTYPES = {"float64": 1e-12, "float32": 1e-6}
NAMES = [f"column {j}" for j in range(6)]

OURS = [
    PCA(3),
    PCA(3, whiten=True),
    IncrementalPCA(3),
    IncrementalPCA(3, whiten=True),
    SparsePCA(3, alpha=0.5),
    MiniBatchSparsePCA(3, alpha=0.5, random_state=0),
]
SCALERS = [
    getattr(package, name)(**params)
    for package in (eigenlens, preprocessing)
    for name, params in (
        ("StandardScaler", {}),
        ("StandardScaler", {"with_mean": False}),
        ("StandardScaler", {"with_std": False}),
        ("MinMaxScaler", {"feature_range": (-1, 2)}),
        ("MinMaxScaler", {"clip": True}),
        ("RobustScaler", {}),
        ("RobustScaler", {"with_centering": False}),
        ("RobustScaler", {"with_scaling": False}),
        ("Normalizer", {"norm": "l1"}),
        ("Normalizer", {"norm": "l2"}),
        ("Normalizer", {"norm": "max"}),
    )
]
PIPELINES = [
    make_pipeline(eigenlens.StandardScaler(), PCA(2, whiten=True)),
    make_pipeline(preprocessing.Normalizer(), "passthrough", SparsePCA(2, alpha=0.1)),
    make_pipeline(make_pipeline(preprocessing.RobustScaler(), PCA(4)), eigenlens.MinMaxScaler()),
]


def table(dtype="float64", shift=3.0):
    """Return rows with a row of zeros among them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6)) @ rng.standard_normal((6, 6)) + shift
    X[7] = 0.0
    return X.astype(dtype)


def run(path, X):
    (found,) = onnxruntime.InferenceSession(path).run(None, {"X": X})
    return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "model", [*OURS, *SCALERS, *PIPELINES], ids=lambda m: " ".join(str(m).split())
)
def test_numbers_are_those_of_transform(model, dtype, path):
    X = table(dtype)
    model.fit(X[:40])
    assert export_onnx(model, path, dtype=dtype) == path
    for rows in (X, X[7:8], X[50:51]):
        expected, found = model.transform(rows), run(path, rows)
        assert found.dtype == np.dtype(dtype)
        assert_allclose(
            found, expected, rtol=0, atol=DTYPES[dtype] * np.abs(expected).max(initial=1)
        )
    assert run(path, X[:0]).shape == (0, len(model.get_feature_names_out()))


def test_digits_survive_a_large_mean(path):
    """A mean folded into the product, ``x V' - m V'``, would lose those of its size."""
    X = table("float32", shift=3e4)
    X[7] = X[8]
    model = PCA(3).fit(X)
    expected = model.transform(X)
    found = run(export_onnx(model, path), X)
    assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtype_is_that_of_the_fit(dtype, path):
    for model in (PCA(2), make_pipeline(preprocessing.StandardScaler(), PCA(2))):
        X = table(dtype)
        assert run(export_onnx(model.fit(X), path), X).dtype == np.dtype(dtype)
    scaler = preprocessing.StandardScaler().fit(table(dtype))  # which keeps float64 always
    assert run(export_onnx(scaler, path), table()).dtype == np.float64


def test_names_and_shapes_are_in_the_file(path):
    model = make_pipeline(eigenlens.StandardScaler(), PCA(2)).fit(named(table(), NAMES))
    graph = onnxruntime.InferenceSession(export_onnx(model, path))
    (given,), (made,) = graph.get_inputs(), graph.get_outputs()
    assert (given.name, given.shape, given.type) == ("X", ["rows", 6], "tensor(double)")
    assert (made.name, made.shape) == ("transformed", ["rows", 2])
    about = graph.get_modelmeta().custom_metadata_map
    assert json.loads(about["feature_names_in"]) == NAMES
    assert json.loads(about["feature_names_out"]) == ["pca0", "pca1"]
    assert onnx.load(path).producer_name == "eigenlens"
    nameless = export_onnx(PCA(1).fit(table()), path)
    props = {entry.key: json.loads(entry.value) for entry in onnx.load(nameless).metadata_props}
    assert props["feature_names_in"] == [f"x{j}" for j in range(6)]


def test_the_same_model_gives_the_same_bytes_and_is_left_alone(tmp_path):
    model = PCA(2).fit(table())
    before = model.components_.copy()
    first, second = (
        export_onnx(model, tmp_path / name).read_bytes() for name in ("a.onnx", "b.onnx")
    )
    assert first == second
    assert_array_equal(model.components_, before)


def test_a_stream_can_be_written(path):
    model = IncrementalPCA(2).partial_fit(table()[:30]).partial_fit(table()[30:])
    assert_allclose(run(export_onnx(model, path), table()), model.transform(table()), atol=1e-12)


class Centred(PCA):
    """A subclass, which may do anything in transform."""


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(2),
        NMF(2),
        RobustPCA(),
        VectorQuantizer(2),
        Centred(2),
        decomposition.PCA(2),
        make_pipeline(VarianceThreshold(), PCA(2)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_not_a_product_is_refused(model, path):
    model.fit(np.abs(table()))
    culprit = getattr(model, "steps", [(None, model)])[0][1]
    with pytest.raises(TypeError, match=f"{type(culprit).__name__} cannot .*PCA, .*Normalizer"):
        export_onnx(model, path)
    assert not path.exists()


@pytest.mark.parametrize("model", [PCA(2), preprocessing.Normalizer(), make_pipeline(PCA(2))])
def test_what_is_not_fitted_is_refused(model, path):
    with pytest.raises(NotFittedError, match="fit"):
        export_onnx(model, path)


def test_name_of_the_file(tmp_path):
    model = PCA(2).fit(table())
    with pytest.raises(ValueError, match=r"\.onnx.*Write to .*model\.onnx"):
        export_onnx(model, tmp_path / "model.skops")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        export_onnx(model, tmp_path / "nowhere" / "model.onnx")
    with pytest.raises(ValueError, match="float16"):
        export_onnx(model, tmp_path / "model.onnx", dtype="float16")
    assert not list(tmp_path.iterdir())


def test_old_file_stays_where_writing_fails(path, monkeypatch):
    path.write_text("old")
    monkeypatch.setattr("pathlib.Path.write_bytes", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export_onnx(PCA(2).fit(table()), path)
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_without_the_package(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'eigenlens\[onnx\]'"):
        export_onnx(PCA(2).fit(table()), path)


# ------------------------------------------------------------------------------ from the shell


@pytest.fixture
def folder(tmp_path):
    eigenlens.save(PCA(2).fit(named(table(), NAMES)), tmp_path / "model.skops")
    eigenlens.save(KernelPCA(2).fit(table()), tmp_path / "kernel.skops")
    return tmp_path


def test_export_from_the_shell(inside, folder):
    assert "model.onnx" in fine(inside("export", "model.skops"))
    expected = PCA(2).fit(table()).transform(table())
    assert_allclose(run(folder / "model.onnx", table()), expected, atol=1e-12)
    fine(inside("export", "model.skops", "-o", "other.onnx"))
    assert (folder / "other.onnx").read_bytes() == (folder / "model.onnx").read_bytes()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("export kernel.skops", ["KernelPCA", "Export one of PCA"]),
        ("export model.skops -o model.pb", [".onnx"]),
        ("export missing.skops", ["missing.skops"]),
    ],
)
def test_mistakes_in_the_shell(inside, folder, line, words):
    require_good_mistake(inside, folder, line, 1, words)
