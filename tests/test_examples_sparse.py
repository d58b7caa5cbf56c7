"""The examples of sparse components: what each of them says it finds."""

from itertools import combinations

import numpy as np
import pytest
from real_data import real_folder

# What was printed for scikit-learn's SparsePCA(alpha=2, n_components=20) of the news words, for
# each component with a positive loading. The others have their other sign there, and no word.
PRINTED = {
    2: "card data disk display dos driver files format ftp graphics image mac memory pc program "
    "server software version video win windows",
    3: "phone research science university",
    4: "question",
    5: "help",
    6: "bible children christian earth evidence god human jesus jews religion science",
    7: "problem",
    10: "memory system",
    12: "data earth format ftp image launch mars mission moon nasa orbit program research "
    "satellite science shuttle solar space technology",
    14: "case",
    16: "car disk drive mac pc scsi software",
    18: "power",
}
SPORT = "baseball fans games hit hockey league nhl players season team win won"


@pytest.fixture
def news(run):
    return run("sparse/news_words", data=real_folder("20news_w100.npz"))


@pytest.mark.parametrize("number", PRINTED)
def test_words_are_those_that_were_printed(news, number):
    assert news["topics"][number - 1] == PRINTED[number].split()


def test_topics_are_found(news):
    assert news["X"].shape == (16242, 100)
    assert len(PRINTED[12].split()) == 19
    for words in ({"windows", "graphics"}, {"god", "bible"}, {"hockey", "team"}, {"space", "nasa"}):
        assert sum(words <= set(topic) for topic in news["topics"]) == 1
    assert news["topics"][8] == SPORT.split()


def test_numbers_of_the_news_are_right(news):
    path, dense, sparse = news["path"], news["dense"], news["sparse"]
    assert sparse.converged_
    assert 17.5 < sparse.components_.size / sum(sparse.n_nonzero_) < 18.5
    assert (dense.components_ != 0).all()
    assert dense.explained_variance_ratio_.sum() == pytest.approx(0.51, abs=0.005)
    assert path.total_ratio[path.total_nonzero == 20].max() == pytest.approx(0.43, abs=0.005)


def test_topics_of_docstrings(run):
    found = run("sparse/news_words")
    sparse, dense, path, topics = (found[name] for name in ("sparse", "dense", "path", "topics"))
    assert found["table"].source == "docstrings of scikit-learn"
    assert (found["X"].shape[1], found["k"]) == (100, 10)
    assert sparse.converged_
    assert (dense.components_ != 0).all()
    assert 10 < sparse.components_.size / sum(sparse.n_nonzero_) < 14
    for words in (
        {"parallel", "jobs", "processors"},
        {"linear", "coef", "intercept"},
        {"classes", "classifier", "labels"},
        {"randomstate", "instance"},
    ):
        assert sum(words <= set(topic) for topic in topics) == 1
    # a component's words: those with positive weights, the largest of all weights among them
    for topic, component in zip(topics, sparse.components_, strict=True):
        assert found["words"][np.argmax(np.abs(component))] in topic
    few = found["few"]
    assert path.total_nonzero[few] == pytest.approx(200, abs=40)
    ratio = path.total_ratio / dense.explained_variance_ratio_.sum()
    assert ratio[few] == pytest.approx(0.7, abs=0.05)
    assert ratio[0] < 0.4  # single words, or little more
    assert path.total_nonzero[0] < 30


@pytest.mark.parametrize("original", [False, True], ids=["small", "original"])
def test_sparse_faces(run, original):
    found = run("sparse/sparse_faces", data=real_folder("olivetti.npz") if original else None)
    X, models, nonzero, explained = (found[n] for n in ("X", "models", "nonzero", "explained"))
    assert X.shape == ((400, 4096) if original else (100, 625))
    np.testing.assert_allclose(X.mean(axis=1), 0, atol=1e-12)
    sparse, batches = models["sparse PCA"], models["sparse PCA from mini-batches"]
    assert nonzero["PCA"] == 1
    if original:  # the objective that scikit-learn's SparsePCA(6, alpha=0.8) reaches on these faces
        assert found["objective"] <= 9782.8489 * (1 + 1e-7)
        assert nonzero["sparse PCA"] == pytest.approx(0.119, abs=1e-3)
        assert 0.08 < nonzero["sparse PCA from mini-batches"] < 0.12
    else:
        for name in ("sparse PCA", "sparse PCA from mini-batches"):
            assert nonzero[name] == pytest.approx(0.2, abs=0.02)
    for model in (sparse, batches):
        assert model.converged_
        assert model.certificate_.holds
    # two local minima
    assert np.abs(sparse.components_ - batches.components_).max() > 0.05
    for name in ("sparse PCA", "sparse PCA from mini-batches"):
        assert explained[name] / explained["PCA"] == pytest.approx(0.5, abs=0.08)
    # components are patches, white elsewhere: most of the weight is on a tenth of the pixels
    eigenfaces, *patches = map(on_a_tenth, models.values())
    assert eigenfaces.max() < 0.7
    assert np.min(patches) > 0.75


def on_a_tenth(model):
    """Return the share of the squared weights that the largest tenth of them has."""
    squares = np.sort(model.components_**2, axis=1)[:, ::-1]
    return squares[:, : squares.shape[1] // 10].sum(axis=1)


def test_denoise_image(run):
    found = run("sparse/denoise_image")
    clean, psnr = found["clean"], found["psnr"]
    assert clean.shape == (128, 128)
    assert 0 <= clean.min() < clean.max() <= 1
    # noise of a tenth of the brightness: 20 dB; 3 dB are half of the error
    assert psnr(found["noisy"]) == pytest.approx(-20 * np.log10(found["SIGMA"]), abs=0.1)
    assert psnr(clean + 0.1) - psnr(clean + 0.1 * 2**0.5) == pytest.approx(3, abs=0.02)
    dictionary, thresholded, subspace = (
        psnr(found[name]) for name in ("denoised", "thresholded", "subspace")
    )
    assert dictionary - subspace == pytest.approx(3, abs=0.3)
    assert thresholded - subspace == pytest.approx(2, abs=0.3)
    assert dictionary - thresholded == pytest.approx(1, abs=0.3)
    # no number of components is better than the one that is taken, and all of them keep the noise
    assert max(found["kept"]) == pytest.approx(subspace, abs=1e-12)
    assert found["sizes"][0] < found["best"] < found["sizes"][-1]
    everything = found["from_scores"](found["scores"])
    np.testing.assert_allclose(everything, found["noisy"], atol=1e-9)
    assert found["pca"].components_.shape == (48, 49)
    assert found["model"].converged_


def test_code_of_patches_is_sparse_and_near_enough(run):
    found = run("sparse/denoise_image")
    X, code, atoms = found["X"], found["code"], found["atoms"]
    assert X.shape == (122 * 122, 49)
    assert atoms.shape == (100, 49)
    left = np.linalg.norm(X - code @ atoms, axis=1)
    assert left.max() <= 1.15 * found["SIGMA"] * 7 * (1 + 1e-6)
    assert found["needed"] == (code != 0).sum(axis=1).mean()
    assert 1 < found["needed"] < 2
    # edges are smooth where waves of little variance, noise, are not
    smooth, noisy = roughness(atoms), roughness(found["pca"].components_)
    assert np.mean(smooth < 2) > 0.9
    assert noisy[:4].max() < 1
    assert np.median(noisy[24:]) > 4


def roughness(tiles):
    """Return the squared differences of neighbours in tiles of length 1; of white noise, 3.4."""
    tiles = tiles.reshape(-1, 7, 7)
    return sum((np.diff(tiles, axis=axis) ** 2).sum(axis=(1, 2)) for axis in (1, 2))


def test_mosaic_has_each_tile_in_its_place(run):
    tiles = run("sparse/denoise_image")["mosaic"](np.arange(1, 7)[:, None] * np.eye(49)[:6], 3)
    assert tiles.shape == (16, 24)
    assert tiles[0, 0] == tiles[0, 9] == tiles[0, 18] == 1
    assert tiles[8, 3] == tiles[8, 12] == tiles[8, 21] == 1
    assert np.nansum(tiles) == 6


@pytest.fixture
def ways(run):
    return run("sparse/ways_to_sparsity")


def shares(ways, name, question):
    return ways["shares"][name, ways[question]]


def test_single_components_have_the_numbers_asked_for(ways):
    for components in ways["found"].values():
        assert np.count_nonzero(components[:, 0], axis=1).tolist() == ways["numbers"].tolist()
        np.testing.assert_allclose(np.linalg.norm(components[:, 0], axis=1), 1)
    for path in ways["single"].values():
        assert path.converged.all()
        np.testing.assert_allclose(
            path.total_ratio, [ways["of_scores"](V) for V in path.components], atol=1e-9
        )


def test_l0_is_the_best_choice_of_columns(ways):
    C = ways["C"]
    assert ways["proved"]
    for n, share in zip(ways["numbers"], shares(ways, "l0", "of_scores"), strict=True):
        sets = np.array(list(combinations(range(10), n)))
        best = np.linalg.eigvalsh(C[sets[:, :, None], sets[:, None, :]])[:, -1].max()
        assert share == pytest.approx(best / 10, abs=1e-9)


def test_each_way_does_well_what_it_is_made_for(ways):
    variance, regression = (
        {name: shares(ways, name, question) for name in ways["found"]}
        for question in ("of_scores", "of_regression")
    )
    for name in ("SCoTLASS", "dictionary", "PCA, cut"):
        assert (variance["l0"] >= variance[name] - 1e-9).all()
        assert (variance["SPCA"] < variance[name] + 1e-9).all()
        assert (regression["SPCA"] > regression[name] - 0.006).all()
    for name in ("l0", "SCoTLASS"):
        assert (regression[name][:3] < regression["dictionary"][:3] - 0.01).all()
    assert variance["SPCA"][:6].max() < 0.35 < 0.49 < variance["l0"][4]
    # the first principal component has the most of both, and of both the same
    largest = np.linalg.eigvalsh(ways["C"])[-1] / 10
    for found in (variance, regression):
        for share in found.values():
            assert share.max() < largest + 1e-9
        assert found["l0"][-1] == pytest.approx(largest)


def test_bound_and_penalty_shrink_the_same_weights(ways):
    V, W = (ways["found"][name][:, 0] for name in ("SCoTLASS", "dictionary"))
    assert ways["numbers"][3] == 5
    np.testing.assert_allclose(np.abs(np.sum(V * W, axis=1))[3:], 1, atol=1e-4)
    # v is proportional to C v, shrunk, and zero where nothing is left
    for v in V[:-1]:
        towards = ways["C"] @ v
        other = v == 0
        slope, minus = np.polyfit(np.abs(v[~other]), np.abs(towards[~other]), 1)
        np.testing.assert_allclose(
            np.abs(towards[~other]), slope * np.abs(v[~other]) + minus, atol=1e-4
        )
        assert np.abs(towards[other]).max() <= minus + 1e-4
    # with new weights the same columns have all the variance that there is to have
    np.testing.assert_allclose(ways["again"], shares(ways, "l0", "of_scores"), rtol=1e-9)


def test_three_components_of_three_columns(ways):
    columns = np.array(ways["columns"])
    first = {
        name: set(columns[model.components_[0] != 0]) for name, model in ways["models"].items()
    }
    for name in ("l0", "SCoTLASS", "dictionary"):
        assert first[name] == {"radius", "perimeter", "area"}
    assert {"concave points", "concavity"} < first["SPCA"]
    assert len(first["SPCA"] & {"radius", "perimeter", "area"}) == 1
    weight = np.abs(ways["models"]["SPCA"].components_[0])
    assert weight[columns == "concavity"] < 0.2 < 0.6 < weight[columns == "concave points"]
    for model in ways["models"].values():
        assert model.n_nonzero_ == (3, 3, 3)
    size = [list(columns).index(name) for name in ("radius", "perimeter", "area")]
    assert ways["C"][np.ix_(size, size)].min() > 0.98
    assert ways["alike"]["SCoTLASS"][0] < 1e-9
    assert ways["alike"]["SCoTLASS"][1] == pytest.approx(0.7, abs=0.03)
    correlated = {name: both[1] for name, both in ways["alike"].items()}
    assert min(correlated, key=correlated.get) == "l0"


def test_three_components_on_their_paths(ways):
    paths, dense = ways["paths"], ways["dense"]
    three = {(name, what.__name__): share for (name, what), share in ways["three"].items()}
    total = {name: path.total_nonzero for name, path in paths.items()}
    for name, path in paths.items():
        assert path.converged.all()
        np.testing.assert_allclose(path.total_ratio, three[name, "of_scores"], atol=1e-9)
    for share in three.values():
        assert share.max() < dense + 1e-9
    regression = {name: three[name, "of_regression"] for name in paths}
    few = np.flatnonzero(total["SPCA"] <= 9)[-1]
    assert total["SPCA"][few] >= 7
    assert regression["SPCA"][few] > dense - 0.01
    for name in ("l0", "SCoTLASS", "dictionary"):
        assert regression[name][total[name] <= 9].max() < dense - 0.015
    in_span = {name: three[name, "of_span"] for name in paths}
    at = np.isin(total["dictionary"], [13, 14, 15])
    assert in_span["dictionary"][at].max() > dense - 0.01
    for name in ("l0", "SCoTLASS", "SPCA"):
        assert in_span[name][total[name] <= 18].max() < dense - 0.03
    fifteen = three["l0", "of_scores"][total["l0"] == 15]
    assert three["dictionary", "of_scores"][at].max() > fifteen + 0.03
    dealt = paths["dictionary"].n_nonzero[at]
    assert (np.sort(dealt, axis=1)[:, 1:].sum(axis=1) >= 0.8 * dealt.sum(axis=1)).any()
