"""The examples of robust PCA: what each of them says it finds."""

import numpy as np
import pytest
from real_data import real_folder
from sklearn.metrics import adjusted_rand_score


def test_one_outlier(run):
    found = run("robust/one_outlier")
    in_plane, sizes, angles = found["in_plane"], found["sizes"], found["angles"]
    assert in_plane["PCA"] > 70
    assert max(in_plane["robust, entries"], in_plane["robust, rows"]) < 1
    assert found["table"].X.std(axis=0) == pytest.approx(0.35, abs=0.25)
    assert list(angles) == ["one entry", "one row"]
    for curves in angles.values():
        plain = np.array(curves["PCA"])
        assert plain[sizes <= 5].max() < 4
        assert plain[sizes >= 15].min() > 80
        assert plain[-1] > 87
        for name in ("robust, entries", "robust, rows"):
            assert np.ptp(curves[name]) < 0.3  # flat, from no outlier to one of 1000
            assert 0.3 < curves[name][0] - plain[0] < 2  # what robustness costs


def test_exact_recovery(run):
    found = run("robust/exact_recovery")
    assert 1 / found["usual"] == pytest.approx(60, abs=5)
    error, same_places = found["relative_error"], found["same_places"]
    assert sorted(found["models"]) == [(200, 0.05), (200, 0.1), (400, 0.05), (400, 0.1)]
    for (n, density), model in found["models"].items():
        truth = found["problems"][n, density]
        assert np.mean(truth.sparse != 0) == pytest.approx(density, abs=0.01)
        assert model.rank_ == n // 20
        assert same_places(model, truth)
        assert error(model, truth) < 2e-6
        assert model.certificate_.value < 1e-5
    assert len(found["sized"]) == 6
    for (magnitude, missing), model in found["sized"].items():
        truth = found["sized_problems"][magnitude, missing]
        assert np.abs(truth.sparse).max() == magnitude
        assert np.isnan(truth.X).mean() == pytest.approx(missing, abs=0.01)
        assert model.rank_ == 10
        assert same_places(model, truth)
        assert error(model, truth) < 2e-6


def test_the_weight_of_the_theorem_need_not_be_exact(run):
    found = run("robust/exact_recovery")
    factors, errors, shares = found["factors"], found["errors"], found["shares"]
    right = (factors >= 0.7) & (factors <= 2)
    assert right.sum() == 4
    assert errors[right].max() < 2e-6
    assert (found["ranks"][right] == 5).all()
    assert shares[right] == pytest.approx(0.1, abs=0.01)
    # truth is taken for errors below, errors for truth above
    below, above = factors < 0.7, factors > 2
    assert errors[below].min() > 0.01
    assert shares[below].min() > 0.12
    assert errors[above].min() > 1
    assert found["ranks"][above].min() > 50
    assert all(model.certificate_.holds for model in found["weighted"])


def test_many_errors(run):
    found = run("robust/many_errors")
    densities, off = found["densities"], found["off"]
    n, rho = found["N"], np.mean(found["errors"] != 0)
    # the formula of the text: 0.85 sqrt(rho n) is the mean singular value of such a table
    assert found["as_rank"] / (3 * np.sqrt(rho) * n**1.5) == pytest.approx(0.85, abs=0.02)
    costs = [cost / found["as_rank"] for cost in found["as_errors"].values()]
    assert costs == pytest.approx([0.98, 0.79], abs=0.03)
    # all or nothing: up to half with the usual weight, up to 60 % with the smaller one
    np.testing.assert_array_equal(densities, [0.05, 0.2, 0.35, 0.5, 0.6, 0.7])
    np.testing.assert_array_equal(found["recovered"]["usual"], [1, 1, 1, 1, 0, 0])
    np.testing.assert_array_equal(found["recovered"]["smaller"], [1, 1, 1, 1, 1, 0])
    assert off["usual"][densities > 0.5].min() > 0.5
    fits = {name: [m for row in rows for m, _ in row] for name, rows in found["found"].items()}
    assert all(model.certificate_.holds for row in fits.values() for model in row)
    assert {model.rank_ for model in fits["smaller"][:10]} == {1}
    assert min(model.rank_ for model in fits["usual"][8:]) > 30
    assert np.array(found["same_signs"][:3]) == pytest.approx(0, abs=1e-3)
    assert found["same_signs"][3] > 0.5
    for (_, density), error in found["of_rank_2"].items():
        assert (error < 1e-3) == (density == 0.4)


def test_the_phase_transition(run, capsys):
    regions = run("robust/phase_transition")["regions"]
    random, coherent, holes = (
        regions[name].recovered for name in ("random", "coherent", "completion")
    )
    assert random[0, 0] == coherent[0, 0] == holes[0, 0] == 1
    assert random[-1, -1] == coherent[-1, -1] == holes[-1, -1] == 0
    assert random.mean() < coherent.mean() < holes.mean()
    assert regions["random"].n == 40


def test_what_makes_a_table_recoverable(run):
    found = run("robust/phase_transition")
    clean = found["datasets"].planted_pursuit(60, 60, rank=3, random_state=0).low_rank
    assert found["incoherence"](clean).left < 4
    assert found["found"].row == 17
    assert found["found"].left > 10


def test_a_video_is_taken_apart_exactly(run):
    found = run("robust/video_background")
    cars, road = ~np.isnan(found["passing"]), found["road"]
    assert found["model"].rank_ == 1
    assert found["model"].certificate_.value < 1e-5
    # no car is left in the background
    np.testing.assert_allclose(found["background"], road, atol=1e-6)
    np.testing.assert_array_equal(found["foreground"] != 0, cars)
    assert 0.03 < cars.mean() < 0.05
    assert np.abs(found["smeared"] - road)[cars].max() > 0.3


def test_cars_on_a_road(run):
    found = run("robust/video_background", data=real_folder("video_highway_tiny.npz"))
    assert found["road"] is None
    assert found["video"].shape == (51, 48, 48)
    assert found["model"].certificate_.value < 1e-4
    assert np.mean(np.abs(found["foreground"]) > 0.1) == pytest.approx(0.05, abs=0.01)
    # a car is in a place for a moment: what is there in most frames is the road
    usual = np.median(found["video"], axis=0)
    clearly = np.abs(found["video"] - usual) > 0.2
    assert 0.02 < clearly.mean() < 0.04
    assert np.abs(found["background"] - usual)[clearly].max() < 0.1
    assert np.median(np.abs(found["smeared"] - usual)[clearly]) > 0.2


def test_shadows_come_off_faces(run):
    found = run("robust/face_shadows")
    model, matt, off = found["model"], found["matt"], found["off"]
    assert found["wrong"].mean() == pytest.approx(0.1, abs=0.01)
    np.testing.assert_allclose(model.low_rank_, matt, atol=1e-4)
    np.testing.assert_array_equal(model.sparse_ != 0, found["wrong"])
    assert off["given"][0] < 1e-6
    assert off["given"][1] < 1e-3
    # the text says that the convex problem is solved, and that its answer is another one
    assert found["convex"].certificate_.holds
    assert found["convex"].rank_ > 3
    assert 0.005 < off["convex"][0] < 0.05
    assert off["plain"][0] > 2 * off["convex"][0]
    assert off["plain"][1] > 2 * off["convex"][1] > 100 * off["given"][1]
    # a matt face is of rank 3, whatever it looks like
    assert np.linalg.matrix_rank(matt) == 3
    assert matt.min() < 0


def test_occlusions_come_off_faces(run):
    found = run("robust/face_occlusions")
    error, answers = found["error"], found["answers"]
    block, mean, plain, robust = (error(filled) for filled in answers.values())
    assert robust < 0.95 * mean < mean < plain < block
    taken, covered = found["taken"], found["covered"]
    assert len(found["chosen"]) == 0.3 * found["n"]
    assert taken[covered].mean() > 0.97
    assert taken[~covered].mean() < 0.2
    assert np.ptp(found["faces"][covered]) > 0.9


def test_glasses_that_recur_stay(run):
    found = run("robust/face_occlusions")
    glasses, weight = found["glasses"], found["weight"]
    assert glasses.sum() > 1 / weight**2
    inside = found["error"](found["kept"].low_rank_, glasses)
    assert inside > 1.5 * found["error"](found["mean_face"], glasses)
    # they are black in the low-rank part
    assert np.abs(found["kept"].low_rank_[glasses]).mean() < 0.05


def test_words_of_documents(run):
    found = run("robust/document_words")
    assert {"the", "default", "fit", "shape"} <= set(found["common"])
    for name, word in {
        "KMeans": "clusters",
        "PCA": "svd",
        "LogisticRegression": "penalty",
        "SVC": "kernel",
        "SimpleImputer": "missing",
    }.items():
        assert word in found["keywords"][name]
        assert word not in found["common"]
    frequent, own = found["stop_words"].values()
    assert own < 0.1
    assert frequent == pytest.approx(1 / 3, abs=0.07)
    assert found["model"].certificate_.holds


def test_kinds_of_documents(run):
    ends = run("robust/document_words")["ends"]
    trees = [name for end in (ends[0][-3:], ends[1][:3], ends[2][:3]) for name in end]
    assert all("Tree" in name or "Forest" in name for name in trees)
    assert all("SGD" in name or "MLP" in name for name in ends[1][-3:])
    assert all("Neighbors" in name for name in ends[2][-3:])


def test_words_of_documents_whose_truth_is_known(run):
    found = run("robust/document_words")
    assert found["small"].rank_ == 1  # the two kinds
    assert set(found["shared"]) == {"the", "and"}
    assert len(found["own"]) == 24
    assert all(words == [name.split()[-1]] for name, words in found["own"].items())
    recipes = np.array([name.startswith("recipe") for name in found["own"]])
    assert abs(np.mean(recipes == (found["small"].scores_[:, 0] > 0)) - 0.5) == 0.5


def test_clusters_of_a_graph(run):
    found = run("robust/graph_clusters")
    wrong, model = found["wrong"], found["model"]
    assert found["count"] == model.rank_ == 4
    assert found["agreement"] == adjusted_rand_score(found["groups"], found["found"]) == 1
    np.testing.assert_allclose(model.low_rank_, found["blocks"], atol=1e-5)
    np.testing.assert_array_equal(model.sparse_ != 0, wrong)
    assert found["missed"] == 0
    pairs = np.triu_indices(found["n"], 1)
    assert wrong[pairs].mean() == pytest.approx(0.1, abs=0.01)
    assert found["chains"] == 1
    # too small a group is lost
    assert {size: fit.rank_ for size, fit in found["smaller"].items()} == {
        20: 4,
        15: 3,
        10: 3,
        5: 3,
    }


def test_links_despite_hidden_variables(run):
    found = run("robust/hidden_variables")
    model, precision = found["model"], found["precision"]
    assert model.rank_ == found["HIDDEN"] == 2
    assert found["exact"]
    np.testing.assert_allclose(
        model.sparse_ + model.low_rank_, found["scaled"](precision), atol=1e-6
    )
    assert np.all(precision[found["pairs"]] != 0)
    # the hidden part is what the Schur complement says, taken off the links
    assert np.linalg.matrix_rank(found["hidden"]) == 2
    np.testing.assert_allclose(precision, found["links"] - found["hidden"])


def test_links_from_samples(run):
    found = run("robust/hidden_variables")
    assert found["linked"].sum() == 50
    as_it_is, free, given = found["called"].values()
    assert as_it_is[0] > 250
    assert free[0] <= 55
    assert given[0] <= 54
    assert as_it_is[1] == free[1] == given[1] == 50
    assert found["free"].rank_ > 2  # with noise, what is found is not the number of hidden ones
    shares = [right / 50 for _, right in found["fewer"].values()]
    assert shares == pytest.approx([0.65, 0.9, 1], abs=0.08)
    assert all(beyond - right <= 3 for beyond, right in found["fewer"].values())


def test_ratings_are_filled_and_false_ones_found(run):
    found = run("robust/ratings")
    seen, false = found["seen"], found["false"]
    for where in (~seen, false):
        errors = [found["error"](filled, where) for filled in found["answers"].values()]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] < 0.07 < 3 * 0.07 < errors[0]
    for doubted in found["doubted"].values():
        assert doubted[false].all()
        assert doubted.sum() < 1.05 * false.sum()
    assert found["convex"].rank_ == found["TASTES"]
    assert np.mean(~seen) == pytest.approx(0.5, abs=0.01)
    assert false[seen].mean() == pytest.approx(0.05, abs=0.005)


def test_ratings_of_a_new_person(run):
    found = run("robust/ratings")
    off = found["off"]
    assert off["robust"] < 0.1 < 0.2 < off["PCA with holes"]
    assert np.isfinite(found["row"]).sum() == 30
    # rounding alone: half stars, evenly spread
    inside = found["truth"][found["seen"] & ~found["false"]]
    inside = inside[(inside > 1.25) & (inside < 4.75)]
    rounding = found["stars"](inside) - inside
    assert rounding.std() == pytest.approx(0.5 / np.sqrt(12), rel=0.02)
