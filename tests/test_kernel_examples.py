"""The examples of kernel PCA: what each of them says it finds."""

import numpy as np
from real_data import real_file


def test_clusters_come_close_to_their_centres(run, drawing):
    found = run("denoise_clusters", *drawing)
    for sigma, share in ((0.2, 0.85), (0.4, 0.9), (0.8, 0.9)):  # of one draw
        assert found["shares"][sigma].min() > share
        assert found["against_plain"][sigma].min() > 0.99
    assert np.ptp(found["ends"], axis=0).max() < 1e-6
    errors = [found["error"](Z, found["truth"]) for Z in found["cleaned"].values()]
    assert errors[0] < 0.25 * found["error"](found["new"], found["truth"])
    assert errors[-1] > 2 * errors[0]


def test_noise_comes_off_small_digits(run, drawing):
    found = run("denoise_digits", *drawing)
    assert found["gain"] > 1.0
    assert found["alike"] > 2.0


def test_noise_comes_off_usps(run):
    """Schoelkopf, Smola (2002), section 18.2: 1.6 over the best linear, up to 8 at equal size."""
    found = run("denoise_digits", "--data", real_file("usps.npz"))
    assert found["gain"] >= 1.5
    assert found["alike"] >= 7
