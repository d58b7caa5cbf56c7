from .estimators.pca import PCA as PCA

__version__: str
