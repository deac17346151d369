from .loop import (
    Epoch as Epoch,
    TrainResult as TrainResult,
    evaluate as evaluate,
    predict_logits as predict_logits,
    train as train,
)
from .metrics import (
    Score as Score,
)
from .prepare import (
    prepare as prepare,
    prepare_features as prepare_features,
)
from .protocol import (
    default_workers as default_workers,
    train_splits as train_splits,
)
from .search.auto import (
    train_auto as train_auto,
)
from .search.tuning import (
    tune as tune,
)
from .seeding import (
    seeded as seeded,
)
