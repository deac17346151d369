"""The component ablation: patch mixing, feature mixing, both or none."""

from collections.abc import Sequence
from typing import ClassVar

from herofilter.config import Config
from herofilter.reproduce.studies.study import Task
from herofilter.reproduce.studies.training_task import QUICK, training_tasks
from herofilter.reproduce.studies.variants import Claim, Graphs, Paper, Titles, VariantStudy
from herofilter.training.search.presets import preset_config

ARXIV = "arxiv-year-structure"
MIXING = {
    "both": (True, True),
    "patch": (True, False),
    "feature": (False, True),
    "none": (False, False),
}


class Components(VariantStudy):
    """Is each of the two mixers needed?"""

    name = "components"
    title = "Patch mixing and feature mixing"
    reproduces = "Table 6 (individual components)"
    claim = "both mixers together are better than one of them, and than none."
    graphs: ClassVar[Graphs] = {
        ARXIV: range(3),
        "squirrel": range(10),
        "chameleon": range(10),
        "cora": range(10),
    }
    optional = (ARXIV,)
    titles: ClassVar[Titles] = {
        "both": "both mixers",
        "patch": "patch mixing",
        "feature": "feature mixing",
        "none": "no mixer",
    }
    paper: ClassVar[Paper] = {
        (ARXIV, "both"): (54.66, 0.28),
        (ARXIV, "patch"): (54.49, 0.04),
        (ARXIV, "feature"): (53.85, 0.20),
        (ARXIV, "none"): (52.81, 0.10),
    }
    text = (
        "The recommended model without directions, on arxiv-year-structure the tuned preset. The "
        "paper's graph has node features, which this one lacks, so only differences compare. "
        "Snap-patents isn't here."
    )

    def trainings(self, graph: str, variant: str, splits: Sequence[int], quick: bool) -> list[Task]:
        config = Config().replace(directed="symmetrise")
        if graph == ARXIV:
            config = preset_config(graph, "tuned")[1]
        patch, feature = MIXING[variant]
        config = config.replace(patch_mixing=patch, feature_mixing=feature)
        if quick:
            config = config.replace(**QUICK)
        return training_tasks(graph, splits, variant, config)

    def claims(self, graphs: Sequence[str]) -> list[Claim]:
        return [
            Claim(graph, "both", other, self.points(graph, "both", other))
            for graph in graphs
            for other in ("patch", "feature", "none")
        ]
