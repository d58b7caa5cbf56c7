import subprocess
import sys

import numpy as np
import pytest

from eigenlens import datasets


def test_planted_subspace_is_the_sum_of_its_parts():
    problem = datasets.planted_subspace(40, 7, 3, noise=0.2, mean=np.arange(7), random_state=0)
    assert problem.X.shape == (40, 7)
    np.testing.assert_allclose(problem.components @ problem.components.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(
        problem.X, problem.mean + problem.scores @ problem.components + problem.noise
    )
    np.testing.assert_array_equal(problem.mean, np.arange(7))


def test_planted_subspace_has_the_deviations_asked_for():
    problem = datasets.planted_subspace(20_000, 5, 3, noise=0.3, decay=0.5, random_state=0)
    np.testing.assert_array_equal(problem.deviations, [1, 0.5, 0.25])
    np.testing.assert_allclose(problem.scores.std(axis=0), problem.deviations, rtol=0.03)
    np.testing.assert_allclose(problem.noise.std(), 0.3, rtol=0.03)


def test_planted_subspace_follows_the_seed():
    one, two = (datasets.planted_subspace(random_state=seed).X for seed in (0, 0))
    np.testing.assert_array_equal(one, two)
    other = datasets.planted_subspace(random_state=np.random.default_rng(1)).X
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("rank", [0, 6])
def test_planted_subspace_refuses_a_rank_out_of_range(rank):
    with pytest.raises(ValueError, match=f"rank={rank} .* n_features=5"):
        datasets.planted_subspace(10, 5, rank)


def test_planted_pursuit_is_the_sum_of_its_parts():
    problem = datasets.planted_pursuit(50, 30, 4, density=0.1, random_state=0)
    np.testing.assert_array_equal(problem.X, problem.low_rank + problem.sparse)
    assert problem.X.shape == (50, 30)
    assert np.linalg.matrix_rank(problem.low_rank) == 4


def test_planted_pursuit_is_the_trial_of_candes_et_al():
    """Factors have variance 1 / n, n the larger side; errors are +-1 at random, in random cells."""
    problem = datasets.planted_pursuit(400, 300, 20, density=0.05, random_state=0)
    assert problem.low_rank.std() == pytest.approx(20**0.5 / 400, rel=0.05)
    wrong = problem.sparse != 0
    assert wrong.mean() == pytest.approx(0.05, rel=0.05)
    np.testing.assert_allclose(wrong.mean(axis=1).std(), (0.05 * 0.95 / 300) ** 0.5, rtol=0.15)
    np.testing.assert_array_equal(np.abs(problem.sparse[wrong]), 1)
    agree = np.mean(problem.sparse[wrong] == np.sign(problem.low_rank[wrong]))
    assert agree == pytest.approx(0.5, abs=0.03)


def test_planted_pursuit_has_the_errors_holes_and_noise_asked_for():
    options = {"density": 0.2, "magnitude": 7.0, "random_state": 0}
    exact = datasets.planted_pursuit(300, 200, 5, **options)
    coherent = datasets.planted_pursuit(300, 200, 5, coherent=True, **options)
    wrong = coherent.sparse != 0
    assert wrong.mean() == pytest.approx(0.2, rel=0.05)
    np.testing.assert_array_equal(coherent.sparse[wrong], 7 * np.sign(coherent.low_rank[wrong]))
    holey = datasets.planted_pursuit(300, 200, 5, missing=0.3, **options)
    holes = np.isnan(holey.X)
    assert holes.mean() == pytest.approx(0.3, rel=0.03)
    assert not holey.sparse[holes].any()
    assert np.all(np.isfinite(holey.low_rank))
    assert np.mean(holey.sparse[~holes] != 0) == pytest.approx(0.2, rel=0.05)
    np.testing.assert_array_equal(holey.low_rank, exact.low_rank)
    noisy = datasets.planted_pursuit(300, 200, 5, noise=0.3, **options)
    rest = noisy.X - noisy.low_rank - noisy.sparse
    assert rest.std() == pytest.approx(0.3, rel=0.02)


def test_planted_pursuit_follows_the_seed():
    one, two = (datasets.planted_pursuit(30, 20, 2, random_state=0).X for _ in range(2))
    np.testing.assert_array_equal(one, two)
    other = datasets.planted_pursuit(30, 20, 2, random_state=np.random.default_rng(1)).X
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("rank", [0, 6])
def test_planted_pursuit_refuses_a_rank_out_of_range(rank):
    with pytest.raises(ValueError, match=f"rank={rank} .* n_features.=5. Ask for a smaller rank"):
        datasets.planted_pursuit(10, 5, rank)


def test_breast_cancer():
    table = datasets.breast_cancer()
    assert table.X.shape == (569, 30)
    assert len(table.names) == 30
    assert table.target.shape == (569,)
    assert table.target_names == ("malignant", "benign")


def test_datasets_do_not_load_estimators():
    code = (
        "import sys, eigenlens.datasets; print({'sklearn', 'eigenlens._base'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


# ------------------------------------------------------------------- data that packages carry


@pytest.fixture
def originals(tmp_path, monkeypatch):
    """Name a folder for the original data; give a function that puts a file there."""
    monkeypatch.setenv("EIGENLENS_DATA", str(tmp_path))
    return lambda name, **arrays: np.savez(tmp_path / name, **arrays)


@pytest.fixture
def without_originals(monkeypatch):
    monkeypatch.delenv("EIGENLENS_DATA", raising=False)


def test_original_is_none_where_no_folder_is_named_or_the_folder_does_not_have_it(
    originals, monkeypatch
):
    assert datasets.original("olivetti.npz") is None
    originals("olivetti.npz", X=np.eye(2))
    np.testing.assert_array_equal(datasets.original("olivetti.npz")["X"], np.eye(2))
    monkeypatch.setenv("EIGENLENS_DATA", "")
    assert datasets.original("olivetti.npz") is None


def test_original_runs_nothing_of_a_file(originals):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("a file has run code",)

    originals("news.npz", X=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        datasets.original("news.npz")


def test_a_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("EIGENLENS_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"EIGENLENS_DATA=.*nowhere is not a folder"):
        datasets.digits()


def test_digits_are_the_small_ones_or_the_originals(originals, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 256), dtype=np.float32), np.arange(1, 31) % 10 + 1  # a copy with ten
    originals("usps.npz", X_train=X[:20], X_test=X[20:], y_train=y[:20], y_test=y[20:])
    usps = datasets.digits()
    assert (usps.X.dtype, usps.shape) == (np.float64, (16, 16))
    np.testing.assert_array_equal(usps.X, X)
    np.testing.assert_array_equal(usps.labels, y % 10)
    monkeypatch.delenv("EIGENLENS_DATA")
    small = datasets.digits()
    assert (small.X.shape, small.shape, small.X.max()) == ((1797, 64), (8, 8), 1)


@pytest.mark.parametrize(("name", "file"), [("olivetti", "olivetti"), ("cbcl", "cbcl_faces")])
def test_faces_are_brightnesses_from_zero_to_one(name, file, originals, monkeypatch):
    shape = {"olivetti": (64, 64), "cbcl": (19, 19)}[name]
    X = np.arange(2 * shape[0] * shape[1], dtype=np.uint32).reshape(2, -1) % 256
    originals(f"{file}.npz", X=X.astype(np.uint8))
    images = datasets.faces(name)
    assert (images.shape, images.source) == (shape, f"{name} faces")
    np.testing.assert_allclose(images.X * 255, X)
    monkeypatch.delenv("EIGENLENS_DATA")
    if name == "cbcl":
        carried = datasets.faces(name)
        assert (carried.X.shape, carried.shape) == ((100, 625), (25, 25))
        assert carried.X.min() >= 0
        assert 0.9 < carried.X.max() <= 1


def test_faces_that_scikit_learn_has_downloaded_are_taken(without_originals, monkeypatch):
    from sklearn import datasets as theirs

    def fetch(*, download_if_missing):
        assert not download_if_missing
        if not fetch.there:
            raise OSError("Data not found and `download_if_missing` is False")
        return type("Bunch", (), {"data": np.ones((400, 4096), np.float32), "target": None})

    monkeypatch.setattr(theirs, "fetch_olivetti_faces", fetch)
    for there, side in ((True, 64), (False, 25)):
        fetch.there = there
        assert datasets.faces().shape == (side, side)


def test_faces_of_another_name_are_refused():
    with pytest.raises(ValueError, match=r"name='yale' is not .* 'olivetti' or 'cbcl'\."):
        datasets.faces("yale")


def test_news_are_postings_or_docstrings(originals, monkeypatch):
    words = np.array(["aids", "baseball"])
    originals("20news_w100.npz", X=np.array([[0, 1]], np.uint8), words=words)
    postings = datasets.news()
    assert (postings.X.dtype, postings.source) == (np.float64, "news postings")
    np.testing.assert_array_equal(postings.words, words)
    monkeypatch.delenv("EIGENLENS_DATA")
    table = datasets.news()
    assert table.X.shape == (len(datasets.docstrings()), 100)
    assert set(np.unique(table.X)) == {0, 1}
    assert np.all((table.X.mean(axis=0) >= 0.1) & (table.X.mean(axis=0) <= 0.6))
    assert {"regression", "sparse"} <= set(table.words)
    assert "the" not in table.words
