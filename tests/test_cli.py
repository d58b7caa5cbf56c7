"""The command line, through the real entry point: what it does, and what it says to mistakes."""

import io
import json
import pickle
import signal
import subprocess
import sys
import time
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from commands import fine, require_good_mistake, shell
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eigenlens
from eigenlens import PCA, IncrementalPCA
from eigenlens._register import classes
from eigenlens._text import command_name
from eigenlens.cli import _methods
from eigenlens.data.writing import Writer, named

WINE = load_wine()
X, NAMES = WINE.data, [name.replace("/", " ") for name in WINE.feature_names]
CLASSES = np.array(["red", "white", "rosé"])[WINE.target]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the wine table in several forms."""
    folder = tmp_path_factory.mktemp("tables")
    for ending in ("csv", "parquet", "npy"):
        with Writer(folder / f"wine.{ending}", NAMES) as writer:
            writer.write(X)
    table = named(X, NAMES).append_column("kind", pa.array(CLASSES))
    pa.csv.write_csv(table, folder / "classes.csv")
    holes = X.copy()
    holes[::7, 3] = np.nan
    with Writer(folder / "holes.parquet", NAMES) as writer:
        writer.write(holes)
    return folder


# -------------------------------------------------------------------------------- the way through


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_fit_transform_inverse_inspect(inside, folder, tmp_path, ending, scale):
    model, scores, back = (tmp_path / name for name in ("model.skops", "s.parquet", "b.csv"))
    fine(inside("fit", "pca", f"wine.{ending}", "-o", model, "--scale", scale, "--n-components", 3))
    fine(inside("transform", model, f"wine.{ending}", "-o", scores))
    fine(inside("inverse", model, scores, "-o", back))
    expected = make_pipeline(StandardScaler(), PCA(3)) if scale == "standard" else PCA(3)
    truth = expected.fit_transform(X)
    assert eigenlens.open(scores).names == ("pca0", "pca1", "pca2")
    assert_allclose(eigenlens.open(scores).read(), truth, atol=1e-9)
    assert_allclose(eigenlens.open(back).read(), expected.inverse_transform(truth), atol=1e-9)
    if ending != "npy":
        assert eigenlens.open(back).names == tuple(NAMES)
    shown = fine(inside("inspect", model))
    assert "PCA" in shown
    assert "Certificate" in shown
    found = json.loads(fine(inside("inspect", model, "--json")))
    assert found["n_components"] == 3
    assert found["scale"] == scale
    assert found["parameters"]["n_components"] == 3
    shares = (expected[-1] if scale == "standard" else expected).explained_variance_ratio_
    assert_allclose(found["explained_variance_ratio"], shares, rtol=1e-10)


def test_model_finds_its_columns_by_name(inside, tmp_path):
    model, scores = tmp_path / "model.skops", tmp_path / "scores.npy"
    fine(inside("fit", "pca", "wine.csv", "-o", model, "--columns", "alcohol,hue,ash"))
    fine(inside("transform", model, "classes.csv", "-o", scores))
    chosen = [NAMES.index(name) for name in ("alcohol", "hue", "ash")]
    assert_allclose(np.load(scores), PCA().fit_transform(X[:, chosen]), atol=1e-10)
    code, _, err = inside("transform", model, "holes.parquet", "--encoding", "utf8", "-o", scores)
    assert code == 0, err  # no hole in those columns


def test_pipes(folder, tmp_path):
    """Standard input and output, one command after the other, nothing on the terminal."""
    model, table = tmp_path / "model.skops", (folder / "wine.parquet").read_bytes()
    made = shell(folder, "fit", "pca", "-", "-o", model, "--n-components", 2, input=table)
    assert (made.returncode, made.stderr) == (0, b"")
    assert b"\x1b" not in made.stdout
    scores = shell(folder, "transform", model, "-", input=table)
    assert (scores.returncode, scores.stderr) == (0, b"")
    rows = np.loadtxt(scores.stdout.splitlines(), delimiter=",", skiprows=1)
    assert_allclose(rows, PCA(2).fit_transform(X), atol=1e-9)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_standard_input_tells_its_format(inside, folder, tmp_path, monkeypatch, ending):
    model, table = tmp_path / "model.skops", (folder / f"wine.{ending}").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table)))
    assert "\x1b" not in fine(inside("fit", "pca", "-", "-o", model, "--n-components", 2))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table)))
    header, *rows = fine(inside("transform", model, "-")).splitlines()
    assert header == '"pca0","pca1"'
    assert_allclose(np.loadtxt(rows, delimiter=","), PCA(2).fit_transform(X), atol=1e-9)


def test_reader_that_leaves_early(tmp_path):
    table = np.random.default_rng(0).normal(size=(20_000, 3))  # much more than a pipe holds
    big, model = tmp_path / "big.npy", tmp_path / "m.skops"
    np.save(big, table)
    eigenlens.save(PCA().fit(table), model)
    read_a_line = f"{sys.executable} -m eigenlens.cli transform {model} {big}"
    command = f"({read_a_line}; echo $? >&2) | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert result.stdout == '"pca0","pca1","pca2"\n'
    assert result.stderr == "0\n"
    read_little = f"({sys.executable} -m eigenlens.cli fit pca {big}; echo $? >&2) | true"
    result = subprocess.run(read_little, shell=True, capture_output=True, text=True, check=False)
    assert result.stderr == "0\n"


def test_options_come_from_the_signature(inside, tmp_path):
    found = json.loads(
        fine(inside("fit", "pca", "wine.csv", "--whiten", "--n-components", "0.95",
                    "--svd-solver", "full", "--tol", "1e-9", "--seed", "3", "--json"))
    )  # fmt: skip
    asked = found["parameters"]
    assert asked["whiten"] is True
    assert asked["n_components"] == 0.95
    assert asked["svd_solver"] == "full"
    assert asked["tol"] == 1e-9
    assert asked["random_state"] == 3
    assert found["model"] is None
    text = fine(inside("fit", "pca", "--help"))
    for option in ("--n-components", "--whiten", "--svd-solver", "--missing", "--scale"):
        assert option in text


@pytest.mark.parametrize("name", list(classes()))
def test_every_option_of_every_method_reaches_it(name, inside):
    method = classes()[name]
    options = _methods.options(method)
    assert set(options) | {"random_state"} >= set(method().get_params(deep=False))
    text = fine(inside("fit", command_name(name), "--help"))
    assert "[default:" in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        how = ("--scale", "minmax", "--n-components", 3, "--json")
        made = json.loads(fine(inside("fit", command_name(name), "wine.csv", *how)))
    assert made["method"] == name


@pytest.mark.parametrize(
    ("name", "command"),
    [("PCA", "pca"), ("IncrementalPCA", "incremental-pca"), ("MiniBatchNMF", "mini-batch-nmf"),
     ("TSNE", "tsne"), ("VectorQuantizer", "vector-quantizer")],
)  # fmt: skip
def test_names_as_commands(name, command):
    assert command_name(name) == command


@pytest.mark.parametrize("typed", ["incremental-pca", "IncrementalPCA", "incremental_pca", "incr"])
def test_a_method_is_found_under_any_of_its_names(inside, typed):
    assert (
        json.loads(fine(inside("fit", typed, "wine.csv", "--json")))["method"] == "IncrementalPCA"
    )


def test_target_and_text(inside, tmp_path):
    model = tmp_path / "m.skops"
    out = fine(inside("fit", "pca", "classes.csv", "-o", model))
    assert "Left out: kind (text)" in out
    found = json.loads(fine(inside("fit", "pca", "classes.csv", "--encode", "all", "--json")))
    assert found["columns"] == len(NAMES) + 3
    assert found["names"][-3:] == ["kind=red", "kind=rosé", "kind=white"]
    target = json.loads(
        fine(inside("fit", "pca", "classes.csv", "--encode", "all", "--target", "kind", "--json"))
    )
    assert target["names"] == NAMES
    numeric = json.loads(fine(inside("fit", "pca", "wine.npy", "--target", "x0", "--json")))
    assert numeric["columns"] == len(NAMES) - 1


def test_holes(inside, tmp_path):
    code, _, err = inside("fit", "pca", "holes.parquet")
    assert code == 1
    assert "holes.parquet has holes" in err
    assert "--missing em" in err
    model, scores = tmp_path / "m.skops", tmp_path / "s.npy"
    args = ("--missing", "em", "--n-components", 2, "--scale", "standard", "-o", model)
    fine(inside("fit", "pca", "holes.parquet", *args))
    fine(inside("transform", model, "holes.parquet", "-o", scores))
    assert np.isfinite(np.load(scores)).all()


def test_unscaled_columns_are_pointed_out(inside):
    assert "Try --scale standard" in fine(inside("fit", "pca", "wine.csv"))
    assert "Try --scale" not in fine(inside("fit", "pca", "wine.csv", "--scale", "standard"))


def test_rank(inside):
    out = fine(inside("rank", "classes.csv", "--seed", "0"))
    truth = PCA("consensus", random_state=0).fit(StandardScaler().fit_transform(X)).choice_
    assert f"consensus: {truth.k} components" in out
    assert f"eigenlens fit pca classes.csv --n-components {truth.k} --scale standard" in out
    found = json.loads(fine(inside("rank", "classes.csv", "--json")))
    assert found["k"] == truth.k
    assert set(found["rules"]) == {choice.rule for choice in truth.choices}
    assert json.loads(fine(inside("rank", "holes.parquet", "--json")))["k"] >= 1


def test_methods(inside):
    out = fine(inside("methods"))
    found = json.loads(fine(inside("methods", "--json")))
    for name, method in classes().items():
        assert command_name(name) in out
        assert found[command_name(name)]["promises"] == sorted(method.claims)


def test_methods_of_other_packages(inside, tmp_path):
    model, scores = tmp_path / "lda.skops", tmp_path / "scores.npy"
    how = ("--target", "kind", "--scale", "standard", "--n-components", 2, "-o", model)
    fine(inside("fit", "linear-discriminant-analysis", "classes.csv", *how))
    fine(inside("transform", model, "classes.csv", "-o", scores))
    expected = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(n_components=2))
    assert_allclose(np.load(scores), expected.fit(X, CLASSES).transform(X), rtol=1e-8, atol=1e-8)
    found = json.loads(fine(inside("fit", "trunc", "wine.csv", "--json", "--seed", "0")))
    assert found["method"] == "TruncatedSVD"
    assert found["names"] == NAMES
    about = json.loads(fine(inside("methods", "--json")))["linear-discriminant-analysis"]
    assert about["origin"] == "scikit-learn"
    assert about["kind"] == "supervised"


def test_a_method_that_learns_from_classes_asks_for_them(inside):
    code, _, err = inside("fit", "linear-discriminant-analysis", "classes.csv")
    assert code == 1
    assert "learns from classes. Name the column of them: --target NAME." in err


def test_report(inside, tmp_path):
    page = tmp_path / "page.html"
    out = fine(inside("report", "classes.csv", "--target", "kind", "-o", page))
    assert str(page) in out
    html = page.read_text(encoding="utf-8")
    assert "alcohol" in html
    assert "rosé" in html
    found = json.loads(fine(inside("report", "classes.csv", "--target", "kind", "--json")))
    assert found == json.loads(json.dumps(found))
    code, _, err = inside("report", "classes.csv", "--methods", "pcb")
    assert code == 2
    assert "Did you mean 'pca'" in err


class Doubled(IncrementalPCA):
    """Finds twice what there is.

    Parameters
    ----------
    n_components : int
        How many to find. More is not always better.
    factor : float
        What to multiply by.

    Examples
    --------
    >>> Doubled()
    Doubled()
    """

    claims = frozenset({"orthonormal"})
    _parameter_constraints = {**IncrementalPCA._parameter_constraints, "factor": [float]}  # noqa: RUF012

    def __init__(self, n_components=None, *, factor=2.0, whiten=False, copy=True, batch_size=None,
                 max_memory=1e9):  # fmt: skip
        super().__init__(n_components, whiten=whiten, copy=copy, batch_size=batch_size,
                         max_memory=max_memory)  # fmt: skip
        self.factor = factor

    def transform(self, X):
        return self.factor * super().transform(X)


def test_a_method_added_at_run_time_is_everywhere(inside, monkeypatch, tmp_path):
    from tools import readme_table

    monkeypatch.setattr(eigenlens, "__all__", [*eigenlens.__all__, "Doubled"])
    monkeypatch.setattr(eigenlens, "Doubled", Doubled, raising=False)
    assert "Finds twice what there is" in fine(inside("methods"))
    assert "doubled" in fine(inside("fit", "--help"))
    text = fine(inside("fit", "doubled", "--help"))
    assert "How many to find. [default: None]" in text
    assert "--factor" in text
    model, scores = tmp_path / "m.skops", tmp_path / "s.npy"
    fine(inside("fit", "doubled", "wine.csv", "--factor", "3.0", "--n-components", 2, "-o", model))
    fine(inside("transform", model, "wine.csv", "-o", scores))
    assert_allclose(np.load(scores), 3 * PCA(2).fit_transform(X), atol=1e-8)
    fine(inside("report", "wine.csv", "--methods", "doubled", "-o", tmp_path / "page.html"))
    assert "Doubled" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "| `Doubled` | Finds twice what there is | orthonormal |" in readme_table.table()


# -------------------------------------------------------------------------------- mistakes


def make_mistakes(folder):
    """Write files with one thing wrong each."""
    whole = (folder / "wine.parquet").read_bytes()
    texts = {
        "empty.csv": "",
        "header.csv": "a,b\n",
        "ragged.csv": "a,b\n1,2\n3\n",
        "words.csv": "a,b\nx,y\nz,w\n",
        "table.xlsx": "a,b\n1,2\n",
        "constant.csv": "a,b\n1,2\n1,2\n1,2\n",
        "one.csv": "a,b\n1,2\n",
        "infinite.csv": "a,b\n1,2\ninf,3\n4,9\n",
        "model.skops": "not a model",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "latin.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (folder / "parquet.csv").write_bytes(whole)
    (folder / "pickle.skops").write_bytes(pickle.dumps({"a": 1}))
    with zipfile.ZipFile(folder / "bomb.skops", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("schema.json", b" " * 300_000_000)
    eigenlens.save(PCA(2).fit(named(X, NAMES)), folder / "good.skops")


MISTAKES = [
    # arguments, exit code, words that the message must have
    ("fit pca nothing.csv", 1, ["nothing.csv", "Check its name"]),
    ("fit pca empty.csv", 1, ["empty.csv is empty"]),
    ("fit pca header.csv", 1, ["header.csv has no rows"]),
    ("fit pca ragged.csv", 1, ["ragged.csv, line 3", "1 fields where 2"]),
    ("fit pca latin.csv", 1, ["not UTF-8", "latin-1"]),
    ("fit pca table.xlsx", 1, ["table.xlsx", "CSV or Parquet"]),
    ("fit pca parquet.csv", 1, ["holds is Parquet", "Rename it"]),
    ("fit pca words.csv", 1, ["no column of numbers", "Encode"]),
    ("fit pca cut.parquet", 1, ["cut.parquet is damaged or cut off"]),
    ("fit pca constant.csv", 1, ["constant"]),
    ("fit pca one.csv", 1, ["2"]),
    ("fit pca infinite.csv", 1, ["infin"]),
    ("fit pca wine.csv --n-components 99", 1, ["n_components=99", "at most 13"]),
    ("fit pca wine.csv --columns alcohl", 1, ["alcohl", "Did you mean 'alcohol'"]),
    ("fit pca wine.csv --drop nothing", 1, ["'nothing'", "It has"]),
    ("fit pca wine.csv -o nowhere/model.skops", 1, ["nowhere"]),
    ("fit pca wine.csv -o /proc/model.skops", 1, ["/proc", "rite elsewhere"]),  # not even by root
    ("transform good.skops wine.csv -o /proc/scores.csv", 1, ["/proc", "rite elsewhere"]),
    ("report wine.csv -o /proc/page.html", 1, ["/proc", "rite elsewhere"]),
    ("fit pca wine.csv -o model.pkl", 1, [".skops"]),
    ("transform model.skops wine.csv", 1, ["model.skops"]),
    ("transform pickle.skops wine.csv", 1, ["pickle.skops"]),
    ("transform bomb.skops wine.csv", 1, ["bomb.skops"]),
    ("transform nothing.skops wine.csv", 1, ["nothing.skops"]),
    ("inspect wine.csv", 1, ["wine.csv"]),
    ("report wine.csv -o page.docx", 1, [".html"]),
    ("report wine.csv --target nothing", 1, ["'nothing'"]),
    ("fit pcb wine.csv", 2, ["'pcb'", "Did you mean 'pca'"]),
    ("fit zzz wine.csv", 2, ["There are: ", "incremental-pca"]),
    ("fit pca wine.csv --batch-size 3", 2, ["--batch-size", "incremental-pca"]),
    ("fit pca wine.csv --n-component 3", 2, ["--n-component", "--n-components"]),
    ("fit pca wine.csv --n-components many", 2, ["n_components", "'many'"]),
    ("fit pca wine.csv --scale standart", 2, ["standart", "standard"]),
    ("fit pca", 2, ["DATA"]),
    ("fti pca wine.csv", 2, ["fti", "fit"]),
    ("rank wine.csv --seed x", 2, ["--seed", "integer"]),
]


@pytest.fixture(scope="module")
def mistakes(folder):
    make_mistakes(folder)
    return folder


@pytest.mark.parametrize(("line", "code", "words"), MISTAKES, ids=[line for line, *_ in MISTAKES])
def test_mistakes(mistakes, inside, line, code, words):
    require_good_mistake(inside, mistakes, line, code, words)


@pytest.mark.parametrize("line", ["fit pca empty.csv", "fit pcb wine.csv"])
def test_mistake_is_the_same_in_a_process_of_its_own(mistakes, inside, line):
    code, out, err = inside(*line.split())
    result = shell(mistakes, *line.split())
    assert (result.returncode, result.stdout, result.stderr) == (code, out.encode(), err.encode())


def test_traceback_with_debug_only(mistakes, inside):
    for args in (["--debug", "fit", "pca", "empty.csv"], ["fit", "pca", "empty.csv", "--debug"]):
        with pytest.raises(ValueError, match=r"empty\.csv is empty"):
            inside(*args)
    result = shell(mistakes, *args)
    assert result.returncode == 1
    assert b"Traceback" in result.stderr


def test_output_is_looked_at_before_the_work(inside, monkeypatch):
    """An hour of fitting must not end in a folder that is not there."""
    monkeypatch.setattr(PCA, "fit", None)
    for output in ("nowhere/model.skops", "model.pkl"):
        code, _, err = inside("fit", "pca", "wine.csv", "-o", output)
        assert code == 1
        assert "nowhere" in err or ".skops" in err


def test_an_error_of_ours_is_told_apart(inside, monkeypatch):
    def broken(self, *args, **given):
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr(PCA, "_fit", broken)
    code, _, err = inside("fit", "pca", "wine.csv")
    assert code == 1
    assert "ZeroDivisionError: by chance" in err
    assert "--debug" in err


def test_names_cannot_steer_the_terminal(inside, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('"\x1b[31mred","[bold]b[/bold]"\n1,2\n3,5\n4,1\n', encoding="utf-8")
    out = fine(inside("fit", "pca", path))
    assert "\x1b" not in out
    assert "[bold]b[/bold]" in out
    _, _, err = inside("fit", "pca", path, "--columns", "\x1b[31mx")
    assert "\x1b" not in err


def test_interrupt_leaves_no_half_written_file(tmp_path):
    """Ctrl-C in the middle of the writing: the old file stays, no other appears."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "big.npy", rng.normal(size=(3_000_000, 8)))
    eigenlens.save(PCA(4).fit(rng.normal(size=(50, 8))), tmp_path / "model.skops")
    (tmp_path / "scores.csv").write_text("old")
    command = [sys.executable, "-m", "eigenlens.cli", "transform", "model.skops", "big.npy"]
    process = subprocess.Popen(
        [*command, "-o", "scores.csv"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.iterdir())) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)  # until the temporary file is there
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "eigenlens: stopped; nothing was written.\n"
    assert (tmp_path / "scores.csv").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3


def test_progress_is_shown_on_a_terminal_after_a_second(monkeypatch, capsys):
    from eigenlens.cli import _progress
    from eigenlens.data.blocks import ArrayBlocks

    class Terminal:
        def __init__(self, stream):
            self.stream = stream

        def __getattr__(self, name):
            return getattr(self.stream, name)

        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    monkeypatch.setenv("TERM", "xterm")
    for patience, shown in ((60.0, False), (0.0, True)):
        monkeypatch.setattr(_progress, "PATIENCE", patience)
        with _progress.Progress("reading") as progress:
            rows = list(progress.rows(ArrayBlocks(X)))
            time.sleep(0.2)
        assert_allclose(np.concatenate(rows), X)
        assert ("reading: 178 rows read" in capsys.readouterr().err) == shown
    with _progress.Progress("pca") as progress:
        wide = np.random.default_rng(0).normal(size=(900, 420))
        PCA(3, svd_solver="arpack", random_state=0).set_callbacks(progress).fit(wide)
        time.sleep(0.2)
    assert "iterations" in capsys.readouterr().err
