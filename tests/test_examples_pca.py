"""The examples on principal components: what they are, and how many to keep."""

import numpy as np
import pytest
from real_data import real_folder

from eigenlens import PCA


@pytest.fixture
def gaussian(run):
    return run("pca/gaussian_axes")


def test_the_gaussian_is_recovered(gaussian):
    pca, X = gaussian["pca"], gaussian["X"]
    assert X.shape == (1000, 2)
    np.testing.assert_allclose(pca.mean_, [-1, 2], atol=0.15)
    np.testing.assert_allclose(pca.get_covariance(), [[4, 2], [2, 2]], atol=0.3)
    values, vectors = np.linalg.eigh(gaussian["COVARIANCE"])
    assert values == pytest.approx([3 - np.sqrt(5), 3 + np.sqrt(5)])
    assert vectors[1, 1] / vectors[0, 1] == pytest.approx((np.sqrt(5) - 1) / 2)
    assert gaussian["slope"] == pytest.approx((np.sqrt(5) - 1) / 2, abs=0.05)
    assert pca.explained_variance_ratio_[0] == pytest.approx(0.88, abs=0.005)
    # the scores: uncorrelated, and as far from each other as the points
    scores = gaussian["scores"]
    np.testing.assert_allclose(np.cov(scores.T), np.diag(pca.explained_variance_), atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(scores[1:] - scores[0], axis=1), np.linalg.norm(X[1:] - X[0], axis=1)
    )


def test_by_hand_is_the_same_to_rounding(gaussian):
    assert set(gaussian["apart"]) == {"variances", "components", "scores"}
    assert max(gaussian["apart"].values()) < 1e-12
    assert np.abs(gaussian["components"]).max() > 0.8  # it is not the difference of nothing


def test_the_error_of_one_component_is_the_variance_left_out(gaussian):
    pca, along, across = gaussian["pca"], gaussian["along"], gaussian["across"]
    assert gaussian["squared_error"] == pytest.approx(pca.explained_variance_[1], rel=1e-12)
    errors = gaussian["X"] - gaussian["restored"]
    np.testing.assert_allclose(errors @ pca.components_[0], 0, atol=1e-12)  # perpendicular
    # any other line is farther, and both variances add up for all of them
    np.testing.assert_allclose(along + across, pca.total_variance_)
    assert pca.total_variance_ == pytest.approx(6.1, abs=0.05)
    assert across.min() > gaussian["squared_error"]
    assert np.degrees(gaussian["angles"][across.argmin()]) == pytest.approx(
        gaussian["first_angle"], abs=0.6
    )


def test_one_variance_made_larger(gaussian):
    shares, standard, errors = (
        np.array(gaussian[name]) for name in ("shares", "standard", "errors")
    )
    sizes, turned = gaussian["sizes"], np.array(gaussian["turned"])
    assert (sizes[0], sizes[-1]) == pytest.approx((4, 400))
    assert turned[0] > 30
    assert (np.diff(turned) < 0).all()
    assert turned[-1] < 0.5
    assert shares[1] < shares[0]  # the dip
    assert shares[0] - shares[1] < 0.03
    assert (np.diff(shares[1:]) > 0).all()
    assert shares[-1] > 0.99
    assert (np.diff(errors) > 0).all()
    assert errors[[0, -1]] == pytest.approx([0.7, 1.9], abs=0.05)
    assert (np.diff(standard) < 0).all()
    assert standard[-1] == pytest.approx(0.53, abs=0.01)
    # the formulas of the lines
    for i, size in enumerate(sizes):
        values, vectors = np.linalg.eigh([[size, 2], [2, 2]])
        assert (gaussian["smallest"][i], gaussian["largest"][i]) == pytest.approx(tuple(values))
        x, y = vectors[:, 1]
        assert gaussian["expected_angle"][i] == pytest.approx(np.degrees(np.arctan(y / x)))
        r = np.corrcoef(gaussian["gaussian"]([[size, 2], [2, 2]]).T)[0, 1]
        assert standard[i] == pytest.approx((1 + r) / 2)
        assert (1 + r) / 2 == pytest.approx((1 + np.sqrt(2 / size)) / 2, abs=0.03)
    np.testing.assert_allclose(turned, gaussian["expected_angle"], atol=1.5)
    np.testing.assert_allclose(errors, gaussian["smallest"], rtol=0.06)


@pytest.fixture
def geometry(run):
    return run("pca/svd_geometry")


def test_each_line_wins_by_its_own_measure(geometry):
    slopes, vertical, perpendicular = (
        geometry[name] for name in ("slopes", "vertical", "perpendicular")
    )
    assert min(vertical, key=vertical.get) == "least squares"
    assert min(perpendicular, key=perpendicular.get) == "PCA"
    found = [slopes[name] for name in ("least squares", "PCA", "columns exchanged")]
    assert found == pytest.approx([0.7, 1.0, 1.3], abs=0.05)
    # the distances that were added up are those that PCA leaves
    left = PCA().fit(geometry["cloud"]).singular_values_[1] ** 2
    assert perpendicular["PCA"] == pytest.approx(left)


def test_the_closest_plane(geometry):
    points, spiral, plane = geometry["points"], geometry["spiral"], geometry["plane"]
    assert len(points) == 200
    assert geometry["off"] < 2
    # coordinates: the spiral up to a turn or a reflection, and noise
    scores = plane.transform(points)
    true = spiral - spiral.mean(axis=0)
    U, _, Vt = np.linalg.svd(scores.T @ true)
    assert np.sqrt(np.mean((scores @ U @ Vt - true) ** 2)) == pytest.approx(0.2, abs=0.02)
    # Eckart and Young
    np.testing.assert_allclose(geometry["measured"], geometry["expected"], atol=1e-10)
    assert geometry["expected"][0] > geometry["expected"][1] > geometry["expected"][2] > 1
    assert max(geometry["apart"].values()) < 1e-12
    assert (len(geometry["tried"]), np.sum(geometry["tilts"][5000:] < 6)) == (10_000, 5000)
    assert geometry["tried"].min() > geometry["measured"][2]
    assert geometry["tried"].min() < 1.01 * geometry["measured"][2]  # and some came near


def test_the_mean_comes_off_first(geometry):
    assert geometry["to_mean"] < 1
    assert 4 < geometry["uncentred"] / geometry["measured"][2] < 6
    distances, to_axis, from_mean = (
        np.array(geometry[name]) for name in ("distances", "to_axis", "from_mean")
    )
    assert to_axis[0] < 1e-4  # the mean is at the origin
    far = distances >= 5
    assert from_mean[far].max() < 5
    assert to_axis[far].min() > 45
    # at five units, which is less than the spiral is wide
    assert np.ptp(geometry["plane"].transform(geometry["points"]), axis=0).max() > 5


def test_small_singular_values_need_the_svd(geometry):
    relative, sizes = geometry["relative"], geometry["sizes"]
    nano = np.argmin(np.abs(sizes - 1e-9))
    assert sizes[nano] == pytest.approx(1e-9)
    assert relative["full"][nano] < 1e-5
    assert relative["covariance_eigh"][nano] > 0.9
    assert relative["covariance_eigh"][0] < 1e-9  # where they are large, both are right
    assert relative["full"].max() < 0.01
    assert all(all(held) for held in geometry["certified"].values())
    assert geometry["chosen"] == ["full", "covariance_eigh"]
    # where nothing is lost, the formula is right
    L = geometry["laeuchli"](0.5)
    np.testing.assert_allclose(L.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.svd(L)[1][1:], np.sqrt(2) * 0.5)


def monotone(values):
    steps = np.diff(values)
    return (steps > 0).all() or (steps < 0).all()


def check_threes(found):
    """Check what holds for any threes: the images, the scores, the neighbours of the grid."""
    pca, threes, display = found["pca"], found["threes"], found["display"]
    nearest = found["nearest"].reshape(5, 5)
    assert len(np.unique(nearest)) == 25
    middle = display.images[2, 2].ravel()
    expected = pca.mean_ + [display.across[2], display.down[2]] @ pca.components_
    np.testing.assert_allclose(middle, expected, atol=1e-12)
    # the threes nearest to the grid are in its order, and carry their images
    assert (np.diff(found["scores"][nearest, 0], axis=1) > 0).all()
    assert (np.diff(found["scores"][nearest, 1], axis=0) < 0).all()
    height, width = found["digits"].shape
    corner = found["tiles"][:height, -width:]
    np.testing.assert_array_equal(corner.ravel(), threes[nearest[0, -1]])
    both = PCA().fit(threes).explained_variance_ratio_[:2].sum()
    assert found["share"] == pytest.approx(both)


def test_small_threes(run):
    found = run("pca/digits_three")
    assert found["digits"].source.startswith("small")
    assert len(found["threes"]) == 183
    assert found["share"] == pytest.approx(0.36, abs=0.01)
    check_threes(found)
    image = np.zeros((8, 8))
    image[7, [1, 5]], image[0, 6], image[4, 3] = 1, 1, 2  # of these only the last row is the bottom
    seen = {name: values.item() for name, values in found["measures"](image).items()}
    assert seen == pytest.approx({"ink": 5, "width": 2, "top": 6, "lean": 3})
    first, second = found["along"].values()
    assert monotone(first["width"])
    assert first["width"][-1] / first["width"][0] == pytest.approx(2 / 3, abs=0.05)
    assert monotone(first["lean"])
    assert first["lean"][0] < -0.5 < 0 < first["lean"][-1]
    assert monotone(second["top"])
    assert second["top"][-1] - second["top"][0] == pytest.approx(-0.5, abs=0.1)
    assert np.ptp(second["width"]) < 0.05 * second["width"].mean()
    for along in (first, second):
        assert np.ptp(along["ink"]) < 0.05 * along["ink"].mean()
    r = found["correlation"]
    assert r["lean"][0] == pytest.approx(0.8, abs=0.05)
    assert r["width"][0] == pytest.approx(-0.8, abs=0.05)
    assert r["top"][1] == pytest.approx(-0.6, abs=0.05)
    assert np.abs(r["ink"]).max() < 0.2


def test_threes_of_usps(run):
    found = run("pca/digits_three", data=real_folder("usps.npz"))
    assert found["digits"].source.startswith("USPS")
    assert found["share"] == pytest.approx(0.22, abs=0.01)
    check_threes(found)
    first, second = found["along"].values()
    # along the first the bottom curve becomes longer, along the second strokes become thicker
    assert monotone(first["width"])
    assert first["width"][[0, -1]] == pytest.approx([2, 4], abs=0.2)
    assert np.ptp(second["width"]) < 0.15 * second["width"].mean()
    assert monotone(second["ink"])
    assert second["ink"][-1] / second["ink"][0] == pytest.approx(1.9, abs=0.1)
    r = found["correlation"]
    assert r["width"] == pytest.approx([0.8, 0], abs=0.15)
    assert r["ink"] == pytest.approx([0.6, 0.7], abs=0.05)
    # to both sides: the ink at the lower left, and how far the lower part comes to the right
    images, scores = found["threes"].reshape(-1, 16, 16), found["scores"]
    tail = images[:, 10:, :5].sum(axis=(1, 2))
    on = images[:, 10:].max(axis=1) > 0.5
    right = 15 - on[:, ::-1].argmax(axis=1)
    for side in (tail, right):
        to_first, to_second = np.corrcoef(side, scores.T)[0, 1:]
        assert to_first > 0.65
        assert abs(to_second) < to_first - 0.3
    # 130 of them, as in the book, say the same
    few = PCA(2).fit(found["threes"][:130]).transform(found["threes"])
    for name, wanted in (("width", [0.8, 0.1]), ("ink", [0.5, 0.7])):
        r = np.corrcoef(found["written"][name], few.T)[0, 1:]
        assert r == pytest.approx(wanted, abs=0.05)


@pytest.fixture
def shares(run):
    return run("pca/components_for_variance")


def test_components_for_a_share(shares):
    added_up, enough = shares["added_up"], shares["enough"]
    assert shares["X"].shape == (1797, 64)
    assert enough == 29
    assert added_up[enough - 2] < 0.95 < added_up[enough - 1]
    assert added_up[[4, 19]] == pytest.approx([0.545, 0.89], abs=0.005)
    # the error is what was left out, and the images were restored from the components
    assert shares["kept"] == (5, 20, 29)
    for k in shares["kept"]:
        assert shares["lost"][k] == pytest.approx(shares["left_out"][k], rel=1e-10)
    errors = [np.mean((shares["X"] - shares["restored"][k]) ** 2) for k in shares["kept"]]
    assert errors[0] > 4 * errors[1] > 8 * errors[2]
    assert sorted(shares["digits"].labels[shares["first"]]) == list(range(10))


def test_noise_and_the_number_of_components(shares):
    names = (0.95, "parallel", "consensus", "nearest to the truth")
    share, parallel, consensus, best = (np.array(shares["found"][name]) for name in names)
    off = {name: np.array(shares["errors"][name]) for name in names}
    assert shares["noises"] == (0.0, 0.1, 0.2, 0.4)
    # noise takes components for the share, and takes them from the rule and from the best
    assert (np.diff(share) > 0).all()
    assert share[-1] > 0.85 * 64
    assert (np.diff(consensus) <= 0).all()
    assert consensus[-1] < consensus[0] / 3
    assert (np.diff(best) < 0).all()
    np.testing.assert_allclose(consensus[2:], best[2:], atol=2)
    assert (share[2:] > 3 * best[2:]).all()
    assert abs(share[1] - best[1]) < abs(consensus[1] - best[1])
    assert off[0.95][1] < off["consensus"][1]
    assert np.ptp(parallel) <= 1
    assert parallel.max() < 10
    assert consensus[-1] == 7
    # what is left of the noise
    assert 0.9 < off[0.95][-1] / (64 * 0.4**2) < 1
    assert off["consensus"][-1] / off[0.95][-1] == pytest.approx(1 / 3, abs=0.04)
    for name in names:
        assert (off["nearest to the truth"] <= off[name] + 1e-9).all()


def test_the_error_against_the_truth_is_measured(shares):
    # the script takes it from scores; here it is taken from the images themselves
    noisy = shares["some"] + 0.4 * shares["draw"]
    for rule in (0.95, "nearest to the truth"):
        model = PCA(shares["found"][rule][-1]).fit(noisy)
        images = model.inverse_transform(model.transform(noisy))
        error = np.sum((images - shares["some"]) ** 2) / len(noisy)
        assert error == pytest.approx(shares["errors"][rule][-1], rel=1e-9)


def test_shares_of_usps():
    # the example itself takes long on them
    with np.load(real_folder("usps.npz") / "usps.npz") as data:
        X = np.concatenate([data["X_train"], data["X_test"]]).astype(float)
    model = PCA(0.95).fit(X)
    assert model.n_components_ == 88
    assert np.cumsum(model.explained_variance_ratio_)[[4, 19]] == pytest.approx(
        [0.44, 0.736], abs=0.005
    )
