"""Models in files: the same model comes back, nothing else is built, and damage is one sentence."""

import io
import itertools
import json
import os
import pickle
import stat
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

import eigenlens.select.choice
from eigenlens import PCA, IncrementalPCA, datasets
from eigenlens._register import classes
from eigenlens.data import scalers
from eigenlens.data.atomic import atomic
from eigenlens.persist import FORMAT, ModelFileError, audit, load, require_savable, save
from eigenlens.testing import CHECKS
from eigenlens.testing.tables import changed, state
from eigenlens.testing.watch import Watch
from tools import golden
from tools.golden import GOLDEN

X = datasets.planted_subspace(60, 9, 3, noise=0.1, random_state=0).X


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def kernel(x, y):
    return float(x @ y)


# ------------------------------------------------------------------------------ round trips

MODELS = {
    "whitened": PCA(n_components=0.9, whiten=True),
    "iterated": PCA(n_components=2, svd_solver="arpack", random_state=0),
    "with a random state": PCA(n_components="parallel", random_state=np.random.RandomState(3)),
    "with a choice": PCA(n_components="consensus", random_state=0),
    "giving frames": PCA(n_components=2).set_output(transform="pandas"),
    "of batches": IncrementalPCA(n_components=3),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_kind_of_state_comes_back(model):
    CHECKS["save_and_load"](model)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_whatever_it_was_fitted_to(form, dtype, path):
    A = form(X.astype(dtype))
    model = PCA(n_components=3, svd_solver="covariance_eigh").fit(A)
    again = load(save(model, path))
    assert changed(state(model), state(again)) == []
    assert again.transform(A).dtype == dtype
    assert np.array_equal(model.transform(A), again.transform(A))


def test_nested_models_come_back(path):
    union = make_union(PCA(n_components=2), IncrementalPCA(n_components=3))
    model = make_pipeline(SimpleImputer(), StandardScaler(), union, MinMaxScaler()).fit(X)
    assert np.array_equal(model.transform(X), load(save(model, path)).transform(X))


def test_names_of_columns_come_back(path):
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(9)])
    model = PCA(n_components=2).fit(frame)
    again = load(save(model, path))
    assert list(again.feature_names_in_) == list(frame.columns)
    assert np.array_equal(model.transform(frame), again.transform(frame))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_attribute_comes_back(kind, path):
    model = PCA()
    model.graph_ = kind(np.eye(3))
    again = load(save(model, path))
    assert type(again.graph_) is kind
    assert np.array_equal(again.graph_.toarray(), np.eye(3))


@pytest.mark.parametrize("max_memory", [1e9, 300], ids=["exact", "truncated"])
@pytest.mark.parametrize("asked", [False, True], ids=["before an answer", "after an answer"])
def test_partial_fit_goes_on_as_if_nothing_had_happened(max_memory, asked, path):
    warnings.simplefilter("ignore", ConvergenceWarning)  # that it had to truncate
    model = IncrementalPCA(n_components=2, max_memory=max_memory)
    model.partial_fit(X[:20]).partial_fit(X[20:40])
    if asked:
        assert model.components_.shape == (2, 9)
    again = load(save(model, path))
    assert ("components_" in vars(again)) is asked
    for one in (model, again):
        one.partial_fit(X[40:])
    assert np.array_equal(model.transform(X), again.transform(X))
    assert changed(state(model), state(again)) == []


def test_mapped_arrays_are_taken_in(tmp_path, path):
    np.save(tmp_path / "mean.npy", np.arange(9.0))
    model = PCA(n_components=2).fit(X)
    model.mean_ = np.load(tmp_path / "mean.npy", mmap_mode="r")
    again = load(save(model, path))
    assert type(model.mean_) is np.memmap
    assert type(again.mean_) is np.ndarray
    assert np.array_equal(again.mean_, np.arange(9.0))


class Unsavable(Watch):
    """A callback that holds what no file can, as a progress bar does."""

    def __init__(self):
        super().__init__()
        self.lock = lambda: None


def test_callbacks_are_left_out_and_the_model_left_alone(path):
    inner = PCA(n_components=2).set_callbacks(Unsavable())
    model = make_pipeline(StandardScaler(), inner).fit(X)
    before = dict(vars(inner))
    again = load(save(model, path))
    assert "_skl_callbacks" not in vars(again[-1])
    assert vars(inner) == before
    assert model[-1] is inner
    assert len(inner._skl_callbacks) == 1


def test_a_fit_gives_the_same_bytes_each_time(tmp_path):
    one = golden.write("PCA", PCA(n_components=2), tmp_path).read_bytes()
    assert golden.write("PCA", PCA(n_components=2), tmp_path).read_bytes() == one
    made_at = {member.date_time for member in zipfile.ZipFile(io.BytesIO(one)).infolist()}
    assert made_at == {(1980, 1, 1, 0, 0, 0)}


def test_file_says_its_format_and_what_made_it(path):
    save(PCA(), path)
    about = json.loads(zipfile.ZipFile(path).read("eigenlens.json"))
    assert about["format"] == FORMAT
    assert about["eigenlens"] == eigenlens.__version__
    assert about["created-with"]["numpy"] == np.__version__


def test_file_of_skops_itself_loads(path):
    model = make_pipeline(StandardScaler(), PCA(n_components=2)).fit(X)
    skops.io.dump(model, path)
    assert np.array_equal(load(path).transform(X), model.transform(X))


def test_our_file_is_one_of_skops(path):
    model = PCA(n_components=2).fit(X)
    again = skops.io.load(save(model, path), trusted=skops.io.get_untrusted_types(file=path))
    assert np.array_equal(again.transform(X), model.transform(X))


# ------------------------------------------------------------------------------ golden files


@pytest.mark.parametrize("name", golden.models())
def test_model_has_a_golden_file(name):
    assert golden.path_of(name).exists(), "run tools/golden.py"


def test_golden_files_hold_every_type_of_ours():
    kinds = [*classes().values(), *audit.RECORDS, *map(vars(scalers).get, scalers.__all__)]
    schemas = (zipfile.ZipFile(path).read("schema.json") for path in GOLDEN.glob("*.skops"))
    held = {audit.type_name(node) for text in schemas for node in audit.nodes(json.loads(text))}
    assert {f"{kind.__module__}.{kind.__name__}" for kind in kinds} <= held


LOAD_ALL = """
import sys
from pathlib import Path
import numpy as np
from eigenlens.persist import load
for path in sorted(Path(sys.argv[1]).glob("*.skops")):
    data = np.load(path.with_suffix(".npz"))
    error = np.abs(load(path).transform(data["X"]) - data["scores"]).max()
    assert error <= 1e-12 * np.abs(data["scores"]).max(), f"{path.name}: off by {error}"
    print(path.name)
"""


def test_golden_files_load_in_a_fresh_process():
    """Fresh: so that types come from the register and not from what a test has imported."""
    command = [sys.executable, "-W", "error", "-c", LOAD_ALL, str(GOLDEN)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.split()) == len(golden.models())


# ------------------------------------------------------------------------------ what save refuses


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (PCA(tol=lambda: 0), "PCA.tol is <function"),
        (PCA(tol={"a": [1, lambda: 0]}), r"PCA.tol\['a'\]\[1\] is <function"),
        (
            make_pipeline(StandardScaler(), FunctionTransformer(lambda A: A)),
            r"Pipeline.steps\[1\]\[1\].func is <function",
        ),
        (PCA(tol={(1, 2): 3}), r"PCA.tol is \{\(1, 2\): 3\}"),
        (PCA(tol=iter([])), "PCA.tol is <list_iterator"),
    ],
    ids=["lambda", "in a dict", "in a pipeline", "keys", "iterator"],
)
def test_what_a_file_cannot_hold_is_named(model, place, path):
    path.write_text("the old file")
    with pytest.raises(ModelFileError, match=place + r".*\. Give .*trusted"):
        save(model, path)
    assert path.read_text() == "the old file"
    assert list(path.parent.iterdir()) == [path]


def test_another_suffix_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"model.pkl does not end.*Save to .*model\.skops"):
        save(PCA(), tmp_path / "model.pkl")


def test_something_else_than_a_model_is_refused(path):
    with pytest.raises(TypeError, match="not an object of ndarray"):
        save(X, path)


def test_a_name_can_be_tried_before_the_fit(tmp_path):
    require_savable(tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ModelFileError, match="does not end"):
        require_savable(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        require_savable(tmp_path / "nowhere" / "model.skops")


# ------------------------------------------------------------------------------ trust


def test_own_function_needs_trust(path):
    save(KernelPCA(n_components=2, kernel=kernel), path)
    name = f"{__name__}.kernel"
    with pytest.raises(ModelFileError, match=rf"holds '{name}'.*trusted=\['{name}'\]"):
        load(path)
    assert load(path, trusted=[name]).kernel is kernel
    assert load(path, trusted=name).kernel is kernel


class Doubles(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


def test_own_estimator_needs_trust(path):
    save(make_pipeline(Doubles(), PCA(n_components=2)).fit(X), path)
    with pytest.raises(ModelFileError, match="Doubles"):
        load(path)
    assert np.array_equal(load(path, trusted=[f"{__name__}.Doubles"])[0].transform(X), 2 * X)


def test_what_is_gone_is_named(path, monkeypatch):
    save(KernelPCA(kernel=kernel), path)
    monkeypatch.delattr(sys.modules[__name__], "kernel")
    with pytest.raises(ModelFileError, match=r"not here .*kernel"):
        load(path, trusted=[f"{__name__}.kernel"])


# ------------------------------------------------------------------------------ hostile files


FRESH = itertools.count(10**6)  # ids of objects


def node(loader, name, **rest):
    module, _, kind = name.rpartition(".")
    kept = {"__loader__": loader, "__module__": module, "__class__": kind, "__id__": next(FRESH)}
    return kept | rest


def function(name, claimed=None):
    """Return a function by its name, for the present protocol of skops and for the oldest."""
    module, _, kind = name.rpartition(".")
    content = {"module_path": module, "function": kind}
    return node("FunctionNode", claimed or name, content=content)


def call(name, *values):
    return node("ConstructorFromReduceNode", name, content=row(*map(text, values)))


def text(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def row(*values):
    return node("TupleNode", "builtins.tuple", content=list(values))


def table(key_type="builtins.str", **values):
    types = [node("TypeNode", key_type) for _ in values]
    return node(
        "DictNode",
        "builtins.dict",
        content=values,
        key_types=node("ListNode", "builtins.list", content=types),
    )


def planted(path, value, protocol=None, **members):
    """Save a good model, and put `value` in the place of one of its attributes."""
    save(PCA(n_components=2).fit(X), path)
    with zipfile.ZipFile(path) as good:
        parts = {member: good.read(member) for member in good.namelist()}
    schema = json.loads(parts.pop("schema.json"))
    schema["content"]["content"]["tol"] = value
    if protocol is not None:
        schema["protocol"] = protocol
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bad:
        bad.writestr("schema.json", json.dumps(schema))
        for member, content in (parts | members).items():
            bad.writestr(member, content)
    return path


@pytest.fixture
def canary(tmp_path):
    """A file that comes into being if a hostile file gets something to run."""
    canary = tmp_path / "canary"
    yield canary
    assert not canary.exists(), "something ran"


def run(command):
    """Return nodes that would run a command of the shell, or read files, by what they name."""
    python = f"__import__('os').system({command!r})"
    system = function("os.system")
    scaler = "sklearn.preprocessing._data.StandardScaler"
    partial = {"func": system, "args": row(text(command)), "kwds": table(), "namespace": text(None)}
    seed = {"bit_generator": table(bit_generator=text("seed")), "seed_seq": table()}
    return {
        "os.system": system,
        "posix.system": call("posix.system", command),
        "builtins.eval": call("builtins.eval", python),
        "builtins.exec": node("ListNode", "builtins.exec", content=[text(python)]),
        "builtins.compile": table("builtins.compile", **{python: text(1)}),
        "subprocess.Popen": node("ObjectNode", "subprocess.Popen", content=table(a=text(1))),
        "operator.methodcaller": node(
            "OperatorFuncNode", "operator.methodcaller", attrs=row(text("system"), text(command))
        ),
        "functools.partial": node("PartialNode", "functools.partial", content=partial),
        f"{scaler}.fit": node(
            "MethodNode", scaler, content={"func": "fit", "obj": node("ObjectNode", scaler)}
        ),
        "joblib.numpy_pickle.load": function("joblib.numpy_pickle.load"),
        "numpy.load": function("numpy.load"),
        "numpy.f2py.compile": function("numpy.f2py.compile"),
        "scipy.io.loadmat": function("scipy.io.loadmat"),
        "sklearn.datasets._base.load_files": call("sklearn.datasets._base.load_files", "/"),
        "numpy.random.seed": node(
            "RandomGeneratorNode", "numpy.random._generator.Generator", content=seed
        ),
    }


@pytest.mark.parametrize("name", run(""))
def test_what_runs_code_is_refused_by_name(name, path, canary):
    with pytest.raises(ModelFileError, match=name):
        load(planted(path, run(f"touch {canary}")[name]))


@pytest.mark.parametrize("protocol", [0, 1])
@pytest.mark.parametrize("name", run(""))
def test_older_protocol_is_no_way_around(name, protocol, path, canary):
    with pytest.raises(ModelFileError):
        load(planted(path, run(f"touch {canary}")[name], protocol))


def test_false_name_is_no_way_around(path):
    with pytest.raises(ModelFileError, match=r"holds 'os\.system'"):
        load(planted(path, function("os.system", claimed="numpy.absolute"), protocol=0))


# Loaders that call the type that they build, and what a file gives them.
CALLS = {
    "ConstructorFromReduceNode": {"content": row(text("x"))},
    "ListNode": {"content": []},
    "SetNode": {"content": []},
    "DictNode": {"content": {}, "key_types": row()},
    "NdArrayNode": {"type": "numpy", "file": "1.npy"},
    "LossNode": {"content": table(), "__reduce__": {"args": row(text("x"))}},
    "RandomStateNode": {"content": table()},
    "MethodNode": {"content": {}},
    "TypeNode": {},  # called on the keys of a dict
}


@pytest.mark.parametrize("loader", CALLS)
@pytest.mark.parametrize("name", ["estimators.pca.PCA", "ops.moments.Moments"])
def test_class_of_ours_is_never_called(loader, name, path):
    with pytest.raises(ModelFileError, match=f"builds 'eigenlens.{name}' by {loader}"):
        load(planted(path, node(loader, f"eigenlens.{name}", **CALLS[loader])))


@pytest.mark.parametrize("method", ["__setstate__", "__new__", "__del__"])
def test_class_of_ours_that_does_things_is_not_built(method, path, canary, monkeypatch):
    def touch(*_):
        canary.touch()

    module = eigenlens.select.choice
    kind = type("Opener", (), {"__module__": module.__name__, method: touch})
    monkeypatch.setattr(module, "Opener", kind, raising=False)
    name = f"{module.__name__}.Opener"
    with pytest.raises(ModelFileError, match=f"holds '{name}'"):
        load(planted(path, node("ObjectNode", name, content=table(a=text(1)))))


@pytest.mark.parametrize("name", ["eigenlens.cli.__main__.app", "eigenlens.persist.ZipInfo"])
def test_name_alone_does_not_make_it_ours(name, path):
    """Neither a module that a file would have to load, nor what a module of ours imports."""
    with pytest.raises(ModelFileError, match=f"holds '{name}'"):
        load(planted(path, node("ObjectNode", name)))
    assert "eigenlens.cli.__main__" not in sys.modules


@pytest.mark.parametrize("name", ["../../canary", "/etc/hostname"])
def test_member_outside_of_the_archive(name, path, canary):
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file=name)
    with pytest.raises(ModelFileError, match="damaged"):
        load(planted(path, array, **({name: b"text"} if "canary" in name else {})))


class Bomb:
    def __reduce__(self):
        return os.system, ("touch canary",)


def test_pickles_are_not_read(path, canary, monkeypatch):
    monkeypatch.chdir(path.parent)
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="no model file"):
        load(path)
    content = io.BytesIO()
    np.save(content, np.array([Bomb()]), allow_pickle=True)
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="bomb.npy")
    with pytest.raises(ModelFileError, match="damaged"):
        load(planted(path, array, **{"bomb.npy": content.getvalue()}))
    content = io.BytesIO()
    np.savez(content, format=np.array([Bomb()]), allow_pickle=True)
    matrix = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="bomb.npz")
    with pytest.raises(ModelFileError, match="damaged"):
        load(planted(path, matrix, **{"bomb.npz": content.getvalue()}))


def sparse_zeros(n):
    content = io.BytesIO()
    sparse.save_npz(content, sparse.dia_array((np.zeros((1, n)), [0]), shape=(n, n)))
    return content.getvalue()


def test_files_that_grow_without_bounds(path, monkeypatch):
    monkeypatch.setattr(audit, "MOST_BYTES", 10**7)  # a gigabyte is much for a test
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="zeros.npy")
    with pytest.raises(ModelFileError, match="would grow to"):
        load(planted(path, array, **{"zeros.npy": bytes(2 * 10**7)}))
    mentions = [array | {"__id__": i} for i in range(1, 200)]
    many = node("ListNode", "builtins.list", content=mentions)
    with pytest.raises(ModelFileError, match="would grow to"):
        load(planted(path, many, **{"zeros.npy": os.urandom(10**5) + bytes(10**6)}))
    matrix = node("SparseMatrixNode", "scipy.sparse._dia.dia_array", type="scipy", file="zeros.npz")
    with pytest.raises(ModelFileError, match="would grow to"):
        load(planted(path, matrix, **{"zeros.npz": sparse_zeros(2 * 10**6)}))
    monkeypatch.setattr(audit, "MOST_JSON", 10**5)
    with pytest.raises(ModelFileError, match=r"bytes of schema\.json"):
        load(planted(path, text("a" * 10**6)))


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_sparse_matrix_that_points_outside_of_itself(form, path):
    matrix, content = sparse.eye_array(4, format=form), io.BytesIO()
    for indices in matrix.coords if form == "coo" else [matrix.indices]:
        indices[-1] = 10**6
    sparse.save_npz(content, matrix)
    name = f"scipy.sparse._{form}.{form}_array"
    with pytest.raises(ModelFileError, match="damaged"):
        load(
            planted(
                path,
                node("SparseMatrixNode", name, type="scipy", file="matrix.npz"),
                **{"matrix.npz": content.getvalue()},
            )
        )


def test_archive_of_another_kind(path, monkeypatch):
    save(PCA(), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("more", b"text")
    with pytest.raises(ModelFileError, match="compressed in a way"):
        load(path)
    monkeypatch.setattr(audit, "MOST_MEMBERS", 2)
    with pytest.raises(ModelFileError, match="members"):
        load(path)


def test_array_that_claims_more_than_it_has(path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="huge.npy")
    with pytest.raises(ModelFileError, match="damaged"):
        load(planted(path, array, **{"huge.npy": header.getvalue()}))


def test_nested_without_end(path):
    deep = text(1)
    for _ in range(400):
        deep = row(deep)
    with pytest.raises(ModelFileError, match="damaged"):
        load(planted(path, deep))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", '{"a":' * 10**5)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_few_lines_that_stand_for_a_tree_without_end(path):
    tree = text(1)
    for i in range(1, 60):
        mention = node("TupleNode", "builtins.tuple", content=[]) | {"__id__": i}
        tree = row(tree | {"__id__": i}, mention)
    with pytest.raises(ModelFileError, match="one object in two versions"):
        load(planted(path, tree))


SCALER = ("with_mean", "with_std", "copy")


def test_table_of_ours_does_not_call_a_fit_that_loads_pickles(path, canary):
    """numpy asks a table for an array, which calls a method by its name, which opens a cache."""
    version = text(sklearn.__version__)
    parameters = table(_sklearn_version=version, **{name: text(True) for name in SCALER})
    step = node("ObjectNode", "sklearn.preprocessing._data.StandardScaler", content=parameters)
    pipeline = node(
        "ObjectNode",
        "sklearn.pipeline.Pipeline",
        content=table(
            steps=node("ListNode", "builtins.list", content=[row(text("a"), step)]),
            memory=text(str(canary)),
            verbose=text(False),
            transform_input=text(None),
            _sklearn_version=version,
        ),
    )
    fit = table(model=pipeline, name=text("fit"), args=row(), given=table(), none=text(None))
    base = table(
        array=node("NdArrayNode", "numpy.ndarray", type="numpy", file="rows.npy"),
        names=row(text("x0")),
        dtype=node("TypeNode", "numpy.float64"),
        _rows=text(10),
        _raw=text(None),
        nbytes=text(80),
    )
    mapped = table(
        function=node("ObjectNode", "eigenlens.data.rowwise.Rowwise", content=fit),
        base=node("ObjectNode", "eigenlens.data.blocks.ArrayBlocks", content=base),
        kept=row(),
        nbytes=text(80),
        names=row(text("x0")),
    )
    mapped = node("ObjectNode", "eigenlens.data.blocks.Mapped", content=mapped)
    array = node(
        "NdArrayNode",
        "numpy.ndarray",
        type="json",
        content=[row(mapped)],
        shape=row(text(1), text(1)),
    )
    rows = io.BytesIO()
    np.save(rows, np.eye(3))
    planted(path, array, **{"rows.npy": rows.getvalue()})
    with pytest.raises(ModelFileError, match=r"holds .*eigenlens\.data\.blocks\.Mapped"):
        load(path, trusted=["joblib.memory.Memory"])


def test_folder_of_pickles_needs_trust(path, tmp_path):
    """A fit of a pipeline with a cache loads what is in the folder that the file names."""
    model = make_pipeline(StandardScaler(), PCA(n_components=2), memory=str(tmp_path / "cache"))
    save(model, path)
    with pytest.raises(ModelFileError, match=r"pickles.*trusted=\['joblib.memory.Memory'\]"):
        load(path)
    assert load(path, trusted="joblib.memory.Memory").memory == model.memory
    named = json.dumps({"memory": "cache", "steps": []})
    hidden = node("JsonNode", "builtins.str", content=named)
    pipeline = node("ObjectNode", "sklearn.pipeline.Pipeline", content=hidden)
    with pytest.raises(ModelFileError, match=r"state of 'sklearn.pipeline.Pipeline' by JsonNode"):
        load(planted(path, pipeline))


def numbers(place, **rest):
    state = table(key=node("NdArrayNode", "numpy.ndarray", type="numpy", file="key.npy"), pos=place)
    return {"bit_generator": text("MT19937"), "state": state, **rest}


KEY = io.BytesIO()
np.save(KEY, np.zeros(624, np.uint32))
STRUCTURE = io.BytesIO()
np.save(STRUCTURE, np.zeros((), [("key", np.uint32, 624), ("pos", np.int64)]))
STATE = {"key": [0] * 624, "pos": 2**30}
HIDDEN = {
    "far beyond": table(**numbers(text(2**30), has_gauss=text(0), gauss=text(0.0))),
    "before": table(**numbers(text(-5), has_gauss=text(0), gauss=text(0.0))),
    "in text": table(
        bit_generator=text("MT19937"), state=text(STATE), has_gauss=text(0), gauss=text(0.0)
    ),
    "in a structure": table(
        bit_generator=text("MT19937"),
        state=node("NdArrayNode", "numpy.ndarray", type="numpy", file="structure.npy"),
        has_gauss=text(0),
        gauss=text(0.0),
    ),
    "in an array": table(
        **numbers(
            node("NdArrayNode", "numpy.ndarray", type="numpy", file="far.npy"),
            has_gauss=text(0),
            gauss=text(0.0),
        )
    ),
    "of old": row(
        text("MT19937"),
        node("NdArrayNode", "numpy.ndarray", type="numpy", file="key.npy"),
        text(2**30),
    ),
}
FAR = io.BytesIO()
np.save(FAR, np.array(2**30))
MEMBERS = {
    "key.npy": KEY.getvalue(), "structure.npy": STRUCTURE.getvalue(), "far.npy": FAR.getvalue()
}  # fmt: skip


@pytest.mark.parametrize("state", HIDDEN.values(), ids=HIDDEN)
def test_random_numbers_from_beyond_their_state(state, path):
    """numpy believes the place that it is told, and the first draw would end the process."""
    draws = node("RandomStateNode", "numpy.random.mtrand.RandomState", content=state)
    with pytest.raises(ModelFileError):
        load(planted(path, draws, **MEMBERS))


@pytest.mark.parametrize("kind", ["MT19937", "Philox", "SFC64"])
def test_random_numbers_of_another_kind(kind, path):
    seed = table(entropy=text(0), pool_size=text(10**9 if kind == "SFC64" else 4))
    content = {"bit_generator": table(bit_generator=text(kind)), "seed_seq": seed}
    draws = node("RandomGeneratorNode", "numpy.random._generator.Generator", content=content)
    with pytest.raises(ModelFileError, match="random numbers"):
        load(planted(path, draws))


def test_object_that_is_one_thing_here_and_another_there(path):
    """What is looked at and what is built must be the same: skops builds the first mention."""
    place = text(2**30)
    harmless = place | {"content": "0"}
    good = table(**numbers(harmless, has_gauss=text(0), gauss=text(0.0)))
    draws = node("RandomStateNode", "numpy.random.mtrand.RandomState", content=good)
    both = node("ListNode", "builtins.list", content=[place, draws])
    with pytest.raises(ModelFileError, match="one object in two versions"):
        load(planted(path, both, **MEMBERS))


@pytest.mark.parametrize("name", ["void", "bytes_"])
def test_number_that_becomes_as_many_bytes(name, path):
    length = io.BytesIO()
    np.save(length, np.array(10**9))
    many = node("NdArrayNode", f"numpy.{name}", type="numpy", file="length.npy")
    with pytest.raises(ModelFileError, match=f"builds 'numpy.{name}' by NdArrayNode"):
        load(planted(path, many, **{"length.npy": length.getvalue()}))


def test_member_that_is_larger_than_it_says(path):
    """zipfile would unpack all of it before it cut it off."""
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="zeros.npy")
    planted(path, array, **{"zeros.npy": bytes(10**7)})
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 14), (b"PK\x01\x02", 16)):  # of the member, in the directory
        here = content.index(b"zeros.npy", content.index(mark))
        here = content.rindex(mark, 0, content.rindex(b"zeros.npy") if mark[2] == 1 else here)
        sizes = struct.pack("<I", zlib.crc32(bytes(100))), struct.pack("<I", 100)
        content[here + at : here + at + 4] = sizes[0]
        content[here + at + 8 : here + at + 12] = sizes[1]
    path.write_bytes(content)
    assert zipfile.ZipFile(path).getinfo("zeros.npy").file_size == 100
    assert zipfile.ZipFile(path).read("zeros.npy") == bytes(100)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_matrix_that_is_packed_to_burst(path):
    """An archive within the archive, by a method that zipfile unpacks at once."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("data.npy", bytes(10**7))
    matrix = node("SparseMatrixNode", "scipy.sparse._csr.csr_array", type="scipy", file="m.npz")
    with pytest.raises(ModelFileError, match="damaged"):
        load(planted(path, matrix, **{"m.npz": content.getvalue()}))


def test_encrypted_member(path):
    save(PCA(), path)
    content = bytearray(path.read_bytes())
    here = content.index(b"PK\x01\x02")
    content[here + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="compressed in a way"):
        load(path)


def test_several_members_of_one_name(path):
    """The last counts, for the check and for what is built."""
    save(PCA(n_components=2), path)
    with zipfile.ZipFile(path) as good:
        schema = json.loads(good.read("schema.json"))
    schema["content"]["content"]["tol"] = function("os.system")
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("schema.json", json.dumps(schema))
    with pytest.raises(ModelFileError, match=r"os\.system"):
        load(path)


@pytest.mark.parametrize(
    "header",
    [
        "(" * 9000,
        "-" * 9000 + "1",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10**30,)}",
        f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30},)}}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "__import__('os').system('touch canary')",
        "x" * 10**6,
    ],
)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_array_with_a_made_up_header(header, version, path, canary, monkeypatch):
    monkeypatch.chdir(path.parent)
    length = struct.pack("<H" if version == 1 else "<I", min(len(header), 2**16 - 1))
    content = b"\x93NUMPY" + bytes([version, 0]) + length + header.encode()
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="made.npy")
    with pytest.raises(ModelFileError, match="damaged"):
        load(planted(path, array, **{"made.npy": content}))


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="a pipe or a device"):
        load(path)
    with pytest.raises(ModelFileError, match="a folder"):
        load(path.parent)


# ------------------------------------------------------------------------------ damaged files


def test_newer_file(path):
    save(PCA(), path)
    with zipfile.ZipFile(path) as good:
        parts = {member: good.read(member) for member in good.namelist()}
    parts["eigenlens.json"] = json.dumps({"format": FORMAT + 1, "eigenlens": "9.0"})
    parts["schema.json"] = "of another form"
    with zipfile.ZipFile(path, "w") as newer:
        for member, content in parts.items():
            newer.writestr(member, content)
    with pytest.raises(ModelFileError, match=r"made by eigenlens 9\.0.*Update eigenlens"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)])
def test_no_model_file(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as raised:
        load(path)
    message = str(raised.value)
    assert str(path) in message
    assert message.count("\n") == 0
    assert "Get it again" in message


def test_archive_of_something_else(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
    with pytest.raises(ModelFileError, match="no model file"):
        load(path)


@pytest.mark.parametrize("schema", ["[]", "1", "null", "{}", '{"protocol": 99}', "{"])
def test_schema_of_something_else(schema, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", schema)
    with pytest.raises(ModelFileError):
        load(path)


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_one_error(seed, path):
    """Cut off or with wrong bytes, a file loads as it was or is refused; nothing else happens."""
    model = PCA(n_components=2).fit(X)
    good = save(model, path).read_bytes()
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(100):
        bad = bytearray(good[: rng.integers(len(good))] if rng.random() < 0.3 else good)
        for place in rng.integers(len(bad) or 1, size=rng.integers(1, 4)):
            bad[place : place + 1] = rng.bytes(1)
        path.write_bytes(bad)
        try:
            again = load(path)
        except ModelFileError:
            refused += 1
        else:
            assert changed(state(model), state(again)) == []
    assert refused > 50


def test_missing_file(path):
    with pytest.raises(FileNotFoundError, match="model"):
        load(path)


# ------------------------------------------------------------------------------ atomic


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_old_file_stays_after_an_error(error, tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(error), atomic(path) as temporary:  # noqa: PT012
        temporary.write_text("half of the n")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_new_file_appears_at_the_end(tmp_path):
    path = tmp_path / "file.txt"
    with atomic(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_are_those_of_open(tmp_path):
    path, plain = tmp_path / "atomic", tmp_path / "plain"
    before = os.umask(0o027)
    try:
        plain.write_text("")
        with atomic(path):
            pass
        assert mode(path) == mode(plain) == 0o640
        path.chmod(0o604)
        with atomic(path):
            pass
        assert mode(path) == 0o604
    finally:
        os.umask(before)


def test_link_stays_a_link(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    for content in ("new", "newer"):
        with atomic(link) as temporary:
            temporary.write_text(content)
        assert link.is_symlink()
        assert path.read_text() == content


def test_places_where_nothing_can_be_written(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere does not exist\. Create"):
        save(PCA(), tmp_path / "nowhere" / "model.skops")
    (tmp_path / "folder.skops").mkdir()
    with pytest.raises(OSError, match="is a folder or a device"):
        save(PCA(), tmp_path / "folder.skops")
    locked = tmp_path / "locked.skops"
    locked.touch()

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)  # root may write anything
        with pytest.raises(PermissionError, match="write-protected"):
            save(PCA(), locked)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "touch", refuse)
        with pytest.raises(PermissionError, match=r"folder .*Permission denied.*Write elsewhere"):
            save(PCA(), tmp_path / "model.skops")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.skops", "locked.skops"]
