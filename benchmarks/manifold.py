"""Places: MDS, Isomap and t-SNE against the peers, at equal stress, variance and divergence."""

from dataclasses import replace

from benchmarks import manifold_isomap, manifold_mds, manifold_tsne

METHODS = {"MDS": manifold_mds, "Isomap": manifold_isomap, "TSNE": manifold_tsne}
CASES = tuple(
    replace(case, method=method) for method, module in METHODS.items() for case in module.CASES
)
