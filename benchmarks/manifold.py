"""Places: MDS, Isomap and t-SNE against the peers, at equal stress, variance and divergence."""

from benchmarks import manifold_isomap, manifold_mds, manifold_tsne

CASES = (*manifold_mds.CASES, *manifold_isomap.CASES, *manifold_tsne.CASES)
