"""The report page as a reader sees it: in Chromium, without a network."""

import html
import os
import shutil
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from test_report import HOSTILE, Foo, planted, register

from eigenlens import datasets
from eigenlens.report import Report

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
def opened(browser, file, width=1100):
    """Open a page in a browser of its own; leaving checks that nothing went wrong meanwhile."""
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900})
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
    assert [url for url in asked if not url.startswith(("data:", "about:srcdoc"))] == [
        file.as_uri()
    ]
    context.close()


def drawn(box):
    """Scroll to a figure, which draws it, and wait until it is there."""
    box.scroll_into_view_if_needed()
    box.locator(".main-svg").first.wait_for()


def draw_all(page):
    for box in page.locator(".plot").all():
        drawn(box)


def points(page, figure):
    """Return the coordinates of all points of a figure, as plotly has them."""
    drawn(page.locator(f"#{figure}"))
    return page.evaluate(
        "id => document.getElementById(id).data.map(trace => [trace.x, trace.y])", figure
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


@pytest.fixture(scope="module")
def cancer(tmp_path_factory):
    table = datasets.breast_cancer()
    classes = np.array(table.target_names)[table.target]
    report = Report.of(table.X, names=table.names, target=classes, title="Tumours")
    file = tmp_path_factory.mktemp("page") / "cancer.html"
    report.save(file)
    return report, file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    n = len(HOSTILE)
    X = datasets.planted_subspace(60, n, rank=2, noise=0.2, random_state=0).X
    X[0] *= 9
    frame = pd.DataFrame(X, columns=HOSTILE, index=[HOSTILE[i % n] for i in range(60)])
    target = pd.Series([HOSTILE[i % 6] for i in range(60)], name=HOSTILE[1])
    report = Report.of(frame, target=target, title=HOSTILE[2], notes=HOSTILE[:4])
    file = tmp_path_factory.mktemp("page") / "hostile.html"
    report.save(file)
    return report, file


def test_page_is_quiet_and_small(browser, cancer):
    report, file = cancer
    assert file.stat().st_size < 8e6
    with opened(browser, file) as page:
        assert page.title() == "Tumours"
        draw_all(page)
        for finding in report.findings:
            assert finding in page.locator("#short").inner_text()


def test_hover_shows_the_row_its_class_and_its_scores(browser, cancer):
    report, file = cancer
    place = int(np.argmax(report.data["scores"][0]))  # at the edge, where no other is near
    kind = report.data["rows"]["target"]["classes"][place]
    trace = report.data["rows"]["target"]["levels"].index(kind)
    with opened(browser, file) as page:
        x, _ = points(page, "scores")[trace]
        text = hover(page, "scores", trace, int(np.argmax(x)))
        assert f"row {place}" in text
        assert f"class: {kind}" in text
        assert f"component 1 (44.3 %): {max(x):.3g}" in text
        worst = report.data["outliers"]["rows"][0]["row"]
        assert f"row {worst}" in hover(page, "outliers", 0, int(worst))


def test_drop_downs_choose_components(browser, cancer):
    report, file = cancer
    scores = report.data["scores"]
    with opened(browser, file) as page:
        page.locator("#rows select").first.select_option("2")
        across = [x for trace in points(page, "scores") for x in trace[0]]
        upwards = [y for trace in points(page, "scores") for y in trace[1]]
        np.testing.assert_allclose(sorted(across), sorted(scores[2]), rtol=1e-4)
        np.testing.assert_allclose(sorted(upwards), sorted(scores[1]), rtol=1e-4)
        assert page.locator("#scores .xtitle").text_content().startswith("component 3 (")
        page.locator("#columns select").select_option("1")
        names = page.locator("#loadings .ytick text").all_text_contents()
        assert names == [one["name"] for one in reversed(report.data["loadings"][1])]


def test_hostile_text_is_shown_and_runs_nothing(browser, hostile):
    report, file = hostile
    with opened(browser, file) as page:
        draw_all(page)
        cells = page.locator("#quality td.name")
        for cell, column in zip(cells.all(), report.data["quality"]["columns"], strict=True):
            assert cell.get_attribute("title") == column["name"]
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
        assert page.locator("main img, main b:not(.facts b), main script").count() == 0


@pytest.mark.parametrize("width", [400, 1100])
@pytest.mark.parametrize("which", ["cancer", "hostile"])
def test_page_fits_its_width(browser, which, width, request):
    _, file = request.getfixturevalue(which)
    with opened(browser, file, width) as page:
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_figure_of_a_method_is_drawn(browser, monkeypatch, tmp_path):
    report = Report.of(register(monkeypatch, Foo), methods=["Foo"])
    file = tmp_path / "foo.html"
    report.save(file)
    with opened(browser, file) as page:
        draw_all(page)
        shown = [box.get_attribute("id") for box in page.locator("section#method0 .plot").all()]
        assert shown == ["method0-scores", "method0-weights", "method0-history"]
        assert "Raise max_iter" in page.locator("#method0").inner_text()


@pytest.mark.parametrize("shape", [(2, 1), (30, 1), (3, 2)])
def test_small_tables_are_drawn(browser, shape, tmp_path):
    X = np.random.default_rng(0).standard_normal(shape)
    file = tmp_path / "small.html"
    Report.of(X, target=np.arange(len(X))).save(file)
    with opened(browser, file) as page:
        draw_all(page)


def test_fragment_is_drawn_in_a_notebook(browser, tmp_path):
    file = tmp_path / "notebook.html"
    report = Report.of(planted(), methods=())
    style = "<style>h2 { font-size: 3px }</style>"
    file.write_text(f"<meta charset=utf-8>{style}<h2>x</h2>{report._repr_html_()}", "utf-8")
    with opened(browser, file) as page:
        frame = page.frame_locator("iframe")
        drawn(frame.locator("#scores"))
        assert html.unescape(frame.locator("#short li").first.inner_text()) == report.findings[0]
        size = "heading => getComputedStyle(heading).fontSize"
        assert frame.locator("h2").first.evaluate(size) != "3px"
        assert page.locator("h2").evaluate(size) == "3px"
