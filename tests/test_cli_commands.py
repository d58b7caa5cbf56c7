"""The commands beside fit: denoise, separate, compare and plot, of tables, images and videos."""

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from commands import fine, require_good_mistake, script
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eigenlens
from eigenlens import PCA, KernelPCA, RobustPCA
from eigenlens._text import command_name
from eigenlens.cli import ORDER, _methods, app
from eigenlens.cli.plot import Kinds
from eigenlens.data.pictures import PictureWriter
from eigenlens.data.writing import Writer, named
from eigenlens.measure.comparison import COLUMNS, Compared, Comparison
from tools import cli_pages

WINE = load_wine()
X, NAMES = WINE.data[::2], list(WINE.feature_names)
CLASSES = np.array(["red", "white", "rosé"])[WINE.target][::2]
WRONG = (3, 5, 60.0)  # a gross error, where it is and what it adds


def low_rank():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 12))
    table[WRONG[0], WRONG[1]] += WRONG[2]
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with tables, models, a folder of images and a video."""
    folder = tmp_path_factory.mktemp("tables")
    table = named(X, NAMES).append_column("kind", pa.array(CLASSES))
    pa.csv.write_csv(table, folder / "wine.csv")
    for name, rows in (("wrong.csv", low_rank()), ("digits.npy", load_digits().data[:60])):
        with Writer(folder / name, [f"x{j}" for j in range(rows.shape[1])]) as writer:
            writer.write(rows)
    np.save(folder / "holes.npy", np.where(np.eye(12)[:, :5], np.nan, low_rank()[:12, :5]))
    eigenlens.save(
        make_pipeline(StandardScaler(), PCA(3)).fit(named(X, NAMES)), folder / "wine.skops"
    )
    eigenlens.save(PCA(4).fit(load_digits().data[:60]), folder / "digits.skops")
    (folder / "nonsense.mp4").write_bytes(b"nonsense")
    return folder


@pytest.fixture(scope="module")
def pictures(folder):
    """Return the same folder, with images and a video: a still background, and what moves."""
    for name in ("street", "street.mkv"):
        with PictureWriter(folder / name, (8, 10), frame_rate=5) as film:
            film.write(street())
    (folder / "mixed").mkdir()
    for source, name in (("000000", "a"), ("000001", "b")):
        shutil.copy(folder / f"street/{source}.png", folder / f"mixed/{name}.png")
    (folder / "mixed/b.png").write_bytes((folder / "street/000001.png").read_bytes()[:50])
    return folder


def street():
    """Return frames of a background of rank 1 with a bright square that moves."""
    light = np.linspace(100, 160, 24).round()
    frames = np.repeat(light, 80).reshape(24, 8, 10)
    for i in range(24):
        frames[i, i % 7 : i % 7 + 2, (3 * i) % 9 : (3 * i) % 9 + 2] = 250
    return frames.reshape(24, 80)


# -------------------------------------------------------------------------------- as a user


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("denoise pca wine.csv --n-components 2 -o {}/clean.csv --json", "taken_away"),
        ("separate wrong.csv --low-rank {}/l.csv --sparse {}/s.npy --json", "errors"),
        ("compare wine.csv --methods pca --n-components 2 -o {}/table.csv --json", "methods"),
        ("plot loadings wine.skops -o {}/picture.png --json", "weights"),
    ],
    ids=lambda value: value.split()[0],
)
def test_the_script(folder, tmp_path, line, key):
    made = script(folder, *line.format(tmp_path, tmp_path).split())
    assert (made.returncode, made.stderr) == (0, b"")
    assert key in json.loads(made.stdout)
    assert all(path.stat().st_size for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == line.count("{}")


def test_from_a_csv_to_an_answer_in_five_commands(inside, folder, tmp_path, monkeypatch):
    """The head of docs/cli.md, command by command."""
    text = cli_pages.PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ eigenlens (.*)$", text.split("## Other")[0], re.MULTILINE)
    assert len(commands) == 5
    shutil.copy(folder / "wine.csv", tmp_path / "wine.csv")
    shutil.copy(folder / "wine.csv", tmp_path / "new.csv")
    monkeypatch.chdir(tmp_path)
    for command in commands:
        quick = ["--methods", "pca"] if command.startswith("report") else []
        fine(inside(*command.split(), *quick))
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"wine.csv", "new.csv", "wine.html", "wine.skops", "wine.png", "scores.csv"}
    expected = make_pipeline(StandardScaler(), PCA(3)).fit_transform(X)
    assert_allclose(eigenlens.open(tmp_path / "scores.csv").read(), expected, atol=1e-8)


def test_help_pages_are_current():
    text = cli_pages.PAGE.read_text(encoding="utf-8")
    assert text == cli_pages.with_pages(text), "run: python tools/cli_pages.py --write"
    assert "umap" not in text


def test_help_lists_every_command_in_order(inside):
    assert {command.name or command.callback.__name__ for command in app.registered_commands} | {
        group.name for group in app.registered_groups
    } == set(ORDER.split())
    listed = re.findall(r"^  (\w+)  ", fine(inside("--help")).split("Commands:")[1], re.MULTILINE)
    assert listed == ORDER.split()


@pytest.mark.parametrize("command", [[], ["denoise"], ["plot"]], ids=str)
def test_a_command_without_arguments_explains_itself(inside, command):
    code, out, err = inside(*command)
    assert (code, err) == (2, "")
    assert out == fine(inside(*command, "--help"))


# -------------------------------------------------------------------------------- denoise


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_denoise_is_there_and_back(inside, tmp_path, ending):
    out = tmp_path / f"clean.{ending}"
    said = fine(inside("denoise", "pca", "wine.csv", "--scale", "standard", "--n-components", 3,
                       "-o", out))  # fmt: skip
    model = make_pipeline(StandardScaler(), PCA(3))
    assert_allclose(
        eigenlens.open(out).read(), model.inverse_transform(model.fit_transform(X)), atol=1e-8
    )
    share = 1 - model[-1].explained_variance_ratio_.sum()
    assert f"Taken away: {100 * share:.1f} % of the variance" in said
    assert "Left out: kind (text)" in said


def test_denoise_keeps_what_stands_out_of_the_noise(inside, tmp_path):
    how = ("--scale", "standard", "-o", tmp_path / "clean.npy", "--json")
    found = json.loads(fine(inside("denoise", "pca", "wine.csv", *how)))
    rank = json.loads(fine(inside("rank", "wine.csv", "--json")))
    assert found["n_components"] == rank["k"] < len(NAMES)


def test_denoise_by_a_model_and_by_a_kernel(inside, tmp_path):
    out = tmp_path / "clean.npy"
    found = json.loads(fine(inside("denoise", "wine.skops", "wine.csv", "-o", out, "--json")))
    model = make_pipeline(StandardScaler(), PCA(3)).fit(X)
    assert_allclose(np.load(out), model.inverse_transform(model.transform(X)), atol=1e-8)
    assert (found["method"], found["rows"], found["columns"]) == ("PCA", len(X), len(NAMES))
    table = fine(inside("denoise", "wine.skops", "wine.csv"))  # to standard output, alone
    assert_allclose(
        np.loadtxt(table.splitlines(), delimiter=",", skiprows=1), np.load(out), rtol=1e-12
    )
    how = ("--kernel", "rbf", "--gamma", "0.01", "--n-components", 2, "-o", out)
    fine(inside("denoise", "kernel-pca", "wrong.csv", *how))
    kernel = KernelPCA(2, kernel="rbf", gamma=0.01, preimage="auto").fit(low_rank())
    assert_allclose(np.load(out), kernel.denoise(low_rank()), rtol=1e-6, atol=1e-8)


def test_every_method_with_a_way_back_can_denoise(inside):
    known = _methods.by_command()
    listed = fine(inside("denoise", "--help"))
    for name, method in known.items():
        assert (re.search(rf"^  {name}  ", listed, re.MULTILINE) is not None) == method.way_back


def test_help_and_mistakes_do_not_import_what_takes_seconds(inside, folder, tmp_path, monkeypatch):
    (tmp_path / "umap.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert re.search(r"^  umap  ", fine(inside("denoise", "--help")), re.MULTILINE)
    for line, words in (
        ("denoise umpa wine.csv", ["Did you mean 'umap'"]),
        ("fit pca wine.csv --perplexity 5", ["It is one of tsne"]),
    ):
        require_good_mistake(inside, folder, line, 2, words)


# -------------------------------------------------------------------------------- separate


def test_separate_names_the_cell_that_is_wrong(inside, tmp_path):
    low, sparse = tmp_path / "low.parquet", tmp_path / "sparse.csv"
    said = fine(inside("separate", "wrong.csv", "--low-rank", low, "--sparse", sparse))
    model = RobustPCA().fit(low_rank())
    assert_allclose(eigenlens.open(low).read(), model.low_rank_, atol=1e-9)
    assert_allclose(eigenlens.open(sparse).read(), model.sparse_, atol=1e-9)
    assert f"rank {model.rank_}" in said
    assert str(model.certificate_) in said.replace("\n", " ")
    found = json.loads(fine(inside("separate", "wrong.csv", "--json")))
    assert found["rank"] == model.rank_
    assert found["support_fraction"] == pytest.approx(model.support_fraction_)
    worst = found["errors"][0]
    assert (worst["row"], worst["column"]) == (WRONG[0], f"x{WRONG[1]}")
    truth = low_rank()[WRONG[0], WRONG[1]]
    assert worst["value"] == pytest.approx(truth)
    assert worst["expected"] == pytest.approx(truth - WRONG[2], abs=1)
    assert len(found["errors"]) <= 10


def test_separate_in_other_units(inside, tmp_path):
    """Parts are in the units of the table, whatever the scale of the fit."""
    low, sparse = tmp_path / "low.npy", tmp_path / "sparse.npy"
    how = ("--scale", "standard", "--low-rank", low, "--sparse", sparse, "--seed", 0, "--json")
    found = json.loads(fine(inside("separate", "wine.csv", *how)))
    model = RobustPCA(random_state=0).fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert_allclose(np.load(low), model.low_rank_ * X.std(axis=0) + X.mean(axis=0), rtol=1e-7)
    assert_allclose(np.load(sparse), model.sparse_ * X.std(axis=0), rtol=1e-7, atol=1e-7)
    sizes = np.abs(model.sparse_)
    row, j = np.unravel_index(sizes.argmax(), sizes.shape)
    worst = found["errors"][0]
    assert (worst["row"], worst["column"]) == (row, NAMES[j])
    assert worst["value"] == X[row, j]


def test_separate_takes_the_options_of_robust_pca(inside):
    found = json.loads(fine(inside("separate", "wrong.csv", "--n-components", 2, "--json")))
    assert (found["solver"], found["rank"]) == ("altproj", 2)
    text = fine(inside("separate", "--help"))
    assert all(
        option in text for option in ("--lam", "--outliers", "--no-center", "--noise", "--low-rank")
    )


# -------------------------------------------------------------------------------- compare


def test_compare_shows_the_table_at_any_width(inside, tmp_path, monkeypatch):
    rows = (
        Compared("PCA", "eigenlens", 3, "asked for", 0.41, 0.91, 0.95, 0.5, 0.8, 0.21, 0.31, 0.97,
                 0.0, 0.99, 0.02, 1.5, "gap <= 1e-9: holds"),
        Compared("LinearDiscriminantAnalysis", "scikit-learn", 2, "asked for", silhouette=0.6),
        Compared("NMF", error="=Not done in its 3 s. Raise budget, or give fewer rows."),
    )  # fmt: skip
    asked = {}

    def compare(X, **options):
        asked.update(options, shape=X.shape)
        return Comparison(rows, 4.0)

    monkeypatch.setattr(eigenlens, "compare", compare)
    out = tmp_path / "table.csv"
    how = ("--methods", "pca,nmf", "--target", "kind", "--budget", 9, "--n-components", 0.9)
    said = fine(inside("compare", "wine.csv", *how, "-o", out))
    assert asked["methods"] == ["PCA", "NMF"]
    assert (asked["budget"], asked["n_components"], asked["shape"]) == (9, 0.9, X.shape)
    assert list(asked["y"]) == list(CLASSES)
    table, _, notes = said.partition("asked for.")
    assert max(map(len, table.splitlines())) <= 80
    assert table.count("method ") == 3  # tables, one under another
    assert "0.6*" in table
    assert "nmf: =Not done in its 3 s. Raise budget" in notes
    monkeypatch.setenv("COLUMNS", "200")
    assert fine(inside("compare", "wine.csv", *how)).count("method ") == 1
    written = pa.csv.read_csv(out).to_pylist()
    assert [row["method"] for row in written] == [row.method for row in rows]
    assert written[2]["error"].startswith("'=Not done")  # no spreadsheet runs it
    assert written[0]["reconstruction_error"] == 0.41
    found = json.loads(fine(inside("compare", "wine.csv", "--json")))
    assert found["methods"][1]["reconstruction_error"] is None
    assert tuple(found["methods"][1]) == COLUMNS
    assert asked["methods"] == "all"


# -------------------------------------------------------------------------------- plot


def test_pictures_are_those_of_the_room():
    kinds = Kinds.members()
    assert "scree" in kinds
    for name in eigenlens.plot.__all__:
        display = getattr(eigenlens.plot, name)
        made = any(hasattr(display, way) for way in ("from_estimator", "from_data"))
        assert (command_name(name.removesuffix("Display")) in kinds) == made


def test_plot(inside, tmp_path):
    image = tmp_path / "scores.png"
    how = ("--target", "kind", "--components", "1,2", "-o", image)
    assert fine(inside("plot", "scores", "wine.skops", "wine.csv", *how)) == f"Wrote {image}\n"
    assert image.read_bytes().startswith(b"\x89PNG")
    fine(inside("plot", "correlation", "wine.csv", "--drop", "hue", "-o", tmp_path / "c.svg"))
    text = (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert "<svg" in text
    found = json.loads(fine(inside("plot", "scree", "digits.skops", "--json")))
    assert len(found["shares"]) >= found["kept"] == 4
    fine(inside("plot", "scree", "digits.skops", "-o", tmp_path / "scree.pdf"))
    assert (tmp_path / "scree.pdf").read_bytes().startswith(b"%PDF")


def test_plot_of_images(inside, tmp_path):
    how = ("--image", "8x8", "--most", 3, "-o", tmp_path / "a.png")
    fine(inside("plot", "component-images", "digits.skops", *how))
    how = ("--image", "8x8", "--row", 2, "--json")
    found = json.loads(fine(inside("plot", "parts", "digits.skops", "digits.npy", *how)))
    assert found


def test_plot_without_matplotlib(inside, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = inside("plot", "scree", "digits.skops", "-o", "never.png")
    assert code == 1
    assert "pip install 'eigenlens[plot]'" in err


# -------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize("source", ["street", "street.mkv"])
def test_what_stays_and_what_moves(inside, pictures, tmp_path, source):
    low, sparse = (tmp_path / f"{part}{Path(source).suffix}" for part in ("still", "moves"))
    how = ("--low-rank", low, "--sparse", sparse, "--json")
    found = json.loads(fine(inside("separate", source, *how)))
    frames = street()
    moves = frames == 250
    still = eigenlens.open(low)
    assert still.image_shape == (8, 10)
    light = np.linspace(100, 160, 24).round()
    assert np.median(np.abs(still.read() - light[:, None])) <= 1
    seen = eigenlens.open(sparse).read()
    assert seen[moves].min() > 150 > 128 == np.median(seen[~moves])
    assert found["errors"][0]["name"] == (None if source.endswith("mkv") else "000000")
    if source == "street":
        assert still.row_names == eigenlens.open(pictures / source).row_names


def test_denoise_images(inside, pictures, tmp_path):
    out = tmp_path / "clean"
    fine(inside("denoise", "pca", "digits.npy", "--image", "8x8", "--n-components", 5, "-o", out))
    assert eigenlens.open(out).shape == (60, 64)
    model, scores, back = (tmp_path / name for name in ("m.skops", "s.npy", "back"))
    fine(inside("fit", "pca", "street", "--n-components", 2, "-o", model))
    fine(inside("transform", model, "street.mkv", "-o", scores))
    fine(inside("inverse", model, scores, "-o", back))  # the model knows that it was of images
    assert eigenlens.open(back).image_shape == (8, 10)


def test_report_knows_images_and_the_budget(inside, monkeypatch, tmp_path):
    from eigenlens.report.report import Report

    asked = {}
    monkeypatch.setattr(Report, "of", lambda X, **options: asked.update(options) or Report({}))
    fine(inside("report", "digits.npy", "--image", "8x8", "--budget", 7, "--json"))
    assert (asked["image_shape"], asked["budget"]) == ((8, 8), 7)


# -------------------------------------------------------------------------------- mistakes

MISTAKES = [
    # arguments, exit code, words that the message must have
    ("denoise wine.csv", 2, ["Name a method before the data", "eigenlens denoise pca wine.csv"]),
    ("denoise isomap wine.csv -o a.csv", 2, ["isomap has no way back", "robust-pca"]),
    ("denoise pcb wine.csv", 2, ["Did you mean 'pca'"]),
    ("denoise pca wine.csv --json", 2, ["give -o"]),
    ("denoise pca wine.csv -o a.xlsx", 1, [".csv", "Give the output one of them"]),
    ("denoise pca wine.csv -o folder", 1, ["--image HxW"]),
    ("denoise pca wine.csv -o nowhere/a.csv", 1, ["nowhere", "Create it"]),
    ("denoise pca wine.csv -o a --image 3x3", 1, ["3x3 has 9 values", "13 columns"]),
    ("denoise pca wine.csv -o a --image 3by3", 2, ["--image", "HxW"]),
    ("denoise pca wine.csv --scale normalize -o a.csv", 2, ["normalize cannot be undone"]),
    ("denoise pca holes.npy --n-components 2 -o a.csv", 1, ["holes", "--missing em"]),
    ("denoise pca wine.csv --lam 3 -o a.csv", 2, ["pca has no option --lam", "robust-pca"]),
    ("denoise nothing.skops wine.csv -o a.csv", 1, ["nothing.skops"]),
    ("denoise wine.skops wrong.csv -o a.csv", 1, ["wrong.csv has no column 'alcohol'"]),
    ("separate nothing.csv", 1, ["nothing.csv", "Check its name"]),
    ("separate wine.csv --low-rank a.csv --sparse a.csv", 2, ["same file", "Give two"]),
    ("separate wine.csv --low-rank -", 2, ["--low-rank asks for a file"]),
    ("separate wine.csv --sparse a.docx", 1, ["a.docx", ".parquet"]),
    ("separate wine.csv --solver simplex", 2, ["solver", "'altproj'"]),
    ("separate wine.csv --alpha 1", 2, ["--alpha"]),
    ("separate nonsense.mp4", 1, ["nonsense.mp4", "Make or fetch it anew"]),
    ("compare wine.csv --methods pcb", 2, ["Did you mean 'pca'"]),
    ("compare wine.csv --budget long", 2, ["--budget", "number"]),
    ("compare wine.csv -o a.docx", 1, ["a.docx", ".csv"]),
    ("plot scre wine.skops -o a.png", 2, ["Did you mean 'scree'"]),
    ("plot zzz wine.skops -o a.png", 2, ["There are: ", "biplot"]),
    ("plot scree wine.skops", 2, ["Give -o picture.png"]),
    ("plot scree wine.skops -o a.docx", 2, [".png, .svg, .pdf"]),
    ("plot scree wine.csv -o a.png", 1, ["wine.csv is damaged or no model"]),
    ("plot biplot wine.skops -o a.png", 2, ["DATA"]),
    ("plot scores wine.skops wine.csv --target nothing -o a.png", 1, ["'nothing'", "It has"]),
    ("plot scores wine.skops wine.csv --components 0,9 -o a.png", 1, ["components=(0, 9)"]),
    ("plot biplot wine.skops wine.csv --most x -o a.png", 2, ["--most asks for a whole number"]),
    ("plot biplot wine.skops wine.csv --components 0 -o a.png", 2, ["2 whole numbers, such as"]),
    ("plot loadings wine.skops --kind pie -o a.png", 2, ["--kind asks for bars or heatmap", "pie"]),
    ("inspect nothing.skops", 1, ["There is no file 'nothing.skops'", "Check its name"]),
    ("plot scree digits.skops -o nowhere/a.png", 1, ["nowhere", "Create it"]),
    ("plot component-images digits.skops --image 9x9 -o a.png", 1, ["64"]),
    ("report street.txt", 1, ["street.txt", "Check its name"]),
]
PICTURES = [
    ("separate mixed", 1, ["b.png is damaged or cut off"]),
    ("separate street --low-rank street", 1, ["not empty", "give a new name"]),
    ("denoise pca street/000000.png", 1, ["one image", "Give the folder"]),
    ("denoise pca street -o odd.mp4 --image 16x5", 1, ["even sides", ".mkv"]),
    ("fit pca street --image 8x10", 2, ["--image"]),
]


@pytest.mark.parametrize(("line", "code", "words"), MISTAKES, ids=[line for line, *_ in MISTAKES])
def test_mistakes(folder, inside, line, code, words):
    require_good_mistake(inside, folder, line, code, words)


@pytest.mark.parametrize(("line", "code", "words"), PICTURES, ids=[line for line, *_ in PICTURES])
def test_mistakes_with_pictures(pictures, inside, line, code, words):
    require_good_mistake(inside, pictures, line, code, words)


# -------------------------------------------------------------------------------- spreadsheets

NASTY = ["=cmd|' /C calc'!A0", "+1+1", "-x", "@SUM(A1)", "'=quoted", "-5", "'plain", "height"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_names_that_a_spreadsheet_would_run(tmp_path, ending):
    path, numbers = tmp_path / f"out.{ending}", np.array([[-1.5] * 8, [2.0] * 8])
    with Writer(path, NASTY) as writer:
        writer.write(numbers)
    header, first, _ = path.read_text().splitlines()
    sign = "," if ending == "csv" else "\t"
    cells = [cell.strip('"') for cell in header.split(sign)]
    assert all(cell == "-5" or cell[0] not in "=+-@" for cell in cells)
    assert first == sign.join(["-1.5"] * 8)
    again = eigenlens.open(path)
    assert again.names == tuple(NASTY)
    assert_allclose(again.read(), numbers)


def test_a_model_finds_nasty_names_in_what_we_wrote(inside, tmp_path):
    table = tmp_path / "nasty.csv"
    with Writer(table, NASTY) as writer:
        writer.write(np.random.default_rng(0).normal(size=(30, 8)))
    fine(inside("fit", "pca", table, "--n-components", 2, "-o", tmp_path / "m.skops"))
    fine(inside("denoise", tmp_path / "m.skops", table, "-o", tmp_path / "clean.csv"))
    fine(inside("denoise", tmp_path / "m.skops", tmp_path / "clean.csv", "-o", tmp_path / "c2.csv"))
    once, twice = (eigenlens.open(tmp_path / name).read() for name in ("clean.csv", "c2.csv"))
    assert_allclose(once, twice, atol=1e-12)
