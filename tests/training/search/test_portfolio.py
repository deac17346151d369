import pytest

from herofilter.config import Config
from herofilter.data import csbm
from herofilter.nn import find_model
from herofilter.training.search.portfolio import portfolio
from tests.awkward import AWKWARD

ALWAYS = ["balanced", "features", "homophilic", "summaries", "smooth", "heterophilic"]


def names(*arguments: object) -> list[str]:
    return [member.name for member in portfolio(*arguments)]  # type: ignore[arg-type]


def test_members_have_names_reasons_and_models_of_their_own() -> None:
    members = portfolio(csbm(num_nodes=120, directed=True, num_splits=1))
    assert [member.name for member in members] == [*ALWAYS, "high", "undirected"]
    assert len({str((member.model, member.config)) for member in members}) == len(members)
    for member in members:
        assert member.why
        assert find_model(member.model).name == member.model


def test_balanced_is_the_base_and_others_differ_only_where_they_say() -> None:
    base = Config().replace(epochs=7, patience=3, seed=5, hidden_channels=12, lr=0.02)
    members = {member.name: member for member in portfolio(csbm(num_nodes=120), base)}
    assert members["balanced"].config == base
    for member in members.values():
        train, before = member.config.train, base.train
        assert (train.epochs, train.patience, train.seed, train.lr) == (
            before.epochs,
            before.patience,
            before.seed,
            before.lr,
        )
        assert member.config.model.hidden_channels == 12


def test_only_a_directed_graph_has_an_undirected_member() -> None:
    assert "undirected" not in names(csbm(num_nodes=120, num_splits=1))
    [member] = [
        member
        for member in portfolio(csbm(num_nodes=120, directed=True, num_splits=1))
        if member.name == "undirected"
    ]
    assert member.config == Config().replace(directed="symmetrise")


def test_only_a_graph_without_features_has_label_tokens() -> None:
    bare = csbm(num_nodes=120, num_features=0, num_splits=1)
    assert names(bare)[-1] == "labels"
    assert portfolio(bare)[-1].config.model.label_tokens
    assert "labels" not in names(csbm(num_nodes=120, num_splits=1))


def test_high_frequencies_need_a_learned_filter() -> None:
    small, large = csbm(num_nodes=120, num_splits=1), csbm(num_nodes=50_001, num_splits=1)
    assert names(small) == [*ALWAYS, "high"]
    assert names(large) == ALWAYS
    assert names(small, Config().replace(patcher="fast")) == ALWAYS


@pytest.mark.parametrize("name", AWKWARD)
def test_patches_fit_every_graph(name: str) -> None:
    data = AWKWARD[name]()
    for member in portfolio(data):
        assert 1 <= member.config.patcher.patch_size <= data.num_nodes
