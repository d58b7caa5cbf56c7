"""The pictures of the README and of the documentation, made from displays on bundled data.

``python tools/pictures.py`` lists them, with ``--check`` says which are not current, and with
``--write`` makes them, or those that are named behind it. That of the report needs Chromium.
"""

import io
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_digits, make_circles
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenlens import NMF, PCA, KernelPCA, RobustPCA, datasets, plot

IMAGES = Path(__file__).parents[1] / "docs/images"
MOST = 60_000  # bytes of a picture
ALIKE = 4.0  # mean difference of pixels, of 255: fonts and rounding may differ between machines
COLOURS = (256, 128, 64, 32)  # of a picture: the most with which it is small enough


# -------------------------------------------------------------------------------------- displays


@cache
def cancer():
    table = load_breast_cancer(as_frame=True)
    model = make_pipeline(StandardScaler(), PCA("consensus", random_state=0)).fit(table.data)
    return model, table.data, table.target.map(dict(enumerate(table.target_names)))


@cache
def digits():
    return load_digits(return_X_y=True)


def biplot():
    return plot.BiplotDisplay.from_estimator(*cancer(), most=12)


def component_images():
    return plot.ComponentImagesDisplay.from_estimator(PCA(7).fit(digits()[0]))


def kernel_components():
    X, y = make_circles(300, factor=0.4, noise=0.06, random_state=0)
    model = KernelPCA(3, kernel="rbf", gamma=2.0, random_state=0).fit(X)
    return plot.KernelComponentsDisplay.from_estimator(model, X, y)


def kernel_lift():
    X, y = make_circles(300, factor=0.4, noise=0.06, random_state=0)
    return plot.KernelLiftDisplay.from_data(X, y)


def outlier_map():
    model, X, _ = cancer()
    return plot.OutlierMapDisplay.from_estimator(model, X)


def parts():
    X = digits()[0]
    model = NMF(25, max_iter=1000, random_state=0).fit(X)
    return plot.PartsDisplay.from_estimator(model, X[0])


def reconstruction():
    X = digits()[0]
    noisy = X + 4 * np.random.default_rng(0).standard_normal(X.shape)
    model = KernelPCA(100, kernel="rbf", gamma=5e-4, preimage="auto", random_state=0)
    return plot.ReconstructionDisplay.from_estimator(model.fit(X[600:1600]), noisy, truth=X)


def scree():
    return plot.ScreeDisplay.from_estimator(cancer()[0][-1])


def separation():
    problem = datasets.planted_pursuit(100, 80, rank=2, density=0.05, random_state=0)
    model = RobustPCA(random_state=0).fit(problem.X)
    return plot.SeparationDisplay.from_estimator(model, problem.X)


def traversal():
    X, y = digits()
    return plot.TraversalDisplay.from_estimator(PCA(2).fit(X[y == 3]))


DISPLAYS = {
    display.__name__: display
    for display in (
        biplot,
        component_images,
        kernel_components,
        kernel_lift,
        outlier_map,
        parts,
        reconstruction,
        scree,
        separation,
        traversal,
    )
}


def drawn(name):
    """Draw one of them; return the bytes of its file."""
    buffer = io.BytesIO()
    DISPLAYS[name]().figure_.savefig(buffer, dpi=120)
    plt.close("all")
    return small(Image.open(buffer))


def small(image):
    """Return the bytes of a picture, with as many colours as there is room for."""
    for count in COLOURS:
        buffer = io.BytesIO()
        image.convert("RGB").quantize(count).save(buffer, "png", optimize=True)
        if buffer.tell() <= MOST:
            break
    return buffer.getvalue()


# ---------------------------------------------------------------------------------------- report

SHOWN = "header, #short, #rows"  # the rest of the page does not fit in a README
STYLE = f"""
section:not({SHOWN}), nav, #theme, #rows p, #rows details, #rows figcaption {{
  display: none !important
}}
body {{ padding: 0 2rem 1rem !important }}
"""


def report():
    """Write the report of the demo, and photograph its best parts."""
    from playwright.sync_api import sync_playwright

    from eigenlens.cli import app
    from eigenlens.cli._run import run

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder, "report.html")
        run(app, ["demo", "-o", str(page)])
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        sheet = browser.new_page(viewport={"width": 1000, "height": 1000}, device_scale_factor=1.3)
        sheet.goto(page.as_uri())
        sheet.add_style_tag(content=STYLE)
        figure = sheet.locator("#rows .plot")
        figure.scroll_into_view_if_needed()
        figure.locator(".main-svg").first.wait_for()
        shot = sheet.screenshot(full_page=True)
        browser.close()
    return small(Image.open(io.BytesIO(shot)).reduce(2))


# ------------------------------------------------------------------------------------------ files

NAMES = (*DISPLAYS, "report")


def made(name):
    return report() if name == "report" else drawn(name)


def fault(name):
    """Say why a picture is not current, or nothing. The page of the report shows times of day."""
    path = IMAGES / f"{name}.png"
    if not path.exists():
        return "is missing"
    if path.stat().st_size > MOST:
        return f"has {path.stat().st_size} bytes, more than {MOST}"
    if name == "report":
        return None
    new, old = (Image.open(file).convert("RGB") for file in (io.BytesIO(drawn(name)), path))
    if new.size != old.size:
        return f"has {old.size} pixels instead of {new.size}"
    apart = np.abs(np.asarray(new, dtype=float) - np.asarray(old, dtype=float)).mean()
    return f"differs by {apart:.1f} of 255" if apart > ALIKE else None


def main(arguments):
    named = [word for word in arguments if not word.startswith("-")]
    unknown = set(named) - set(NAMES)
    if unknown:
        sys.exit(f"There is no picture {', '.join(sorted(unknown))}. There are {', '.join(NAMES)}.")
    if "--write" in arguments:
        IMAGES.mkdir(exist_ok=True)
        for name in named or NAMES:
            (IMAGES / f"{name}.png").write_bytes(made(name))
    elif "--check" in arguments:
        faults = {name: fault(name) for name in named or NAMES}
        lines = [f"{name}.png {what}" for name, what in faults.items() if what]
        if lines:
            sys.exit("\n".join([*lines, "Run: python tools/pictures.py --write"]))
    else:
        print("\n".join(NAMES))


if __name__ == "__main__":
    main(sys.argv[1:])
