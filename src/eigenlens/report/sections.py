"""What a fitted model has to show, as plain numbers and words.

A section is made from what the model has: components, scores, variances, a history, a certificate,
claims. No method is known here by its name, so that one added to the register needs no line more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._claims import CLAIMS, RELATIONS
from .._text import count, listed, percent
from ..estimators.pca import PCA
from ..measure import align, largest_angle
from ..select.consensus import VOTERS
from .adds import Setting, added
from .fits import Fits, Fitted
from .images import Images
from .plain import plain

__all__ = ["components_section", "model_section", "strongest"]

SHOWN = 6  # components of which scores and loadings are shown
STRONGEST = 15  # columns of each
DISAGREE = 2  # components by which votes that agree may differ
OF = {"linear": "", "kernel": " in the space of the kernel", "supervised": " between classes"}
"""What the variances of a model are of; adjusted ones, of sparse components, are not added up."""
SAME = 1e-6  # sine of the angle between components that are the same


def strongest(weights: NDArray, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the columns of largest weight, the largest first."""
    order = np.argsort(-np.abs(np.nan_to_num(weights)), kind="stable")[:STRONGEST]
    return [{"name": names[j], "value": plain(weights[j])} for j in order]


def model_section(one: Fitted, setting: Setting, images: Images | None) -> dict[str, Any]:
    """Return the section of one method beside PCA."""
    fit, model, names = one.fit, one.fit.model, setting.names
    claims = set(getattr(model, "claims", ())) - set(RELATIONS)
    section: dict[str, Any] = {
        "name": fit.name,
        "kind": one.kind,
        "summary": one.method.finds,
        "promises": [words for claim, words in CLAIMS.items() if claim in claims],
        "code": f"{model!r}",
        "seconds": fit.seconds,
        "warnings": list(fit.warnings),
        "error": fit.error,
        "adds": [],
    }
    if fit.error:
        return section | {"sentences": []}
    weights, reference = _components(model, len(names)), setting.fits.pca.model.components_
    same = weights is not None and _same(reference, weights)
    section |= {
        "same_as_pca": same,
        "sentences": _sentences(one, weights, reference, same=same),
        "certificate": str(model.certificate_) if hasattr(model, "certificate_") else "",
    }
    if same and one.kind != "robust":
        return section
    section |= _figures(one, weights, names, setting.drawn) | added(one, setting, weights)
    if images is not None and weights is not None:
        section["images"] = images.of_method(one, setting.table, setting.fits, weights)
        del section["weights"]
    return section


def _components(model: Any, d: int) -> NDArray | None:
    """Return the components, if the model has some with one weight for each column."""
    weights = np.asarray(getattr(model, "components_", ()), dtype=np.float64)
    fits = weights.ndim == 2 and weights.shape[1] == d and weights.size > 0
    return weights if fits and np.isfinite(weights).all() else None


def _same(reference: NDArray, weights: NDArray) -> bool:
    """Whether the components are those of the reference, up to sign and order."""
    if reference.shape != weights.shape:
        return False
    found = align(reference, weights)
    length = np.linalg.norm(reference, axis=1, keepdims=True)
    return bool(np.abs(found.aligned - reference).max() <= SAME * length.max())


def _sentences(
    one: Fitted, weights: NDArray | None, reference: NDArray, *, same: bool
) -> list[str]:
    """Return what to notice."""
    said, fit = [], one.fit
    if one.unscaled:
        said.append("It was fitted to the table as given: nothing in it is below zero.")
    if fit.filled:
        said.append("This method takes no holes: PCA filled them first.")
    if same:
        return [*said, "It finds the same components as PCA."]
    if weights is not None and weights.any() and not one.unscaled:
        angle = np.degrees(largest_angle(reference, weights))
        many = count(len(weights), "component")
        said.append(
            f"Its {many} and those of PCA are at most {angle:.1f}° apart "
            "(0° is the same space, 90° one with a direction that PCA does not have)."
        )
        if zeros := int((weights == 0).sum()):
            said.append(f"{percent(zeros / weights.size)} of the weights are zero.")
    shares = getattr(fit.model, "explained_variance_ratio_", None)
    if shares is not None and one.kind in OF:
        each = listed([percent(float(share)) for share in shares], SHOWN)
        total = percent(float(np.sum(shares)))
        said.append(f"They carry {total} of the variance{OF[one.kind]}: {each}.")
    steps = getattr(fit.model, "n_iter_", 1)
    if isinstance(steps, int | np.integer) and steps > 1:
        ended = "reached" if getattr(fit.model, "converged_", True) else "did not reach"
        said.append(f"It took {steps} steps and {ended} its tolerance.")
    return said


def _figures(
    one: Fitted, weights: NDArray | None, names: tuple[str, ...], drawn: NDArray
) -> dict[str, Any]:
    """Return the numbers behind the pictures, of what the model has."""
    found: dict[str, Any] = {}
    fit, places = one.fit, one.scores(drawn)
    if weights is not None:
        found["weights"] = [strongest(row, names) for row in weights[:SHOWN]]
    if places is not None:
        found["scores"] = plain(places[:, :SHOWN].T)
    if (shares := getattr(fit.model, "explained_variance_ratio_", None)) is not None:
        found["shares"] = plain(shares)
    history = getattr(fit.model, "objective_history_", ())
    if len(history) > 1:
        found["history"] = plain(history)
    return found


def components_section(fits: Fits) -> dict[str, Any]:
    """Return how many components there are and why: the spectrum and the rule's evidence."""
    model = fits.pca.model
    shares = np.asarray(model.explained_variance_ratio_)
    # PCA of a table with holes finds no more variances than it is asked for
    whole = PCA().fit(fits.filled) if fits.holes else model
    rank, rules = min(len(fits.Z) - 1, fits.Z.shape[1]), _rules(fits.choice)
    return {
        "kept": fits.kept,
        "shown": len(shares),
        "most": rank,
        "carried": plain(shares[: fits.kept].sum()),
        "shares": plain(shares),
        "spectrum": plain((whole.spectrum_ / whole.total_variance_)[:rank]),
        "spectrum_of_filled": fits.holes,
        "rules": rules,
        "sentences": _why(fits.kept, rules, shares, rank),
        "certificate": str(model.certificate_),
        "warnings": list(fits.pca.warnings),
    }


def _rules(choice: Any) -> list[dict[str, Any]]:
    """Return what each rule found; nothing where the number was given."""
    if choice is None:
        return []
    choices = getattr(choice, "choices", (choice,))
    return [
        {
            "rule": one.rule,
            "k": int(one.k),
            "votes": one is choice or one.rule in VOTERS,
            "note": one.note,
            "evidence": str(one),
        }
        for one in choices
    ]


def _why(kept: int, rules: list[dict[str, Any]], shares: NDArray, rank: int) -> list[str]:
    """Return what the number of components rests on, in words."""
    if rank == 1:
        return ["There is one component: nothing can be told from noise by it."]
    together = percent(float(shares[:kept].sum()))
    verb = "carries" if kept == 1 else "carry"
    if not rules:
        return [f"{count(kept, 'component')} of {rank} {verb} {together} of the variance."]
    stand = "stands" if kept == 1 else "stand"
    if kept:
        said = [
            f"{kept} of {count(rank, 'component')} {stand} out of the noise and {verb} {together} "
            "of the variance."
        ]
    else:
        said = [
            f"None of the {rank} components stands out of the noise. The first "
            f"{'is' if len(shares) == 1 else f'{len(shares)} are'} shown all the same: a view of "
            "the table, not a finding."
        ]
    if len(rules) > 1:
        each = ", ".join(f"{rule['rule']} {rule['k']}" for rule in rules if rule["votes"])
        said.append(f"The number is the median of the rules that vote: {each}.")
        votes = sorted(rule["k"] for rule in rules if rule["votes"])
        if min(np.diff(votes)) > DISAGREE:
            said.append("No two of them agree, so take it with care.")
    return said
