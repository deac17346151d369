from . import baselines as baselines
from .callbacks import (
    Event as Event,
)
from .config import (
    Config as Config,
    paper_config as paper_config,
)
from .data import (
    GraphSpec as GraphSpec,
    TableGraph as TableGraph,
    check_graph as check_graph,
    csbm as csbm,
    list_datasets as list_datasets,
    load_dataset as load_dataset,
    read_graph as read_graph,
    select_split as select_split,
)
from .errors import (
    HeroFilterError as HeroFilterError,
)
from .estimator import (
    HeroFilterClassifier as HeroFilterClassifier,
)
from .nn import (
    HeroFilter as HeroFilter,
    find_model as find_model,
    list_models as list_models,
)
from .patchers import (
    FastPatcher as FastPatcher,
    Patches as Patches,
    PatchStore as PatchStore,
    PolynomialPatcher as PolynomialPatcher,
    SpectralPatcher as SpectralPatcher,
    write_patches as write_patches,
)
from .settings import (
    BaselineConfig as BaselineConfig,
    ModelConfig as ModelConfig,
    PatcherConfig as PatcherConfig,
    TrainConfig as TrainConfig,
)
from .training import (
    TrainResult as TrainResult,
    predict_logits as predict_logits,
    train as train,
    train_auto as train_auto,
    train_splits as train_splits,
    tune as tune,
)
from .training.artifacts.model_folder import (
    SavedModel as SavedModel,
)
from .training.predictor import (
    Predictor as Predictor,
)

__version__: str
