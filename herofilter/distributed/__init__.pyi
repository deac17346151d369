from .patches import shards_by as shards_by
from .predictions import (
    Source as Source,
    load_predictor as load_predictor,
    predict_parts as predict_parts,
)
from .ray_engine import ray_jobs as ray_jobs
from .training import (
    TrainJob as TrainJob,
    make_job as make_job,
    train_in_team as train_in_team,
    train_on_ray as train_on_ray,
)
