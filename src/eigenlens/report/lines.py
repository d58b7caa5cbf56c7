"""The lines that make each figure again, in Python and in a shell."""

from __future__ import annotations

from .code import Code
from .outliers import LEVEL
from .shell import Shell

__all__ = ["lines_section"]


def lines_section(
    code: Code,
    shell: Shell,
    *,
    compared: list[str],
    classes: bool,
    image_shape: tuple[int, ...] | None,
) -> dict[str, dict[str, str | None]]:
    """Return Python and shell lines by the id of the figure."""
    y = ", y" if code.table.target is not None else ""
    k = code.fits.shown

    def whole(line: str) -> str | None:
        """Return a line whose picture is of whole rows, if the table has such."""
        return None if code.fits.holes else line

    found: dict[str, tuple[str, str | None]] = {
        "scree": (
            code.figure("ScreeDisplay", "from_estimator(pca)"),
            shell.figure("scree", data=False),
        ),
        "loadings": (
            code.figure("LoadingsDisplay", "from_estimator(pca, names=names)"),
            shell.figure("loadings", data=False),
        ),
        "outliers": (
            code.figure(
                "OutlierMapDisplay",
                f'from_estimator(pca, filled, kind="classical", level={LEVEL})',
            ),
            whole(shell.figure("outlier-map", "--kind classical", f"--level {LEVEL}")),
        ),
    }
    if k > 1:
        found["scores"] = (
            code.figure("ScoresDisplay", f"from_estimator(pca, Z{y})"),
            shell.figure("scores", target=True),
        )
        found["biplot"] = (
            code.figure("BiplotDisplay", f"from_estimator(pca, filled{y}, names=names)"),
            whole(shell.figure("biplot", target=True)),
        )
    if len(code.fits.Z.T) > 1:
        found["correlation"] = (
            code.figure(
                "CorrelationDisplay",
                'from_data(X, names=names, order="clustered")',
                table=True,
            ),
            shell.correlation(),
        )
    if compared:
        found["comparison"] = (
            code.comparison(compared, k, classes=classes),
            shell.comparison(compared, k),
        )
    if image_shape is not None:
        side = "x".join(map(str, image_shape))
        found["images"] = (
            code.figure(
                "ComponentImagesDisplay",
                f"from_estimator(pca, image_shape={tuple(image_shape)})",
                whole=True,
            ),
            shell.figure("component-images", f"--image {side}", data=False, whole=True),
        )
    return {name: {"python": python, "shell": line} for name, (python, line) in found.items()}
