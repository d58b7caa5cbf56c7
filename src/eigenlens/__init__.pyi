from . import datasets as datasets
from . import measure as measure
from . import plot as plot
from . import select as select
from ._register import methods as methods
from .data.blocks import Blocks as Blocks
from .data.errors import DataError as DataError
from .data.files import open as open
from .data.scalers import MinMaxScaler as MinMaxScaler
from .data.scalers import Normalizer as Normalizer
from .data.scalers import RobustScaler as RobustScaler
from .data.scalers import StandardScaler as StandardScaler
from .estimators.dictionary_learning import DictionaryLearning as DictionaryLearning
from .estimators.incremental_pca import IncrementalPCA as IncrementalPCA
from .estimators.isomap import Isomap as Isomap
from .estimators.kernel_pca import KernelPCA as KernelPCA
from .estimators.mds import MDS as MDS
from .estimators.mini_batch_dictionary_learning import (
    MiniBatchDictionaryLearning as MiniBatchDictionaryLearning,
)
from .estimators.mini_batch_nmf import MiniBatchNMF as MiniBatchNMF
from .estimators.mini_batch_sparse_pca import MiniBatchSparsePCA as MiniBatchSparsePCA
from .estimators.nmf import NMF as NMF
from .estimators.pca import PCA as PCA
from .estimators.robust_pca import RobustPCA as RobustPCA
from .estimators.smacof import smacof as smacof
from .estimators.sparse_pca import SparsePCA as SparsePCA
from .estimators.tsne import TSNE as TSNE
from .estimators.vector_quantizer import VectorQuantizer as VectorQuantizer
from .measure.compare import compare as compare
from .measure.covariance import correlation as correlation
from .measure.covariance import covariance as covariance
from .measure.sparse_path import sparse_path as sparse_path
from .ops.moments import Moments as Moments
from .persist import ModelFileError as ModelFileError
from .persist import load as load
from .persist import save as save
from .persist.onnx import export_onnx as export_onnx
from .report.report import Report as Report

__version__: str
