import re

import pytest

from herofilter.config import Config, paper_config
from herofilter.errors import ConfigError


def test_settings_reach_their_section() -> None:
    config = Config().with_settings(["patch_size=8", "train.lr=1e-3", "filter_starts=low,high"])
    assert config.patcher.patch_size == 8
    assert config.train.lr == 0.001
    assert config.patcher.filter_starts == ("low", "high")
    assert Config().patcher.patch_size == 9


def test_dict_round_trip() -> None:
    config = paper_config()
    assert Config.from_dict(config.to_dict()) == config
    assert Config.from_dict({}) == Config()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("patchsize=8", "there is no setting 'patchsize' (did you mean 'patch_size'?)"),
        ("model.lr=1", "there is no setting 'model.lr' (did you mean 'lr'?)"),
        ("resolved=true", "there is no setting 'resolved' (did you mean 'seed'?)"),
        ("patch_size", "a setting must look like key=value (got 'patch_size')"),
        ("patch_size=big", "patch_size must be of type int (got 'big')"),
        ("patch_size=0", "patch_size must be at least 1 (got 0)"),
        ("dropout=1.0", "dropout must be at least 0 and below 1 (got 1)"),
        ("lr=0", "lr must be above 0 (got 0)"),
        ("filter_lr=-1", "filter_lr must be at least 0 and finite (got -1)"),
        ("filter_lr=inf", "filter_lr must be at least 0 and finite (got inf)"),
        ("lr=fast", "lr must be of type float (got 'fast')"),
        ("weight_decay=-1", "weight_decay must not be negative (got -1)"),
        ("expansion=0", "expansion must be above 0 (got 0)"),
        ("feature_expansion=-1", "feature_expansion must be above 0 (got -1)"),
        ("filter_starts=[]", "filter_starts must name at least one filter (got none)"),
        (
            "aggregation=flaten",
            "aggregation must be one of slot_concat, ego_concat, weighted, flatten, mean, sum "
            "(got 'flaten') (did you mean 'flatten'?)",
        ),
    ],
)
def test_wrong_settings_teach(setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        Config().with_settings([setting])


def test_unknown_section() -> None:
    with pytest.raises(ConfigError, match="a section must be one of patcher, model, train"):
        Config.from_dict({"trian": {"lr": 1.0}})
