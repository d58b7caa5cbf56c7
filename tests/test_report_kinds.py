"""Five kinds of reports: what each must say of a table whose truth is known."""

import itertools
import json
import shlex

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import eigenlens
from eigenlens import Report
from eigenlens.cli import app
from eigenlens.cli._run import run
from eigenlens.measure.comparison import Compared, Comparison
from eigenlens.report import compared, rows

NAMES = [f"c{j}" for j in range(10)]


def made(X, **options):
    """Return the dict of a report, after a trip through its formats; methods are not compared."""
    report = Report.of(X, **{"compare": False} | options)
    assert report.to_html().startswith("<!DOCTYPE html>")
    assert json.loads(report.to_json()) == report.data
    require_sound(report.data)
    return report.data


def require_sound(data):
    """Every number of the advice is where the advice says, and lists have one entry a row."""
    for one in data["advice"]:
        assert one["number"] in one["text"]
        assert one["number"] in shown(data, one["where"])
    drawn = len(data["rows"]["names"])
    assert {len(column) for column in data["scores"]} == {drawn}
    assert len(data["rows"]["values"]) == drawn
    assert {len(row) for row in data["rows"]["values"]} == {len(data["rows"]["columns"])}
    for colour in data["rows"]["colours"]:
        assert len(colour.get("numbers") or colour["classes"]) == drawn
    for section in data["methods"]:
        assert {len(column) for column in section.get("scores", [])} <= {drawn}
    assert len(data["findings"]) <= 6


def shown(data, where):
    """Return what the page shows under an id."""
    if where == "comparison":
        rows = [row["values"].values() for row in data["comparison"]["rows"]]
        return [f"{value:.3g}" for row in rows for value in row if value is not None]
    section = data["methods"][int(where.removeprefix("method"))]
    return " ".join(section["adds"] + section["sentences"])


def advice(data, purpose):
    return next(one for one in data["advice"] if one["for"] == purpose)


def section(data, name):
    return next(one for one in data["methods"] if one["name"] == name)


def low_rank(n=120, d=10, rank=2, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return 50 + 4 * (X + noise * rng.standard_normal((n, d)))


# ------------------------------------------------------------------------------ all numbers


@pytest.fixture(scope="module")
def wrong():
    """A table with wrong cells, of which one is by far the worst, and what should be there."""
    truth, rng = low_rank(), np.random.default_rng(1)
    X = truth.copy()
    X[rng.random(X.shape) < 0.02] += 30
    X[17, 4] = truth[17, 4] + 400
    return made(X, names=NAMES, methods=["RobustPCA", "SparsePCA"]), X, truth


def test_wrong_cells_are_listed_with_what_was_expected(wrong):
    data, X, truth = wrong
    found = section(data, "RobustPCA")
    first = found["cells"][0]
    assert (first["row"], first["column"]) == ("17", "c4")
    assert first["value"] == pytest.approx(X[17, 4])
    assert first["expected"] == pytest.approx(truth[17, 4], abs=4)
    sizes = [abs(cell["deviations"]) for cell in found["cells"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 15
    planted = {(str(i), NAMES[j]) for i, j in np.argwhere(truth != X)}
    assert {(cell["row"], cell["column"]) for cell in found["cells"]} <= planted
    assert found["far"] == pytest.approx(len(planted), abs=3)
    assert found["rows"]


def test_outliers_that_bend_lead_to_robust(wrong):
    said = advice(wrong[0], "outliers")
    assert said["method"] == "RobustPCA"
    assert said["text"] in wrong[0]["findings"]
    clean = made(low_rank(), methods=["RobustPCA"])
    assert advice(clean, "outliers")["method"] == "PCA"


def test_correlations_and_arrows(wrong):
    data, X, _ = wrong
    found = data["correlation"]
    R = np.corrcoef(X.T)
    order = [NAMES.index(name) for name in found["names"]]
    assert sorted(order) == list(range(10))
    np.testing.assert_allclose(found["matrix"], R[np.ix_(order, order)], atol=6e-4)
    sizes = [abs(pair["r"]) for pair in found["pairs"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 15
    assert sizes[0] == pytest.approx(np.abs(R[np.triu_indices(10, 1)]).max())
    assert len(data["biplot"]["arrows"]) == 10
    assert len(data["biplot"]["arrows"][0]["loadings"]) == len(data["scores"])


def test_columns_that_belong_together_are_side_by_side():
    rng = np.random.default_rng(0)
    groups = np.arange(60) % 3
    X = rng.standard_normal((80, 3))[:, groups] + 0.5 * rng.standard_normal((80, 60))
    found = made(X, methods=())["correlation"]
    assert (len(found["names"]), found["more"]) == (40, 20)
    seen = [groups[int(name[1:])] for name in found["names"]]
    assert sum(a != b for a, b in itertools.pairwise(seen)) == 2


def test_sparse_truth_is_read():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((150, 3)) * 3
    X = 0.3 * rng.standard_normal((150, 12))
    for j in range(3):
        X[:, 3 * j : 3 * j + 3] += Z[:, [j]]
    data = made(X, n_components=3, methods=["SparsePCA"])
    found = section(data, "SparsePCA")
    read = {line.split(": ")[1] for line in found["readable"]}
    assert all(line.endswith("(3 of 12 columns)") for line in read)
    assert {frozenset(line.split(" (")[0].split(", ")) for line in read} == {
        frozenset(f"x{3 * j + i}" for i in range(3)) for j in range(3)
    }
    assert advice(data, "reading")["method"] == "SparsePCA"
    assert "9 of 12 columns suffice" in " ".join(found["adds"])


def test_circles_lead_to_a_map():
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, (240, 4))
    X = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    X += 0.02 * rng.standard_normal(X.shape)
    data = made(X, methods=["Isomap", "TSNE"], scale="none")
    said = advice(data, "seeing")
    assert said["method"] in ("Isomap", "TSNE")
    found = section(data, said["method"])["map"]
    assert found["neighbours_kept"] > data["map"]["neighbours_kept"] + 0.05


def test_classes_on_circles_lead_to_a_kernel():
    rng = np.random.default_rng(0)
    inner = rng.random(300) < 0.5
    angle, radius = rng.uniform(0, 2 * np.pi, 300), np.where(inner, 0.4, 1.0)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.03 * rng.standard_normal(X.shape)
    target = pd.Series(np.where(inner, "in", "out"), name="ring")
    data = made(X, methods=["KernelPCA"], target=target)
    said = advice(data, "classes")
    assert said["method"] == "KernelPCA"
    assert section(data, "KernelPCA")["between"][0] > 0.5
    plain = made(X, methods=["KernelPCA"])
    assert advice(plain, "seeing")["method"] == "PCA"  # two columns are a plane already


# ------------------------------------------------------------------------ mixed, with holes


def mixed(n=150):
    rng = np.random.default_rng(0)
    group = np.arange(n) % 3
    X = low_rank(n, 6, rank=1, noise=0.3)
    X[:, :3] += 12 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])[group]
    X[rng.random(X.shape) < 0.05] = np.nan
    frame = pd.DataFrame(X, columns=[f"<b>{name}</b>" for name in "abcdef"])
    frame["place"] = np.array(["north", "south"])[group % 2]
    frame["when"] = pd.date_range("2024-01-01", periods=n)
    frame["note"] = [f"{i} {'long ' * 40}" for i in range(n)]
    frame["kind"] = pd.Categorical(np.array(["p", "q", "r"])[group])
    frame.loc[3, "place"] = None
    return pd.concat([frame, frame.iloc[[5, 5]]], ignore_index=True)


@pytest.fixture(scope="module")
def mix():
    frame = mixed()
    target = frame.pop("kind")
    methods = ["SparsePCA", "LinearDiscriminantAnalysis", "KernelPCA"]
    return made(frame, target=target, methods=methods, compare=True)


def test_mixed_table_says_what_is_in_it(mix):
    quality = mix["quality"]
    texts = {text["name"]: text for text in quality["text"]}
    assert texts["place"] == {
        "name": "place",
        "kind": "text",
        "levels": 2,
        "holes": pytest.approx(1 / 152),
        "examples": ["north", "south"],
    }
    assert texts["when"]["kind"] == "date"
    assert texts["note"]["levels"] == 150
    assert quality["duplicates"] == {"count": 2, "examples": [["5", "150", "151"]]}
    said = " ".join(quality["sentences"])
    assert "2 rows are the same as one before, such as 5, 150 and 151." in said
    assert not quality["counts"]
    assert mix["rows"]["columns"][:2] == ["place", "when"]
    assert "note" not in mix["rows"]["columns"]
    assert mix["rows"]["values"][0][:2] == ["north", "2024-01-01"]
    assert mix["rows"]["values"][3][0] == "–"
    assert [colour["name"] for colour in mix["rows"]["colours"]][:2] == ["kind", "place"]


def test_planted_groups_separate(mix):
    assert "(p, q and r) separate on component" in " ".join(mix["seen"]["scores"])
    rows = mix["comparison"]["rows"]
    assert [row["method"] for row in rows] == [
        "PCA",
        "SparsePCA",
        "LinearDiscriminantAnalysis",
        "KernelPCA",
    ]
    assert all(not row["error"] for row in rows)
    assert advice(mix, "classes")["where"] == "comparison"
    assert advice(mix, "reconstruction")["number"] == (
        f"{rows[0]['values']['reconstruction_error']:.3g}"
    )
    assert mix["comparison"]["rows_used"] == 152
    assert mix["comparison"]["held_out"] == 38
    keys = [column["key"] for column in mix["comparison"]["columns"]]
    assert set(rows[0]["values"]) == set(keys)
    assert any("knn_accuracy" in row["best"] for row in rows)


def test_methods_that_take_no_holes_have_no_shell_line(mix):
    assert section(mix, "SparsePCA")["shell"] is None
    assert "pca.impute(Z)" in section(mix, "SparsePCA")["python"]


# ------------------------------------------------------------------------------------ images


def test_images():
    digits = load_digits()
    some = np.flatnonzero(digits.target < 4)[:240]
    target = [f"digit {y}" for y in digits.target[some]]
    methods = ["NMF", "RobustPCA"]
    data = made(digits.data[some], target=target, image_shape=(8, 8), methods=methods)
    assert data["image"] == {"height": 8, "width": 8, "channels": 1, "given": [8, 8]}
    images = data["images"]
    np.testing.assert_allclose(images["mean"], digits.data[some].mean(axis=0), rtol=6e-3)
    assert {len(one) for one in images["components"]} == {64}
    assert len(images["rows"]) == 4  # one of each class
    first = images["rows"][0]
    i = int(first["row"])
    np.testing.assert_allclose(first["before"], digits.data[some][i])
    off = np.subtract(first["after"], first["before"])
    assert np.linalg.norm(off) < 0.6 * np.linalg.norm(digits.data[some][i])
    for name in methods:
        found = section(data, name)
        assert "weights" not in found
        assert {len(one) for one in found["images"]["components"]} == {64}
        assert found["images"]["rows"]
    assert np.min(section(data, "NMF")["images"]["components"]) >= 0
    assert data["correlation"] is None
    assert data["rows"]["columns"] == []
    assert len(json.dumps(data)) < 700_000
    assert "ComponentImagesDisplay" in data["lines"]["images"]["python"]
    with pytest.raises(ValueError, match="image_shape=7 x 9 does not make up the 64 columns"):
        Report.of(digits.data[some], image_shape=(7, 9))


def test_large_images_are_made_small():
    X = np.random.default_rng(0).standard_normal((12, 70 * 40 * 3))
    data = made(X, image_shape=(70, 40, 3), methods=())
    image = data["image"]
    assert image == {"height": 32, "width": 32, "channels": 3, "given": [70, 40]}
    flat = made(np.ones(70 * 40 * 3) + X[:, :1], image_shape=(70, 40, 3), methods=())
    assert set(flat["images"]["mean"]) == {float(f"{1 + X[:, 0].mean():.3g}")}
    assert len(data["images"]["mean"]) == 32 * 32 * 3


# ------------------------------------------------------------------------------------ counts


def test_counts_have_parts():
    rng = np.random.default_rng(0)
    parts = np.kron(np.eye(3), np.ones((1, 4))) * 9
    X = rng.poisson(rng.exponential(size=(120, 3)) @ parts).astype(float)
    data = made(X, n_components=3, methods="all", random_state=1)
    assert data["quality"]["counts"]
    assert "All values are whole numbers from 0 to" in data["findings"][2]
    found = section(data, "NMF")
    assert found["python"].endswith("nmf = NMF(n_components=3, random_state=1).fit(X)")
    assert found["shell"] == "eigenlens fit nmf DATA --n-components 3 --seed 1 -o nmf.skops"
    assert advice(data, "parts")["method"] == "NMF"
    blocks = [
        {name.split(" ")[0] for name in line.split(": ")[1].split(", ")[:4]}
        for line in found["readable"]
    ]
    wanted = [{f"x{4 * j + i}" for i in range(4)} for j in range(3)]
    assert sorted(map(sorted, blocks)) == sorted(map(sorted, wanted))
    assert not data["budget"]["left_out"]


def test_signed_tables_have_none():
    data = made(low_rank(60, 5) - 50, methods="all")
    names = [one["name"] for one in data["methods"]]
    assert "RobustPCA" in names
    assert "NMF" not in names
    out = {one["name"]: one for one in data["budget"]["left_out"]}
    assert set(out) == {"NMF"}
    assert "5 columns have such values (x0, x1, x2 and 2 more)" in out["NMF"]["why"]
    assert "--scale minmax" in out["NMF"]["shell"]


# ---------------------------------------------------------------------------- wide, and time


def test_wide_table_keeps_its_budget():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((64, 2)) @ rng.standard_normal((2, 5000))
    X += rng.standard_normal(X.shape)
    report = Report.of(X, budget=8)
    data = report.data
    assert data["budget"]["used"] < 16
    assert {one["what"] for one in data["times"]} >= {"PCA", "comparison", "writing it down"}
    said = {one["name"] for one in data["methods"] + data["budget"]["left_out"]}
    assert {"RobustPCA", "SparsePCA", "TSNE", "NMF", "Isomap"} <= said
    for out in data["budget"]["left_out"]:
        assert out["why"]
        assert out["shell"].startswith("eigenlens fit ")
        assert out["python"].startswith(("from eigenlens", "import"))
    assert data["correlation"]["pairs"] == []
    assert len(data["correlation"]["names"]) == 40
    require_sound(data)


def test_slow_methods_are_named_with_the_lines_that_run_them(monkeypatch):
    found = (
        Compared("PCA", seconds=0.1),
        Compared("SparsePCA", seconds=0.1),
        Compared("RobustPCA", seconds=1e4),
        Compared("TSNE", error="Not done in its 4 s.", stopped="late"),
    )
    monkeypatch.setattr(compared, "compare", lambda *_, **__: Comparison(found, 100.0))
    methods = ["SparsePCA", "RobustPCA", "TSNE"]
    X = low_rank()
    data = made(X, methods=methods, compare=True, n_components=2)
    assert [one["name"] for one in data["methods"]] == ["SparsePCA"]
    robust, tsne = data["budget"]["left_out"]
    assert "needs about 13333.3 s" in robust["why"]
    assert "Not done in its 4 s" in tsne["why"]
    line = "eigenlens fit robust-pca DATA --scale standard --n-components 2 --seed 0"
    assert robust["shell"] == f"{line} -o robust-pca.skops"
    given = {"X": X}
    exec(robust["python"], given)
    assert given["robustpca"].components_.shape == (2, 10)


def test_late_methods_get_what_time_is_left(monkeypatch):
    calls = []

    def slow_at_first(X, names, *_, **options):
        calls.append((list(names), options["budget"]))
        late = {"error": "Not done in its 4 s.", "stopped": "late"} if len(calls) == 1 else {}
        found = [Compared(name, **({} if name == "PCA" else late)) for name in names]
        return Comparison(tuple(found), 10.0)

    monkeypatch.setattr(compared, "compare", slow_at_first)
    X = low_rank()
    options = {"scale": "none", "budget": 40.0, "random_state": 0}
    found = compared.compared(X, ["PCA", "TSNE", "NMF"], 2, None, **options)
    assert calls == [(["PCA", "NMF", "TSNE"], 40.0), (["TSNE", "NMF"], 30.0)]
    assert [row.method for row in found.rows] == ["PCA", "TSNE", "NMF"]
    assert not any(row.error for row in found.rows)
    assert found.seconds == 20.0


@pytest.mark.parametrize("budget", [0, -1, float("nan")])
def test_budget_is_checked(budget):
    with pytest.raises(ValueError, match=r"budget=.* must be more than 0"):
        Report.of(low_rank(), budget=budget)


def test_of_few_rows_few_neighbours_are_asked_for():
    data = made(low_rank(14, 5), methods=["TSNE", "Isomap"])
    tsne, isomap = section(data, "TSNE"), section(data, "Isomap")
    assert (tsne["error"], isomap["error"]) == ("", "")
    assert "perplexity=4" in tsne["python"]
    assert "--perplexity 4" in tsne["shell"]
    assert "n_neighbors=4" in isomap["python"]
    assert len(tsne["scores"][0]) == 14


def test_many_rows_are_placed_where_they_are_drawn(monkeypatch):
    monkeypatch.setattr(rows, "DRAWN", 80)
    data = made(low_rank(), methods=["KernelPCA", "SparsePCA"])
    assert "fitted to the 80 of 120 rows drawn" in " ".join(section(data, "KernelPCA")["adds"])
    assert "places them all" in section(data, "KernelPCA")["python"]
    assert len(section(data, "KernelPCA")["scores"][0]) == 80
    assert len(section(data, "SparsePCA")["scores"][0]) == 80


# --------------------------------------------------------------------------------- the lines


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_line_of_python_runs(drawn):
    X = low_rank(60, 7)
    X[:, 2] = 1.0
    X[4, 5] = np.nan
    y, names = np.arange(60) % 2, [f"c{j}" for j in range(7)]
    methods = ["SparsePCA", "NMF", "Isomap", "LinearDiscriminantAnalysis"]
    data = made(X, names=names, target=y, methods=methods, n_components=2)
    assert set(data["lines"]) == {
        *("scree", "scores", "biplot", "loadings", "correlation", "outliers"),
        *(f"method{i}" for i in range(4)),
    }
    for name, lines in data["lines"].items():
        given = {"X": X.copy(), "y": y, "names": names}
        exec(lines["python"], given)
        if not name.startswith("method"):
            assert given["display"].figure_
            assert (drawn / "figure.png").stat().st_size > 5000


def test_lines_of_the_comparison_make_it_again(mix, drawn):
    frame = mixed()
    y, X = frame.pop("kind"), frame.select_dtypes("number").to_numpy()
    lines = mix["lines"]["comparison"]
    methods, k = "pca,sparse-pca,linear-discriminant-analysis,kernel-pca", len(mix["scores"])
    assert lines["shell"] == (
        f"eigenlens compare DATA --methods {methods} --n-components {k} --scale standard "
        "--target kind --seed 0"
    )
    given = {"X": X, "y": np.asarray(y)}
    exec(lines["python"], given)
    for row, again in zip(mix["comparison"]["rows"], given["comparison"].rows, strict=True):
        assert row["method"] == again.method
        for key, value in row["values"].items():
            if value is not None and key not in ("seconds", "megabytes"):
                assert value == pytest.approx(getattr(again, key))


def test_every_line_of_the_shell_runs(drawn, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(np.abs(low_rank(60, 5)), columns=["a", "b, c", "d e", "$x", "f"])
    frame["still"] = 1.0
    frame["kind"] = rng.integers(0, 2, 60)
    frame.to_csv("some table.csv", index=False)
    table = eigenlens.open("some table.csv", drop=["kind"])
    methods = ["SparsePCA", "NMF", "KernelPCA", "LinearDiscriminantAnalysis"]
    data = made(table, target=frame["kind"], methods=methods, n_components=2)
    for name, lines in data["lines"].items():
        for line in lines["shell"].split(" && "):
            words = shlex.split(line)
            assert words[0] == "eigenlens"
            assert run(app, words[1:]) == 0, (name, line, capsys.readouterr())
    assert "'some table.csv'" in data["lines"]["scree"]["shell"]
    model = eigenlens.load("pca.skops")
    shares = model[-1].explained_variance_ratio_
    np.testing.assert_allclose(shares, data["components"]["shares"])
    for what in ("scree", "scores", "biplot", "loadings", "correlation", "outlier-map"):
        assert (drawn / f"{what}.png").stat().st_size > 5000


def test_text_of_a_file_is_there_too(drawn):
    frame = mixed(40)
    frame.to_csv("mixed.csv", index=False)
    data = made(eigenlens.open("mixed.csv"), methods=())
    assert {text["name"] for text in data["quality"]["text"]} == {"place", "when", "note", "kind"}
    assert data["rows"]["columns"][0] == "place"
    assert data["rows"]["values"][0][0] == "north"
    some = made(eigenlens.open("mixed.csv"), methods=(), max_rows=12)
    for name, row in zip(some["rows"]["names"], some["rows"]["values"], strict=True):
        assert row[0] == frame["place"].fillna("–")[int(name)]
