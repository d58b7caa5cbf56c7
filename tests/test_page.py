"""The report page as a reader sees it: in Chromium, without a network."""

import copy
import html
import json
import os
import shutil
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine
from test_report import HOSTILE, Foo, planted, register

from eigenlens import datasets
from eigenlens.report import Report
from eigenlens.report.figures.png import data_uri

CHROMIUM = shutil.which("chromium")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and not os.environ.get("EIGENLENS_REQUIRE_BROWSER"),
    reason="Chromium is not installed: the report page was not looked at in a browser",
)


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright  # not at the top: skipped tests do without

    with sync_playwright() as driver:
        launched = driver.chromium.launch(
            executable_path=CHROMIUM or "chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield launched
        launched.close()


@contextmanager
def opened(browser, file, width=1100, **options):
    """Open a page in a browser of its own; leaving checks that nothing went wrong meanwhile."""
    context = browser.new_context(
        offline=True, viewport={"width": width, "height": 900}, reduced_motion="reduce", **options
    )
    page = context.new_page()
    wrong, asked = [], []
    page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    yield page
    assert page.evaluate("window.hacked") is None
    assert wrong == []
    asked = [url for url in asked if not url.startswith(("data:", "about:srcdoc"))]
    assert {url.partition("#")[0] for url in asked} == {file.as_uri()}
    context.close()


def until(page, expression):
    """Wait for what comes with the next frame; wait_for_function would need eval, which is shut."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {expression}")


def drawn(box):
    """Scroll to a figure, which draws it, and wait until it is there."""
    box.scroll_into_view_if_needed()
    box.locator(".main-svg").first.wait_for()


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def draw_all(page):
    unfold(page)
    for box in page.locator(".plot").all():
        drawn(box)


def points(page, figure):
    """Return the coordinates of all points of a figure, as plotly has them."""
    drawn(page.locator(f"#{figure}"))
    return page.evaluate(
        """id => document.getElementById(id).data.filter(({mode}) => mode === "markers")
                 .map(({x, y}) => [x, y])""",
        figure,
    )


def hover(page, figure, trace=0, point=0, along=1.0):
    """Point at a point of a figure, or at a part of the way along a bar; return what appears."""
    page.mouse.move(0, 0)
    drawn(page.locator(f"#{figure}"))
    page.locator(f"#{figure} .hovertext").wait_for(state="detached")
    x, y = page.evaluate(
        """([id, trace, point, along]) => {
            const box = document.getElementById(id), {xaxis, yaxis} = box._fullLayout;
            const at = box.getBoundingClientRect(), {x, y} = box.data[trace];
            return [at.x + xaxis._offset + xaxis.d2p(along * x[point]),
                    at.y + yaxis._offset + yaxis.d2p(y[point])];
        }""",
        [figure, trace, point, along],
    )
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    label = page.locator(f"#{figure} .hovertext").first
    label.wait_for()
    return label.text_content()


def saved(report, folder, name="page"):
    file = folder / f"{name}.html"
    report.save(file)
    return file


@pytest.fixture(scope="module")
def cancer(tmp_path_factory):
    table = datasets.breast_cancer()
    classes = np.array(table.target_names)[table.target]
    report = Report.of(
        table.X,
        names=table.names,
        target=classes,
        title="Tumours",
        methods=["IncrementalPCA", "KernelPCA"],
        compare=False,
    )
    return report, saved(report, tmp_path_factory.mktemp("page"))


RESET = """() => {
    for (const one of document.querySelectorAll("select")) {
        const first = [...one.options].findIndex(({defaultSelected}) => defaultSelected);
        one.selectedIndex = Math.max(first, 0);
        one.dispatchEvent(new Event("change"));
    }
    for (const one of document.querySelectorAll("input[type=checkbox]:not(:checked)")) one.click();
    for (const {tHead, tBodies: [body]} of document.querySelectorAll("table.sortable")) {
        body.append(...[...body.rows].sort((a, b) => a.dataset.place - b.dataset.place));
        for (const one of tHead.rows[0].cells) one.removeAttribute("aria-sort");
    }
}"""


@pytest.fixture(scope="module")
def cancer_page(browser, cancer):
    with opened(browser, cancer[1]) as page:
        draw_all(page)
        yield page


@pytest.fixture
def tumours(cancer_page):
    """The page of breast cancer, open and drawn, as it was at the beginning."""
    cancer_page.evaluate(RESET)
    return cancer_page


# Every part of a page, with text that means harm wherever text may come from a table.
IMG, SCRIPT = HOSTILE[1], HOSTILE[0]


def dressed(data):
    """Return a report that has all that a page can show."""
    data = copy.deepcopy(data)
    many, rng = len(data["rows"]["names"]), np.random.default_rng(0)
    names = [column["name"] for column in data["quality"]["columns"]]
    d = len(names)
    pixels = rng.standard_normal((5, 6)).tolist()
    example = {"row": IMG, "before": pixels[0], "after": pixels[1], "sparse": pixels[2]}
    images = {"mean": pixels[0], "components": pixels[1:4], "rows": [example]}
    line = {"python": f"print('{SCRIPT}')", "shell": f"echo '{IMG}'"}
    weights = [[{"name": name, "value": 0.5 - 0.1 * i} for i, name in enumerate(names)]]
    base = {"summary": IMG, "promises": [IMG], "code": IMG, "seconds": 0.1, "warnings": [IMG]}
    base |= {"error": "", "sentences": [IMG], "certificate": IMG, "adds": [SCRIPT], **line}
    scores = rng.standard_normal((3, many)).tolist()
    cell = {"row": SCRIPT, "column": IMG, "value": 3.0, "expected": 1.0, "deviations": 9.5}
    kept = {"rows": many, "neighbours_kept": 0.25, "trustworthiness": 0.5, "stress": None}
    data["methods"] = [
        base | {"name": "SparsePCA", "kind": "sparse", "weights": weights, "nonzeros": [d]},
        base | {"name": "RobustPCA", "kind": "robust", "cells": [cell, cell], "weights": weights},
        base | {"name": "NMF", "kind": "parts", "images": images, "weights": weights},
        base | {"name": "MDS", "kind": "manifold", "scores": scores, "map": kept},
        base | {"name": "PLS", "kind": "unheard of", "scores": scores, "history": [3.0, 1.0]},
        base | {"name": "IncrementalPCA", "kind": "linear", "same_as_pca": True},
        base | {"name": "Broken", "kind": "linear", "error": IMG},
    ]
    data["methods"][1]["rows"] = [{"row": IMG, "times": 2.0, "kind": SCRIPT}]
    R = np.corrcoef(rng.standard_normal((d, 9)))
    data["correlation"] = {"names": names, "matrix": R.tolist()}
    data["correlation"]["pairs"] = [{"a": names[0], "b": name, "r": 0.9} for name in names[1:]]
    data["biplot"] = {
        "arrows": [{"name": name, "loadings": rng.uniform(-1, 1, 6).tolist()} for name in names]
    }
    data["rows"] |= {
        "columns": names[:8],
        "values": [[f"{names[(i + j) % d]}" for j in range(8)] for i in range(many)],
        "colours": [
            data["rows"]["target"],
            {"name": SCRIPT, "numbers": [*range(many - 1), None]},
            {"name": IMG, "classes": [names[i % 3] for i in range(many)], "levels": names[:3]},
        ],
    }
    data["quality"] |= {
        "text": [{"name": IMG, "kind": SCRIPT, "levels": 2, "holes": 0.5, "examples": names}],
        "duplicates": {"count": 2, "examples": [[IMG, SCRIPT]]},
    }
    data["advice"] = [
        {"text": IMG, "number": SCRIPT, "where": "comparison"},
        {"text": "Nowhere.", "number": 7.0, "where": "nowhere"},
        {"text": "Shares.", "number": 0.25, "where": "method3"},
    ]
    columns = [
        {"key": key, "label": IMG if key == "a" else key, "better": better, "about": SCRIPT}
        for key, better in (("a", "high"), ("b", "low"), ("c", None))
    ]
    data["comparison"] = {"columns": columns, "seconds": 1.0, "rows_used": 60, "held_out": 15}
    values = [0.5, 0.25, None, 100.0, 0.25, None]
    data["comparison"]["rows"] = [
        {
            "method": f"method {i}" if i else IMG,
            "origin": "scikit-learn",
            "values": {"a": value, "b": 1.0},
            "best": ["b"],
            "certificate": IMG,
            "verdict": "holds",
            "why": IMG,
            "warnings": [SCRIPT],
            "error": IMG if i == 5 else "",
        }
        for i, value in enumerate(values)
    ]
    data["image"] = {"height": 2, "width": 3, "channels": 1}
    data["images"] = images
    drawn = ("scree", "scores", "biplot", "loadings", "outliers", "correlation", "images")
    data["lines"] = dict.fromkeys((*drawn, "comparison", "method0"), line)
    left = {"name": IMG, "why": SCRIPT, **line}
    data["budget"] = {"seconds": 120.0, "used": 100.0, "left_out": [left]}
    data["seed"], data["times"] = 0, [{"what": IMG, "seconds": 1.0}]
    return json.loads(json.dumps(data))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    n = len(HOSTILE)
    X = datasets.planted_subspace(60, n, rank=2, noise=0.2, random_state=0).X
    X[0] *= 9
    frame = pd.DataFrame(X, columns=HOSTILE, index=[HOSTILE[i % n] for i in range(60)])
    target = pd.Series([HOSTILE[i % 6] for i in range(60)], name=HOSTILE[1])
    report = Report.of(
        frame, target=target, title=HOSTILE[2], notes=HOSTILE[:4], methods=(), compare=False
    )
    report = Report(dressed(report.data))
    return report, saved(report, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def hostile_page(browser, hostile):
    with opened(browser, hostile[1], permissions=["clipboard-read", "clipboard-write"]) as page:
        draw_all(page)
        yield page


@pytest.fixture
def harm(hostile_page):
    """The page of hostile text, open and drawn, as it was at the beginning."""
    hostile_page.evaluate(RESET)
    yield hostile_page
    assert hostile_page.evaluate("window.hacked") is None


# -------------------------------------------------------------------------------- kinds of tables


def numeric():
    return {"X": planted(), "methods": ["SparsePCA", "RobustPCA"]}


def mixed():
    wine = load_wine(as_frame=True)
    frame = wine.frame.drop(columns="target")
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.05)
    frame["cellar"] = ["north", "south"] * (len(frame) // 2)
    target = pd.Series(np.array(wine.target_names)[wine.target], name="cultivar")
    return {"X": frame, "target": target, "methods": ["RobustPCA", "LinearDiscriminantAnalysis"]}


def digits():
    X, y = load_digits(return_X_y=True)
    options = {"image_shape": (8, 8), "scale": "none", "n_components": 5, "methods": ["NMF"]}
    return {"X": X[:300], "target": y[:300].astype(str), **options}


def counts():
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.5, 1.0, (80, 3)) @ rng.gamma(0.5, 1.0, (3, 12))
    return {"X": rng.poisson(5 * rates).astype(float), "methods": ["NMF"], "compare": True}


def wide():
    X = datasets.planted_subspace(64, 5000, rank=3, noise=0.5, random_state=0).X
    return {"X": X, "methods": ["KernelPCA"], "n_components": 3}


KINDS = {kind.__name__: kind for kind in (numeric, mixed, digits, counts, wide)}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Make a report of a kind of table when it is asked for, once."""
    made, folder = {}, tmp_path_factory.mktemp("kinds")

    def of(kind):
        if kind not in made:
            options = {"compare": False} | KINDS[kind]()
            report = Report.of(options.pop("X"), **options)
            made[kind] = report, saved(report, folder, kind)
        return made[kind]

    return of


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_drawn(browser, kinds, kind):
    report, file = kinds(kind)
    assert file.stat().st_size < 8e6
    with opened(browser, file) as page:
        draw_all(page)
        assert page.locator(".plot").count() >= 4
        for finding in report.findings:
            assert finding in page.locator("#short").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1100
        assert [section["error"] for section in report.data["methods"]] == [""] * len(
            report.data["methods"]
        )
        if kind == "digits":  # pixels are shown as images, not as a matrix of correlations
            images = page.locator("#columns img")
            assert images.count() >= 6
            loaded = "all => all.every((one) => one.complete && one.naturalWidth === 8)"
            assert images.evaluate_all(loaded)
        if kind == "mixed":
            assert "cellar" in page.locator("#quality").inner_text()
        if kind == "counts":
            assert page.locator("#comparison-table tbody tr").count() >= 2


def test_page_is_quiet_and_small(tumours, cancer):
    report, file = cancer
    assert file.stat().st_size < 8e6
    page = tumours
    assert page.title() == "Tumours"
    draw_all(page)
    for finding in report.findings:
        assert finding in page.locator("#short").inner_text()


# -------------------------------------------------------------------------------- figures


def test_hover_shows_the_row_its_class_its_values_and_its_scores(tumours, cancer):
    report, _ = cancer
    rows = report.data["rows"]
    place = int(np.argmax(report.data["scores"][0]))  # at the edge, where no other is near
    kind = rows["target"]["classes"][place]
    trace = rows["target"]["levels"].index(kind)
    page = tumours
    x, _ = points(page, "scores")[trace]
    text = hover(page, "scores", trace, int(np.argmax(x)))
    assert f"row {place}" in text
    assert f"class: {kind}" in text
    assert f"component 1 (44.3 %): {max(x):.3g}" in text
    for column, value in zip(rows["columns"], rows["values"][place], strict=True):
        assert f"{column}: {value}" in text
    worst = report.data["outliers"]["rows"][0]["row"]
    assert f"row {worst}" in hover(page, "outliers", 0, int(worst))


def test_drop_downs_choose_components(tumours, cancer):
    report, _ = cancer
    scores = report.data["scores"]
    page = tumours
    page.locator("#rows select").first.select_option("2")
    across = [x for trace in points(page, "scores") for x in trace[0]]
    upwards = [y for trace in points(page, "scores") for y in trace[1]]
    np.testing.assert_allclose(sorted(across), sorted(scores[2]), rtol=1e-4)
    np.testing.assert_allclose(sorted(upwards), sorted(scores[1]), rtol=1e-4)
    assert page.locator("#scores .xtitle").text_content().startswith("component 3 (")
    page.locator("#columns select").select_option("1")
    drawn(page.locator("#loadings"))
    names = page.locator("#loadings .ytick text").all_text_contents()
    assert names == [one["name"] for one in reversed(report.data["loadings"][1])]


def test_one_choice_of_the_colour_for_all_maps(tumours, cancer):
    report, _ = cancer
    colours = report.data["rows"]["colours"]
    number = next(i for i, colour in enumerate(colours) if colour.get("numbers"))
    look = """id => document.getElementById(id).data.filter(({mode}) => mode === "markers")
                    .map(({marker}) => marker.color)"""
    page = tumours
    draw_all(page)
    maps = page.locator(".plot[id$=scores]").evaluate_all("all => all.map(({id}) => id)")
    assert len(maps) >= 2
    for box in maps:
        assert page.evaluate(look, box) == ["#0072B2", "#E69F00"]
    page.locator("#rows select[data-colour]").select_option(str(number))
    for box in maps:
        (values,) = page.evaluate(look, box)
        np.testing.assert_allclose(values, colours[number]["numbers"], rtol=1e-4)
    assert page.locator("select[data-colour]").evaluate_all(
        f"all => all.every(({{value}}) => value === '{number}')"
    )
    page.locator("select[data-colour]").last.select_option(label="one colour")
    for box in maps:
        assert page.evaluate(look, box) == ["#0072B2"]


def test_arrows_are_the_loadings_of_the_plane(tumours, cancer):
    report, _ = cancer
    arrows = {one["name"]: one["loadings"] for one in report.data["biplot"]["arrows"]}
    lines = """() => document.getElementById("scores").data
                  .filter(({mode}) => mode === "lines+markers")"""
    page = tumours
    drawn(page.locator("#scores"))
    (trace,) = page.evaluate(lines)
    tips = zip(trace["x"][1::3], trace["y"][1::3], trace["customdata"][1::3], strict=True)
    found = [(x, y, arrows[text.partition("<br>")[0]]) for x, y, text in tips]
    assert len(found) == 12
    scale = found[0][0] / found[0][2][0]
    for x, y, loadings in found:
        np.testing.assert_allclose([x, y], scale * np.array(loadings[:2]), rtol=1e-3)
    names = page.locator("#scores .textpoint").all_text_contents()
    assert 3 <= len(names) <= 12
    page.locator("input[data-arrows]").uncheck()
    assert page.evaluate(lines) == []
    page.locator("input[data-arrows]").check()
    assert len(page.evaluate(lines)) == 1


def test_heat_map_names_its_columns(tumours, cancer):
    report, _ = cancer
    found = report.data["correlation"]
    page = tumours
    text = hover(page, "correlation", point=1)  # of x and y: the second column with itself
    assert text == f"{found['names'][1]}{found['names'][1]}correlation 1.00"


def test_images_are_what_they_were(browser, tmp_path):
    file = tmp_path / "images.html"
    colour = np.random.default_rng(0).integers(0, 256, (5, 7, 3))
    grey = np.arange(12).reshape(3, 4) * 20
    images = "".join(f'<img src="{data_uri(one)}">' for one in (colour, grey))
    file.write_text(f"<meta charset=utf-8>{images}", "utf-8")
    read = """all => all.map((one) => {
        const canvas = Object.assign(document.createElement("canvas"),
                                     {width: one.naturalWidth, height: one.naturalHeight});
        const context = canvas.getContext("2d");
        context.drawImage(one, 0, 0);
        return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
    })"""
    with opened(browser, file) as page:
        seen = page.locator("img").evaluate_all(read)
    np.testing.assert_array_equal(np.reshape(seen[0], (5, 7, 4))[..., :3], colour)
    np.testing.assert_array_equal(np.reshape(seen[1], (3, 4, 4))[..., 1], grey)


def test_every_figure_of_a_method_is_drawn(browser, monkeypatch, tmp_path):
    report = Report.of(register(monkeypatch, Foo), methods=["Foo"], compare=False)
    file = saved(report, tmp_path)
    with opened(browser, file) as page:
        draw_all(page)
        shown = page.locator("section#method0 .plot").evaluate_all("all => all.map(({id}) => id)")
        assert set(shown) == {"method0-scores", "method0-weights", "method0-history"}
        assert "Raise max_iter" in page.locator("#method0").inner_text()


@pytest.mark.parametrize("shape", [(2, 1), (30, 1), (3, 2)])
def test_small_tables_are_drawn(browser, shape, tmp_path):
    X = np.random.default_rng(0).standard_normal(shape)
    report = Report.of(X, target=np.arange(len(X)), compare=False, methods=["IncrementalPCA"])
    with opened(browser, saved(report, tmp_path)) as page:
        draw_all(page)


# -------------------------------------------------------------------------------- tables


def column(page, table, j):
    """Return the cells of a column as they are shown."""
    return page.locator(f"{table} tbody tr > :nth-child({j + 1})").all_text_contents()


def test_tables_sort_by_mouse_and_by_keyboard(harm):
    table, given = "#comparison-table", ["0.5", "0.25", "–", "100", "0.25", "–"]
    page = harm
    header = page.locator(f"{table} thead th").nth(1)
    assert column(page, table, 1) == given
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    # as numbers; empty ones last; equal ones in the order in which they were
    assert column(page, table, 1) == ["0.25", "0.25", "0.5", "100", "–", "–"]
    methods = [text.split()[1] for text in column(page, table, 0)]
    assert (methods[0], methods[1], methods[4], methods[5]) == ("1", "4", "2", "5")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    assert column(page, table, 1) == ["100", "0.5", "0.25", "0.25", "–", "–"]
    methods = [text.split()[1] for text in column(page, table, 0)]
    assert (methods[2], methods[3], methods[4], methods[5]) == ("1", "4", "2", "5")
    page.keyboard.press("Space")
    assert header.get_attribute("aria-sort") == "ascending"
    other = page.locator(f"{table} thead th").nth(0)
    other.locator("button").click()
    assert header.get_attribute("aria-sort") is None
    assert other.get_attribute("aria-sort") == "ascending"


def test_every_table_of_a_page_sorts(harm):
    page = harm
    unfold(page)
    buttons = page.locator("th button")
    assert buttons.count() > 30
    for _ in range(2):
        page.evaluate("document.querySelectorAll('th button').forEach((one) => one.click())")
    assert page.locator("th[aria-sort]").count() == page.locator("table.sortable").count()


def test_columns_are_sorted_by_their_numbers(tumours, cancer):
    report, _ = cancer
    means = [column["mean"] for column in report.data["quality"]["columns"]]
    names = [column["name"] for column in report.data["quality"]["columns"]]
    page = tumours
    button = page.locator("#columns-table th button", has_text="mean")
    button.click()
    order = [names[i] for i in np.argsort(means, kind="stable")]
    assert column(page, "#columns-table", 0) == order
    button.click()
    assert column(page, "#columns-table", 0) == order[::-1]


def test_filter_finds_columns(browser, kinds, tumours):
    _, file = kinds("wide")
    with opened(browser, file) as page:
        box = page.get_by_label("find a column")
        box.fill("X19")
        shown = page.locator("#columns-table tbody tr:visible td.name").all_text_contents()
        assert shown == ["x19", *(f"x19{i}" for i in range(10))]
        assert page.locator(".filter output").text_content() == "11 of 200"
        box.fill("<b>")
        assert page.locator("#columns-table tbody tr:visible").count() == 0
        box.fill("")
        assert page.locator("#columns-table tbody tr:visible").count() == 200
    assert tumours.locator("input[type=search]").count() == 0  # 30 columns need none


# -------------------------------------------------------------------------------- hostile text


def test_hostile_text_is_shown_and_runs_nothing(harm, hostile):
    report, _ = hostile
    page = harm
    draw_all(page)
    cells = page.locator("#columns-table td.name")
    for cell, described in zip(cells.all(), report.data["quality"]["columns"], strict=True):
        assert cell.get_attribute("title") == described["name"]
    assert "<b>x</b>" in cells.all_text_contents()
    assert report.data["title"] in page.locator("h1").inner_text()
    # plotly would have made tags of these
    shown = " ".join(page.locator(".plot text").all_text_contents())
    for name in ("<b>x</b>", "$x^2$", "%{y}", "🦄", "twice.1", "{{ 7 * 7 }}", "'\" & quotes"):
        assert name in shown
    assert "<img src=x" in page.locator("#scores .legend").text_content()
    assert "row 0 (<script>" in hover(page, "outliers")
    for trace in range(6):
        assert "<img src=x onerror=" in hover(page, "scores", trace)
    strong = report.data["loadings"][0]
    for rank in range(4):
        text = hover(page, "loadings", point=len(strong) - 1 - rank, along=0.5)
        assert text.startswith(strong[rank]["name"][:100])
    assert page.locator("main b:not(.facts b, .method b, .left b), main script").count() == 0


def test_hostile_text_is_inert_in_every_section(harm, hostile):
    report, _ = hostile
    data = report.data
    page = harm
    draw_all(page)
    # our own images alone, and what they are called is what it was
    assert page.locator("img:not([src^='data:image/png;base64,'])").count() == 0
    alts = page.locator("img").evaluate_all("all => all.map(({alt}) => alt)")
    assert sum(IMG in alt for alt in alts) == 2
    for place in ("short", "quality", "methods", "comparison", "left-out", "made"):
        assert IMG in page.locator(f"#{place}").inner_text(), place
    for i in range(7):
        assert IMG in page.locator(f"#method{i}").inner_text()
    # in the drop-downs, and in what they choose
    options = page.locator("#rows select[data-colour] option").all_text_contents()
    assert options[1] == SCRIPT
    assert options[2].startswith("<img src=x")
    for place in ("1", "2"):
        page.locator("#rows select[data-colour]").select_option(place)
        text = hover(page, "method3-scores")
        assert "<img src=x onerror=" in text
        assert "<script>" in text
    page.locator("#rows select[data-colour]").select_option("1")
    assert "<script>" in page.locator("#scores .colorbar").text_content()
    for name in ("<b>x</b>", "%{y}", "$x^2$"):  # a value and a name of the row
        assert name in text
    assert "<img src=x onerror=" in hover(page, "correlation", point=1)
    # the longest arrows, each at its tip
    for i in range(12):
        text = page.evaluate(
            """i => document.getElementById("scores").data
                     .find(({mode}) => mode === "lines+markers").customdata[3 * i + 1]""",
            i,
        )
        assert "<img" not in text
        assert "<script" not in text
    assert page.locator("main a[href]:not([href^='#'])").count() == 0
    assert [one["name"] for one in data["biplot"]["arrows"]][1] == IMG


def test_hostile_lines_are_copied_as_they_are(harm, hostile):
    report, _ = hostile
    page = harm
    left = page.locator("#left-out")
    left.get_by_label("Copy the shell lines").click()
    left.get_by_text("copied").wait_for()
    line = report.data["budget"]["left_out"][0]["shell"]
    assert page.evaluate("navigator.clipboard.readText()") == line
    left.get_by_label("Copy the Python lines").press("Enter")
    line = report.data["budget"]["left_out"][0]["python"]
    left.locator("button", has_text="copied").nth(1).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == line


# -------------------------------------------------------------------------------- how it looks

CONTRASTS = """() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const clear = (colour) => parts(colour)[3] === 0;
    const light = (colour) => parts(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (one) => {
    while (one && clear(getComputedStyle(one).backgroundColor)) one = one.parentElement;
    return one ? getComputedStyle(one).backgroundColor : "rgb(255, 255, 255)";
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = {};
    while (texts.nextNode()) {
    const one = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !one.checkVisibility()) continue;
    const style = getComputedStyle(one), drawn = one.closest("svg");
    const ink = drawn ? style.fill : style.color;
    const paper = drawn ? ground(drawn.closest(".plot")) : ground(one);
    const [low, high] = [light(ink), light(paper)].sort((a, b) => a - b);
    found[`${ink} on ${paper}`] = (high + 0.05) / (low + 0.05);
    }
    return found;
}"""


def test_text_stands_out_of_its_ground(harm):
    for scheme in ("dark", "light"):
        harm.locator("#theme").click()
        assert harm.locator("html").get_attribute("data-theme") == scheme
        found = harm.evaluate(CONTRASTS)
        assert len(found) >= 4
        assert min(found.values()) >= 4.5, found


def test_dark_and_light(browser, cancer):
    _, file = cancer
    ground = "getComputedStyle(document.body).backgroundColor"
    paper = "document.getElementById('scores')._fullLayout.paper_bgcolor"
    ink = "document.getElementById('scores')._fullLayout.font.color"
    black, white = "rgb(20, 24, 29)", "rgb(255, 255, 255)"
    with opened(browser, file, color_scheme="light") as page:
        drawn(page.locator("#scores"))
        assert page.evaluate(ground) == white
        assert page.evaluate(paper) == "#ffffff"
        page.emulate_media(color_scheme="dark")
        until(page, f"{paper} === '#14181d'")
        assert page.evaluate(ground) == black
        assert page.evaluate(ink) == "#e3e6ea"
        page.get_by_role("button", name="Show the page in light colours").press("Enter")
        assert page.evaluate(ground) == white
        assert page.evaluate(paper) == "#ffffff"
        page.emulate_media(color_scheme="light")
        page.emulate_media(color_scheme="dark")  # what the reader chose stays
        assert page.evaluate(ground) == white
        page.locator("#theme").click()
        assert page.evaluate(ground) == black
        assert page.evaluate(paper) == "#14181d"


def test_page_is_whole_on_paper(browser, hostile):
    _, file = hostile
    sheet = 688  # pixels between the margins of A4
    with opened(browser, file, width=sheet, color_scheme="dark") as page:
        page.emulate_media(media="print")
        until(page, "document.querySelectorAll('details:not([open])').length === 0")
        undrawn = "document.querySelectorAll('.plot:not(:has(.main-svg))').length"
        assert page.evaluate(undrawn) == 0
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        assert page.evaluate("document.getElementById('scree')._fullLayout.font.color") == (
            "#1d2430"
        )
        beyond = f"""[...document.querySelectorAll("main *")].filter(
            (one) => !one.closest("svg") && one.getBoundingClientRect().right > {sheet} + 1
        ).map((one) => one.outerHTML.slice(0, 90))"""
        assert page.evaluate(beyond) == []
        cut = """[...document.querySelectorAll(".scroll, pre, td")].filter(
            (one) => one.scrollHeight > one.clientHeight + 1 && one.clientHeight
                     && getComputedStyle(one).overflowY !== "visible").length"""
        assert page.evaluate(cut) == 0
        page.emulate_media(media="screen")
        until(page, "document.querySelectorAll('details[open]').length === 0")
        assert page.evaluate("document.getElementById('scree')._fullLayout.font.color") == (
            "#e3e6ea"
        )


def test_page_prints(tumours):
    assert tumours.pdf(format="A4").startswith(b"%PDF")
    until(tumours, "!view.printing")
    assert tumours.evaluate("document.getElementById('scree')._fullLayout.width") > 800


@pytest.mark.parametrize("which", ["cancer", "hostile"])
def test_page_fits_its_width(browser, which, request, tumours, harm):
    for page in (tumours, harm):
        assert page.evaluate("document.documentElement.scrollWidth") <= 1100
    _, file = request.getfixturevalue(which)
    with opened(browser, file, width=400) as page:
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


# -------------------------------------------------------------------------------- without a mouse


def test_everything_is_reached_by_keyboard(harm):
    reach = "a[href], button, select, input, summary, .scroll"
    page = harm
    unfold(page)
    page.evaluate(
        f"""[...document.querySelectorAll("{reach}")].filter((one) => one.checkVisibility())
            .forEach((one, i) => one.setAttribute("data-stop", i))"""
    )
    stops = page.locator("[data-stop]").count()
    seen = set()
    page.locator(".skip").focus()
    page.keyboard.press("Shift+Tab")  # out of the page
    for i in range(stops):
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            """() => [document.activeElement.dataset.stop,
                      getComputedStyle(document.activeElement).outlineStyle]"""
        )
        if i == 0:
            assert page.evaluate("document.activeElement.className") == "skip"
            assert page.locator(".skip").bounding_box()["x"] >= 0
        assert place is not None
        assert outline != "none"
        seen.add(place)
    assert len(seen) == stops  # each once: no trap


def test_links_lead_to_their_figures(harm):
    page = harm
    page.locator(".skip").press("Enter")
    assert page.evaluate("document.activeElement.id") == "short"
    assert page.locator("#short a").count() == 2  # of three: one leads nowhere
    for link in page.locator("nav a, #short a").all():
        goal = link.get_attribute("href")
        assert page.locator(goal).count() == 1
    link = page.locator("#short a").last
    assert link.text_content() == "0.25"
    link.press("Enter")
    assert page.url.endswith("#method3")
    assert abs(page.locator("#method3").bounding_box()["y"]) < 50


def test_everything_has_a_name(harm):
    page = harm
    unfold(page)
    for box in page.locator(".plot").all():
        assert len(box.get_attribute("aria-label")) > 20
        assert box.get_attribute("role") == "img"
    nameless = """() => [...document.querySelectorAll("select, input, button, summary, a")]
        .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length))
        .length"""
    assert page.evaluate(nameless) == 0
    assert page.locator("select, input").evaluate_all(
        "all => all.every((one) => one.labels[0].textContent.trim())"
    )
    assert page.locator("img:not([alt])").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator(".scroll:not([aria-label][role=region][tabindex])").count() == 0
    levels = page.locator("h1, h2, h3, h4").evaluate_all(
        "all => all.map(({tagName}) => Number(tagName[1]))"
    )
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1


# -------------------------------------------------------------------------------- elsewhere


def test_older_reports_still_give_a_page(browser, cancer, tmp_path):
    data = copy.deepcopy(cancer[0].data)
    for key in ("advice", "biplot", "budget", "comparison", "correlation", "image", "images"):
        data.pop(key)
    for key in ("lines", "seed", "times"):
        data.pop(key)
    for key in ("columns", "values", "colours"):
        data["rows"].pop(key)
    for key in ("text", "duplicates"):
        data["quality"].pop(key)
    for section in data["methods"]:
        for key in ("kind", "adds", "cells", "python", "shell", "images", "map", "map_of_pca"):
            section.pop(key, None)
    with opened(browser, saved(Report(data), tmp_path)) as page:
        draw_all(page)
        assert "row " in hover(page, "scores")


def test_fragment_is_drawn_in_a_notebook(browser, tmp_path):
    file = tmp_path / "notebook.html"
    report = Report.of(planted(), methods=(), compare=False)
    style = "<style>h2 { font-size: 3px }</style>"
    file.write_text(f"<meta charset=utf-8>{style}<h2>x</h2>{report._repr_html_()}", "utf-8")
    with opened(browser, file) as page:
        frame = page.frame_locator("iframe")
        drawn(frame.locator("#scores"))
        assert html.unescape(frame.locator("#short li").first.inner_text()) == report.findings[0]
        size = "heading => getComputedStyle(heading).fontSize"
        assert frame.locator("h2").first.evaluate(size) != "3px"
        assert page.locator("h2").evaluate(size) == "3px"
        frame.get_by_role("link", name="How it was made").click()  # within the frame
        assert frame.locator("#made").evaluate("one => one.getBoundingClientRect().top < 900")
        frame.get_by_text("Code and times").click()
        frame.locator("#made button[data-copy]").click()  # the clipboard is closed to a frame
        frame.locator("#made button", has_text="copied").or_(
            frame.locator("#made button", has_text="selected")
        ).wait_for()
