from . import measure as measure
from . import select as select
from .estimators.incremental_pca import IncrementalPCA as IncrementalPCA
from .estimators.pca import PCA as PCA
from .measure.covariance import correlation as correlation
from .measure.covariance import covariance as covariance
from .ops.moments import Moments as Moments

__version__: str
