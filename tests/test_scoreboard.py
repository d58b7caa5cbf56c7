"""What was measured is kept, shown with its quality, and said in the same way everywhere."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as command
from benchmarks import figures, results, scoreboard
from benchmarks.harness import Case, Contestant
from benchmarks.machine import disturbance
from benchmarks.report import Table
from benchmarks.results import Measured, Record
from benchmarks.score import Line, Race
from tools import scoreboard as pages

LIMITS = {"error": 0.01}
CURRENT = "run: python -m tools.scoreboard --write"


def line(name, seconds, error, MB=100.0, **more):
    return Line(name, seconds=seconds, MB=MB, measures={"error": error}, **more)


def record(*lines, benchmark="pca", case="tall", method="PCA", **more):
    race = Race(case, "a title", lines, **{"limits": LIMITS, "method": method} | more)
    measured = Measured("2026-01-02", "some versions; a machine.", "run it", 3.0)
    return Record(benchmark, race, measured)


OURS = line("eigenlens auto", 2.0, 0.001, note="full")
FLOOR = Line("floor: a product", floor=True, seconds=0.1, MB=1.0)
DISTURBED = record(OURS, line("quick", 1.0, 0.0), notes=tuple(disturbance(0.2)))
FAST, SLOW = line("fast", 1.0, 0.5), line("slow", 6.0, 0.002, MB=50.0)


# -------------------------------------------------------------------------------------- scoreboard


def test_the_peer_of_a_row_is_the_fastest_that_is_as_good():
    slower = line("slower", 8.0, 0.0)
    failed = Line("broken", failed="it did")
    (row,) = scoreboard.rows([record(FLOOR, OURS, FAST, slower, SLOW, failed)])
    assert (row.name, row.peer, row.counts) == ("pca/tall", SLOW, True)
    assert (row.time, row.memory) == (3.0, 0.5)


def test_where_no_peer_is_as_good_the_nearest_stands_in_brackets():
    nearest = line("near", 3.0, 0.02)
    (row,) = scoreboard.rows([record(OURS, FAST, nearest, line("lost", 1.0, math.nan))])
    assert (row.peer, row.counts) == (nearest, False)
    cells = scoreboard.cells(row)
    assert "(near)" in cells
    assert "(1.50)" in cells


@pytest.mark.parametrize(
    "lonely", [record(OURS, FLOOR), record(SLOW, FAST), record(OURS, SLOW, limits={})]
)
def test_without_a_peer_or_ours_or_a_quality_there_is_no_row(lonely):
    assert scoreboard.rows([lonely]) == []


def test_peers_that_are_ahead_are_named():
    def told(*peers, ours=OURS):
        return scoreboard.ahead(scoreboard.rows([record(ours, *peers)]))

    assert told(line("equal", 2.5, 0.001)) == []
    assert told(FAST) == []  # it misses the quality
    assert told(line("quick", 1.0, 0.001)) == ["pca/tall: `quick` takes 0.50 of the time of ours."]
    assert told(line("close", 3.0, -0.01)) == [
        "pca/tall: `close` is closer, -0.01 against 0.001 (error), in 1.5 times the time."
    ]
    assert told(SLOW) == [
        "pca/tall: `slow` takes 50 MB where ours takes 100, in 3.0 times the time."
    ]
    assert told(SLOW, ours=replace(OURS, measures={"error": 0.1})) == [
        "pca/tall: ours misses the quality asked for."
    ]


def test_methods_have_the_median_and_the_ends_of_their_cases():
    records = [
        record(replace(OURS, seconds=1.0), line("scikit-learn cd", s, 0.0), case=f"{s}")
        for s in (2.0, 30.0, 4.0)
    ]
    table = scoreboard.by_method([*records, record(OURS, FAST, case="lost")])
    last = table.splitlines()[-1]
    assert last == (
        "| `PCA` | 4, 1 where no peer is as good | 4.0 (2.0 to 30) | 1.0 (1.0 to 1.0) "
        "| scikit-learn | error ≤ 0.01 |"
    )
    assert "In none of 3 cases" in scoreboard.behind(records)
    assert scoreboard.by_method([*records, DISTURBED]) == scoreboard.by_method(records)
    assert scoreboard.behind([*records, DISTURBED]) == scoreboard.behind(records)
    quick = record(OURS, line("quick", 1.0, 0.0))
    assert "In 1 of 4 cases" in scoreboard.behind([*records, quick])
    assert "`quick` in pca/tall (0.50)" in scoreboard.behind([quick])


def test_first_fits_are_shown_warm_cold_and_compiling():
    ours = replace(OURS, cold=4.0, compiling=9.0)
    text = scoreboard.markdown([record(ours, replace(SLOW, cold=7.0))])
    assert "| pca/tall | 2.000 | 4.000 | 9.000 | slow | 6.000 | 7.000 |  |" in text
    assert "first fit" not in scoreboard.markdown([record(OURS, SLOW)])


# -------------------------------------------------------------------------------------- the record


def test_what_is_written_is_read_again(tmp_path):
    odd = line("odd", 1.23456789, math.nan, MB=0.0, threads=2, note="a|b")
    table = Table("white", "of text", ["what", "how"], [["a|b", "1 %"]], ["a note"])
    text = Record("rank", table, Measured("2026-01-03", "other versions.", "run that", 5.0))
    known = {each.name: each for each in (text, record(FLOOR, OURS, odd, notes=("said",)))}
    results.write(known, tmp_path)
    again = results.read(tmp_path)
    assert list(again) == ["pca/tall", "rank/white"]  # in the order of the benchmarks
    assert again["rank/white"] == text
    found = again["pca/tall"]
    assert found.measured == known["pca/tall"].measured
    assert found.told.lines[:2] == (FLOOR, OURS)
    assert found.told.lines[2].seconds == 1.23457
    assert found.told.lines[2].MB == 0
    assert math.isnan(found.told.lines[2].measures["error"])
    assert "NaN" not in (tmp_path / "results.json").read_text(encoding="utf-8")
    assert (found.told.limits, found.told.notes) == (LIMITS, ["said"])

    page = (tmp_path / "RESULTS.md").read_text(encoding="utf-8")
    assert (
        page.index("## The scoreboard") < page.index("### pca/tall") < page.index("### rank/white")
    )
    assert "a\\|b" in page
    assert "`run it` on (a), 2026-01-02, 3 s in all" in page
    assert "- (b): other versions." in page
    assert "earlier" not in page


def test_records_are_replaced_case_by_case_and_forgotten_with_their_case(tmp_path):
    for case, error in (("tall", 0.1), ("wide", 0.2), ("tall", 0.3)):
        race = record(line("eigenlens", 1.0, error), case=case).told
        results.put("pca", race, "run it", 1.0, tmp_path / "new")
    folder = tmp_path / "new"
    found = {name: each.told.lines[0].measures for name, each in results.read(folder).items()}
    assert found == {"pca/wide": {"error": 0.2}, "pca/tall": {"error": 0.3}}
    results.prune("pca", ["tall"], folder)
    results.prune("rank", [], folder)
    assert list(results.read(folder)) == ["pca/tall"]


def test_a_case_is_known_on_the_same_machine_with_the_same_contestants():
    here = Contestant("eigenlens auto", "numpy", None)
    absent = Contestant("other", "package_that_nobody_has", None)
    case = Case("tall", "a title", None, {}, {}, None, LIMITS, (here, absent))
    known = record(OURS)
    known = replace(known, measured=replace(known.measured, on=results.describe()))
    assert results.done(known, case)
    assert not results.done(None, case)
    disturbed = replace(known.told, notes=DISTURBED.told.notes)
    assert not results.done(replace(known, told=disturbed), case)
    assert not results.done(record(OURS), case)  # of another machine
    assert not results.done(known, replace(case, title="another title"))
    assert not results.done(
        known, replace(case, contestants=(*case.contestants, replace(here, name="x")))
    )
    assert results.done(known, None)  # tables without a case are known by their name


@pytest.fixture
def benchmarks(monkeypatch):
    """Put three benchmarks in place of the real ones: good, one that breaks, and another good."""
    ran = []

    def tables(name):
        def run(options):
            for case in ("first", "second"):
                if options.wants(case):
                    ran.append(f"{name}/{case}")
                    yield Table(case, "t", ["what"], [["it"]])

        return run

    def broken(options):
        yield Table("first", "t", ["what"], [["it"]])
        raise ValueError("it broke")

    modules = {
        "one": SimpleNamespace(run=tables("one"), TABLES=("first", "second")),
        "broken": SimpleNamespace(run=broken, TABLES=("first",)),
        "two": SimpleNamespace(run=tables("two"), TABLES=("first", "second")),
    }
    for place in (command, results):
        monkeypatch.setattr(place, "BENCHMARKS", {name: name for name in modules})
    monkeypatch.setattr(command, "import_module", modules.get)
    monkeypatch.setattr(results, "about", lambda path: path)
    return ran


def test_all_go_on_after_one_that_breaks_and_keep_what_they_have(benchmarks, tmp_path, capsys):
    with pytest.raises(SystemExit, match="broken: ValueError: it broke"):
        command.main(["all", "--write", "--results", str(tmp_path)])
    assert benchmarks == ["one/first", "one/second", "two/first", "two/second"]
    assert list(results.read(tmp_path)) == [*benchmarks[:2], "broken/first", *benchmarks[2:]]
    assert "one/first: 0 s" in capsys.readouterr().out


def test_what_is_missing_is_run_and_nothing_else(benchmarks, tmp_path, capsys):
    arguments = ["one", "--write", "--results", str(tmp_path)]
    command.main([*arguments, "--case", "second"])
    command.main([*arguments, "--missing"])
    assert benchmarks == ["one/second", "one/first"]
    command.main([*arguments, "--missing"])
    assert len(benchmarks) == 2
    assert "known of this machine" in capsys.readouterr().out
    command.main(arguments)
    assert len(benchmarks) == 4


# --------------------------------------------------------------------------------------- the pages


def test_results_are_those_of_the_record():
    page = (results.FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    assert page == results.page(list(results.read().values())), CURRENT


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)
def test_pages_say_what_was_measured(page):
    text = page.read_text(encoding="utf-8")
    made = pages.PAGES[page](list(results.read().values()))
    assert text == pages.with_speed(text, made), CURRENT


def test_no_recorded_time_is_without_its_quality():
    races = [each.told for each in results.read().values() if isinstance(each.told, Race)]
    lines = [(race, one) for race in races for one in race.lines if not one.floor]
    assert len(lines) > 100
    for race, one in lines:
        assert one.failed or one.measures.keys() >= race.limits.keys()
        assert one.failed or one.measures
    for row in scoreboard.rows(results.read().values()):
        cells = scoreboard.cells(row)
        assert all(cells[-4:]), cells


def test_figures_that_a_page_shows_are_there_and_small():
    drawn = {each.benchmark for each in results.read().values()}
    for benchmark, text in pages.FIGURES.items():
        path = pages.IMAGES / text.partition("images/")[2].partition(")")[0]
        assert path.exists() == (benchmark in drawn)
        assert not path.exists() or path.stat().st_size < 60_000


# --------------------------------------------------------------------------------------- figures


def drawn(panel, *races):
    figure = figures.panels({"PCA": [each.told for each in races]}, panel, "best")
    return figure.axes[0]


def points(ax, label):
    (curve,) = [one for one in ax.get_lines() if one.get_label() == label]
    return list(zip(*curve.get_data(), strict=True))


def test_quality_is_drawn_as_excess_over_the_least_objective():
    lines = [
        Line(f"{name}, {m} iterations", seconds=m * step, measures={"objective": value})
        for name, step, values in (("a peer", 2.0, (8.0, 6.0)), ("eigenlens", 1.0, (6.0, 4.0)))
        for m, value in zip((1, 2), values, strict=True)
    ]
    ax = drawn(figures.quality_against_time, record(*lines, limits={}, benchmark="iterations"))
    assert points(ax, "eigenlens") == [(1, 0.5), (2, figures.LEAST)]
    assert points(ax, "a peer") == [(2, 1), (4, 0.5)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["eigenlens", "a peer"]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_time_is_drawn_by_rows_with_a_ring_around_what_misses_the_quality():
    races = [
        record(line("eigenlens", n / 100, 0.0), line("peer", n / 10, error), case=f"PCA {n}")
        for n, error in ((100, 0.0), (1000, 0.5))
    ]
    ax = drawn(figures.time_against_size, *races)
    assert points(ax, "eigenlens") == [(100, 1), (1000, 10)]
    assert points(ax, "peer") == [(100, 10), (1000, 100)]
    (ring,) = [one for one in ax.get_lines() if one.get_linestyle() == "None"]
    assert list(zip(*ring.get_data(), strict=True)) == [(1000, 100)]


def test_figures_are_small_files(tmp_path):
    lines = [
        Line(f"eigenlens, {m} iterations", seconds=m, measures={"objective": 1 / m}) for m in (1, 2)
    ]
    records = [
        record(*lines, benchmark="iterations", case="NMF", method="NMF", limits={}),
        record(OURS, SLOW, benchmark="size", case="PCA 10"),
        record(OURS, SLOW),
    ]
    paths = figures.draw(records, tmp_path)
    assert [path.name for path in paths] == ["speed_iterations.png", "speed_size.png"]
    assert all(2000 < path.stat().st_size < 60_000 for path in paths)
    assert figures.draw(records[2:], tmp_path) == []
