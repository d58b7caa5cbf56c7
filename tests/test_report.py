"""The report: what it says is true, whatever the table; the page is looked at in test_page.py."""

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import eigenlens
from eigenlens import PCA, IncrementalPCA, datasets
from eigenlens._base import Estimator
from eigenlens._compat import optional
from eigenlens._register import fittable
from eigenlens._text import unique
from eigenlens.measure import diagnostics
from eigenlens.report import Report
from eigenlens.report.figures import figures
from eigenlens.solvers.solution import Certificate

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "</script><script>window.hacked = 1</script>",
    "<b>x</b>",
    "<!-- ",
    "$x^2$",
    "%{y}",
    "🦄",
    "n" * 500,
    "twice",
    "twice",
    "",
    "line\nbreak \x00",
    "{{ 7 * 7 }}",
    "'\" & quotes",
]
MEASURED = ("seconds", "megabytes", "used")


@pytest.fixture(scope="module")
def cancer():
    return datasets.breast_cancer()


@pytest.fixture(scope="module")
def report(cancer):
    classes = np.array(cancer.target_names)[cancer.target]
    return Report.of(cancer.X, names=cancer.names, target=classes, title="Tumours")


def planted(n=100, d=8, rank=2, **changes):
    X = datasets.planted_subspace(n, d, rank=rank, noise=0.05, random_state=0, **changes).X
    return 10 + 3 * X


def quick(X, **options):
    """Return the report without the other methods, after a trip through both of its formats."""
    made = Report.of(X, **{"methods": (), "compare": False} | options)
    assert made.to_html().startswith("<!DOCTYPE html>")
    assert json.loads(made.to_json()) == made.data
    return made


# -------------------------------------------------------------------------------- the dict


def test_data_survives_json(report):
    text = json.dumps(report.data, allow_nan=False)
    assert json.loads(text) == report.data
    assert Report(json.loads(text)).to_html() == report.to_html()


def test_numbers_are_those_of_the_estimators(report, cancer):
    Z = StandardScaler().fit_transform(cancer.X)
    pca = PCA(n_components="consensus", random_state=0).fit(Z)
    found = diagnostics(pca, Z, level=0.99, training=True)
    data = report.data
    assert data["components"]["kept"] == pca.n_components_
    np.testing.assert_allclose(data["components"]["shares"], pca.explained_variance_ratio_)
    np.testing.assert_allclose(np.transpose(data["scores"]), pca.transform(Z)[:, :6])
    np.testing.assert_allclose(data["outliers"]["t2"], found.rows.t2)
    np.testing.assert_allclose(data["outliers"]["spe"], found.rows.spe)
    assert data["outliers"]["t2_limit"] == pytest.approx(found.rows.t2_limit)
    for j, component in enumerate(data["loadings"]):
        for one in component:
            place = cancer.names.index(one["name"])
            assert one["value"] == pytest.approx(found.columns.loadings[place, j])
        sizes = [abs(one["value"]) for one in component]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] == pytest.approx(np.abs(found.columns.loadings[:, j]).max())
    column = data["quality"]["columns"][3]
    assert column["name"] == "mean area"
    assert column["mean"] == pytest.approx(cancer.X[:, 3].mean())
    assert column["deviation"] == pytest.approx(cancer.X[:, 3].std(ddof=1))
    assert sum(column["histogram"]) == len(cancer.X)


def test_votes_are_those_of_the_rule(report):
    rules = report.data["components"]["rules"]
    votes = [rule["k"] for rule in rules if rule["votes"]]
    assert len(votes) == 3
    assert report.data["components"]["kept"] == int(np.median(votes))


@pytest.mark.parametrize("scale", ["standard", "minmax", "robust", "normalize", "none"])
def test_code_makes_the_same_fit(scale):
    X = planted()
    X[:, 3] = 7.0
    made = quick(X, scale=scale, methods="all")
    namespace = {"X": X}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of components that a penalty leaves empty
        exec(made.data["code"], namespace)
    np.testing.assert_allclose(np.transpose(made.data["scores"]), namespace["scores"], atol=1e-12)


def test_code_makes_the_same_fit_of_a_table_with_holes():
    X = with_holes()
    X[9] = np.nan
    made = quick(X, methods="all")
    namespace = {"X": X}
    exec(made.data["code"], namespace)
    np.testing.assert_allclose(np.transpose(made.data["scores"]), namespace["scores"], atol=1e-8)


def timeless(value):
    """Return what does not depend on the clock or on memory."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in MEASURED}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def test_same_seed_same_report(cancer):
    options = {"methods": ["SparsePCA", "TSNE"], "max_rows": 150, "random_state": 3}
    one, two = (Report.of(cancer.X, **options).data for _ in range(2))
    assert one["comparison"]["rows"][2]["values"]["trustworthiness"]
    assert timeless(one) == timeless(two)


def test_report_is_quick(report, cancer):  # `report` has compiled what needs it
    start = time.process_time()  # which others on the machine do not add to
    Report.of(cancer.X, names=cancer.names, target=cancer.target, compare=False).to_html()
    assert time.process_time() - start < 15
    assert report.data["budget"]["used"] < report.data["budget"]["seconds"]


def test_figures_are_what_plotly_takes(report):
    go = optional("plotly.graph_objects", "report")
    for figure in figures(report.data).values():
        go.Figure({"data": figure["data"], "layout": figure["layout"]})  # raises on unknown keys


# -------------------------------------------------------------------------------- findings


def test_findings_of_planted_data():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((200, 2)) * [3, 1.5]
    weights = np.array([[1, 1, -1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 0, 0]])
    X = z @ weights + 0.3 * rng.standard_normal((200, 8))
    X[17, 6] = 9.0
    names = ["up", "also up", "down", *"defgh"]
    target = np.where(z[:, 0] > 0, "right", "left")
    made = quick(X, names=names, target=target, scale="none")
    many, about, table, rows, classes = made.findings
    assert many.startswith("2 of 8 components stand out of the noise and carry 9")
    rising, falling = about.removesuffix(".").split(", and falls with ")
    assert {rising.split(" rises with ")[1], falling} in (
        {"up and also up", "down"},
        {"also up and up", "down"},
    )
    assert table.startswith("There are no holes. Strongly skewed")
    assert table.endswith("variance: g.")
    assert "17" in rows.split("row")[-1]
    assert "(left and right) separate on component 1" in classes
    assert made.data["seen"]["loadings"][0] == about
    score = PCA(2).fit_transform(X)
    far = np.argmax((score**2).sum(axis=1))
    assert f"row {far} is farthest out" in made.data["seen"]["scores"][0]
    worst = made.data["outliers"]["rows"][0]
    assert worst["row"] == "17"
    assert worst["columns"][0]["name"] == "g"
    assert worst["columns"][0]["value"] == 9.0


def test_noise_is_called_noise():
    X = np.random.default_rng(1).standard_normal((300, 6))
    made = quick(X, target=np.arange(300) % 2)
    assert made.data["components"]["kept"] == 0
    assert made.findings[0].startswith("None of the 6 components stands out")
    assert len(made.data["scores"]) == 2
    assert "do not show" in made.findings[-1]


def test_numeric_target():
    X = planted()
    score = PCA(1).fit_transform(StandardScaler().fit_transform(X)).ravel()
    assert "component 1 (correlation +1.00)" in quick(X, target=pd.Series(score)).findings[-1]
    noise = np.random.default_rng(0).standard_normal(100)
    assert "little to do" in quick(X, target=noise).findings[-1]


def test_many_classes_are_gathered_and_unknown_ones_kept():
    target = np.array([f"c{i % 12}" for i in range(99)] + [None], dtype=object)
    found = quick(planted(), target=target).data["rows"]["target"]
    assert len(found["levels"]) == 11
    assert found["levels"][-2:] == ["other", "unknown"]
    assert found["classes"][-1] == "unknown"


# -------------------------------------------------------------------------------- quality


def test_columns_are_described():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(planted(d=4), columns=["a", "b", "c", "d"])
    frame["still"] = 1.5
    frame["twin"] = frame["a"]
    frame["near"] = 2 * frame["b"] + 1e-4 * rng.standard_normal(100)
    frame["holes"] = frame["c"].where(rng.random(100) > 0.5)
    frame["skewed"] = rng.lognormal(0, 2, 100)
    frame["flag"] = rng.random(100) > 0.5
    frame["word"] = "text"
    frame["nothing"] = np.nan
    made = quick(frame)
    columns = {column["name"]: column for column in made.data["quality"]["columns"]}
    assert columns["still"]["flags"] == ["constant"]
    assert "the same as twin" in columns["a"]["flags"]
    assert "the same as a" in columns["twin"]["flags"]
    assert "nearly the same as b" in columns["near"]["flags"]
    assert any(flag.endswith("% holes") for flag in columns["holes"]["flags"])
    assert "strongly skewed" in columns["skewed"]["flags"]
    assert columns["flag"]["kind"] == "yes or no"
    assert columns["nothing"]["flags"] == ["empty"]
    assert "word" not in columns
    said = " ".join(made.data["steps"])
    assert "do not vary: still and nothing" in said
    assert "hold no numbers: word" in said
    assert "a and twin; b and near" in made.findings[2]
    assert made.data["table"]["used_columns"] == 9


def test_no_twins_among_few_rows():
    assert quick(np.random.default_rng(0).standard_normal((2, 4))).data["quality"]["columns"]
    assert "say the same" not in " ".join(quick(planted(n=5)).findings)


# -------------------------------------------------------------------------------- tables


def test_frames_and_arrays_agree():
    X, names = planted(d=4), ["a", "b", "c", "d"]
    X[3, 1] = np.nan
    array = quick(X, names=names).data

    class Blocks:
        def __init__(self):
            self.names = names

        def __array__(self, dtype=None, copy=None):
            return X

    nulls = pl.DataFrame(X, schema=names).with_columns(pl.all().fill_nan(None))
    for table in (pd.DataFrame(X, columns=names), nulls, Blocks()):
        data = quick(table).data
        assert data["scores"] == array["scores"]
        assert data["loadings"] == array["loadings"]


def test_frame_of_mixed_kinds():
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, 2, None, 4], dtype="Int64"),
            "real": [1.0, 2.5, 3.0, 1.0],
            "when": pd.date_range("2020", periods=4),
            "mixed": [1, "two", 3.0, None],
            "kind": pd.Categorical(["a", "b", "a", "b"]),
        },
        index=["n", "e", "s", "w"],
    )
    data = quick(frame, n_components=1).data
    assert data["table"]["used_columns"] == 2
    assert data["table"]["holes"] == 1
    assert data["rows"]["names"] == ["0 (n)", "1 (e)", "2 (s)", "3 (w)"]
    with pytest.raises(ValueError, match=r"only text \(when, mixed and kind\)"):
        Report.of(frame[["when", "mixed", "kind"]])


def with_holes():
    X = planted(n=80, d=6)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


def test_holes():
    X = with_holes()
    X[5] = np.nan
    made = quick(X, methods=["IncrementalPCA"])
    data = made.data
    assert data["table"]["used_rows"] == 79
    assert "5" not in data["rows"]["names"]
    assert "1 row without any value left out" in data["steps"]
    assert data["table"]["holes"] == np.isnan(np.delete(X, 5, axis=0)).sum()
    section = method(made, "IncrementalPCA")
    assert "takes no holes" in section["sentences"][0]
    assert not section["same_as_pca"]
    assert section["scores"]


def test_row_with_values_only_where_nothing_varies_is_left_out():
    X = np.column_stack([planted(d=3), np.ones(100)])
    X[4, :3] = np.nan
    assert quick(X).data["table"]["used_rows"] == 99


@pytest.mark.parametrize("shape", [(2, 1), (2, 3), (3, 2), (30, 1), (5, 40), (40, 2)])
@pytest.mark.parametrize("holes", [False, True])
def test_small_tables(shape, holes):
    X = np.random.default_rng(0).standard_normal(shape)
    if holes and min(shape) > 1:
        X[0, 0] = np.nan
    made = quick(X, methods="all", target=np.arange(len(X)))
    assert 3 <= len(made.findings) <= 6


def test_table_of_which_every_column_but_one_is_constant():
    X = np.ones((20, 5))
    X[:, 2] = np.arange(20)
    assert quick(X, methods="all").data["table"]["used_columns"] == 1


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.ones((10, 3)), r"3 columns, and none of them varies.*Check that"),
        (np.full((10, 3), np.nan), r"0 rows with values.*Give at least two"),
        (np.ones((1, 3)), r"1 row with values.*Give at least two"),
        (np.empty((0, 3)), r"shape \(0, 3\).*Give a table"),
        (np.arange(9.0), r"shape \(9,\).*reshape"),
        (np.array([["a", "b"], ["c", "d"]]), r"no number.*dataframe"),
        (pd.DataFrame(), "nothing"),
        (np.array([[1, np.inf], [2, 3], [3, 3]]), r"infinite values in x1\. Replace"),
        (np.array([[1, 1e200], [2, 3], [3, 3]]), r"beyond 1e\+150 in x1.*Divide"),
    ],
)
def test_tables_without_an_answer_say_what_to_do(X, said):
    with pytest.raises(ValueError, match=said):
        Report.of(X)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"names": ["a"]}, "names has 1 entries and X has 8 columns"),
        ({"target": [1, 2]}, r"target has shape \(2,\) and X has 100 rows"),
        ({"scale": "log"}, "scale='log' is not one of standard"),
        ({"methods": ["Nothing"]}, "methods='Nothing' is not known.*PCA"),
        ({"max_rows": 1}, "max_rows=1 must be at least 2"),
        ({"n_components": 99}, "n_components=99.*Ask for at most 8"),
    ],
)
def test_bad_options_are_named(options, said):
    with pytest.raises(ValueError, match=said):
        Report.of(planted(), **options)


def test_normalize_needs_whole_rows():
    with pytest.raises(ValueError, match=r"scale='normalize'.*Fill the holes"):
        Report.of(with_holes(), scale="normalize")


def test_many_rows_are_sampled_and_outlying_ones_drawn():
    X = planted(n=5000, d=5)
    far = range(0, 5000, 250)
    X[far] += 100 * np.random.default_rng(0).standard_normal((20, 5))
    data = quick(X).data
    assert len(data["rows"]["names"]) == 3000
    assert data["rows"]["all"] == 5000
    assert {str(i) for i in far} <= set(data["rows"]["names"])
    data = quick(X, max_rows=500).data
    assert data["table"]["used_rows"] == 500
    assert "500 rows drawn at random from 5 000 rows" in data["steps"]


def test_many_columns_are_counted():
    data = quick(planted(n=30, d=230)).data
    assert len(data["quality"]["columns"]) == 200
    assert data["quality"]["more"] == 30
    assert len(data["loadings"][0]) == 15


# -------------------------------------------------------------------------------- methods


def method(made, name):
    return next(section for section in made.data["methods"] if section["name"] == name)


def test_every_method_has_its_section(report):
    names = {name for name, method in fittable().items() if method.origin == "eigenlens"}
    names -= {"IncrementalPCA", "MiniBatchNMF", "MiniBatchSparsePCA", "MiniBatchDictionaryLearning"}
    names |= {"LinearDiscriminantAnalysis"}  # since there are classes
    found = report.data["methods"] + report.data["budget"]["left_out"]  # where time was short
    assert {section["name"] for section in found} == names - {"PCA"}


def test_equal_components_are_said_in_a_line():
    report = quick(planted(), methods=["IncrementalPCA"])
    section = method(report, "IncrementalPCA")
    assert section["same_as_pca"]
    assert section["sentences"] == ["It finds the same components as PCA."]
    assert "scores" not in section
    assert report.data["methods"][0]["promises"]


class Foo(Estimator):
    """Finds the last components instead of the first."""

    claims = frozenset({"orthonormal"})

    def __init__(self, n_components=2, random_state=None):
        self.n_components = n_components
        self.random_state = random_state

    def _solve(self, X, *, weight, rng, monitor):
        raise NotImplementedError

    def fit(self, X, y=None):
        whole = PCA().fit(X)
        self.components_ = whole.components_[-self.n_components :]
        self.mean_ = whole.mean_
        self.explained_variance_ratio_ = whole.explained_variance_ratio_[-self.n_components :]
        self.objective_history_ = np.array([3.0, 2.0, 1.0])
        self.n_iter_, self.converged_ = 3, False
        self.certificate_ = Certificate("gap", 0.5, 0.1)
        warnings.warn("Foo stopped early. Raise max_iter.", ConvergenceWarning, stacklevel=2)
        return self

    def transform(self, X):
        return (X - self.mean_) @ self.components_.T


class Failing(Foo):
    def fit(self, X, y=None):
        raise ValueError("Foo needs values of at least 0.\nTake scale='minmax'.")


class Placing(Estimator):
    """Places the rows, and has neither components nor transform."""

    def _solve(self, X, *, weight, rng, monitor):
        raise NotImplementedError

    def fit(self, X, y=None):
        self.embedding_ = np.asarray(X)[:, :2]
        return self


def register(monkeypatch, cls):
    monkeypatch.setattr(eigenlens, "__all__", [*eigenlens.__all__, "Foo"])
    monkeypatch.setattr(eigenlens, "Foo", cls, raising=False)
    return planted()


def test_method_added_at_run_time_appears(monkeypatch):
    X = register(monkeypatch, Foo)
    made = quick(X, methods=["IncrementalPCA", "Foo"])
    section = method(made, "Foo")
    Z = StandardScaler().fit_transform(X)
    model = PCA().fit(Z)
    assert section["summary"] == "Finds the last components instead of the first"
    assert section["promises"] == ["components are orthonormal"]
    assert section["history"] == [3.0, 2.0, 1.0]
    assert section["warnings"] == ["Foo stopped early. Raise max_iter."]
    assert section["certificate"] == "gap <= 5.0e-01 (asked for 1.0e-01): does not hold"
    assert "90.0° apart" in section["sentences"][0]
    assert "did not reach" in section["sentences"][-1]
    np.testing.assert_allclose(section["scores"][1], (Z @ model.components_[-1]))
    assert section["weights"][0][0]["value"] == pytest.approx(
        max(model.components_[-2], key=abs), abs=1e-12
    )
    drawn = figures(made.data)
    number = [section["name"] for section in made.data["methods"]].index("Foo")
    assert {f"method{number}-{what}" for what in ("scores", "weights", "history")} <= set(drawn)
    page = made.to_html()
    assert "gap &lt;= 5.0e-01" in page
    assert "Raise max_iter" in page
    with pytest.warns(ConvergenceWarning):
        exec(made.data["code"], {"X": X})


def test_method_without_components_shows_where_it_places_the_rows(monkeypatch):
    X = register(monkeypatch, Placing)
    section = method(quick(X, methods=["Foo"]), "Foo")
    np.testing.assert_allclose(section["scores"][0], StandardScaler().fit_transform(X)[:, 0])
    assert "weights" not in section


def test_method_that_fails_is_a_line(monkeypatch):
    made = quick(register(monkeypatch, Failing), methods=["Foo"])
    assert method(made, "Foo")["error"] == "Foo needs values of at least 0. Take scale='minmax'."
    assert "Not fitted: Foo needs values of at least 0." in made.to_html()
    assert "Foo" not in made.data["code"]


def test_only_the_methods_asked_for():
    assert quick(planted()).data["methods"] == []
    made = quick(planted(), methods=["IncrementalPCA"])
    assert [section["name"] for section in made.data["methods"]] == ["IncrementalPCA"]


def test_methods_of_other_packages_and_those_that_learn_from_classes():
    X, y = load_wine(return_X_y=True)
    names = ["LinearDiscriminantAnalysis", "FastICA"]
    made = quick(X, methods=names, target=y, n_components=4)
    assert [section["error"] for section in made.data["methods"]] == ["", ""]
    namespace = {"X": X, "y": y}
    exec(made.data["code"], namespace)
    assert namespace["lineardiscriminantanalysis"].n_components == 2  # of three classes
    untold = quick(X, methods=names[:1]).data["methods"][0]
    assert "learns from a target, and there is none" in untold["error"]


def test_scale_reaches_the_methods():
    X = planted()
    data = quick(X, scale="minmax", n_components=2, methods="all").data
    model = IncrementalPCA(2).fit(MinMaxScaler().fit_transform(X))
    np.testing.assert_allclose(data["components"]["shares"], model.explained_variance_ratio_)


# -------------------------------------------------------------------------------- the page


def test_hostile_names_are_escaped():
    n = len(HOSTILE)
    X = datasets.planted_subspace(60, n, rank=2, noise=0.2, random_state=0).X
    X[0] *= 9
    frame = pd.DataFrame(X, columns=HOSTILE, index=[HOSTILE[i % n] for i in range(60)])
    frame["<b>x</b> text"] = [HOSTILE[i % 3] for i in range(60)]
    made = Report.of(
        frame,
        target=[HOSTILE[i % 6] for i in range(60)],
        title=HOSTILE[0],
        notes=HOSTILE[:3],
        methods=["RobustPCA", "SparsePCA", "Isomap", "LinearDiscriminantAnalysis"],
    )
    for page in (made.to_html(), made._repr_html_()):
        own = page.replace(optional("plotly.offline", "report").get_plotlyjs(), "")
        for bad in ("<img", "<b>x", "<script>window", "<!-- "):
            assert bad not in own
    page = made.to_html()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "{{ 7 * 7 }}" in page
    # whole in a title attribute, short in what is drawn
    assert f'title="{"n" * 500}"' in page
    drawn = json.dumps(figures(made.data))
    assert "<b>" not in drawn.replace("<br>", "")
    assert "<script" not in drawn
    assert "n" * 130 not in drawn


def test_half_a_letter_does_not_break_the_page(tmp_path):
    quick(planted(d=2), names=["\ud800", "\x00\n"], title="\udfff").save(tmp_path / "a.html")


def test_names_are_told_apart():
    names = ["a", "a.1", "x2", "a.1.1", "5"]
    assert unique(["a", "a", "", "a.1", 5]) == names


def test_page_asks_for_nothing(report):
    page = report.to_html()
    own = page.replace(optional("plotly.offline", "report").get_plotlyjs(), "")
    assert len(page) < 8e6
    for outside in ("http://", "https://", "src=", "@import", "url("):
        assert outside not in own
    assert "default-src 'none'" in own


def test_fragment_is_the_page_in_a_frame(report):
    fragment = report._repr_html_()
    assert fragment.startswith("<iframe")
    assert fragment.count("<") == 2  # nothing but the frame touches the notebook
    assert fragment.count("plotly.js v") == 1


def test_save(report, tmp_path):
    for name, text in (("a.html", report.to_html()), ("a.json", report.to_json())):
        report.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match=r"'\.pdf'.*\.html .*\.json"):
        report.save(tmp_path / "a.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.json"]


@pytest.mark.parametrize("package", ["plotly", "jinja2"])
def test_missing_extra_is_named(report, package, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package} is not.*pip install 'eigenlens\[report\]'"):
        report.to_html()
    assert report.to_json()


def test_method_that_takes_nothing_below_zero_sees_columns_from_their_least_value():
    X = planted()
    (section,) = quick(X - X.mean(axis=0), methods=["NMF"]).data["methods"]
    assert not section["error"]
    assert section["warnings"][0].startswith("It takes nothing below zero")
