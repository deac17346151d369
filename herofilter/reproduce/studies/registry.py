"""The studies by name, in the order in which the index lists them."""

from herofilter.reproduce.studies.band_accuracy import BandAccuracy
from herofilter.reproduce.studies.components import Components
from herofilter.reproduce.studies.dataset_statistics import DatasetStatistics
from herofilter.reproduce.studies.filter_response import FilterResponse
from herofilter.reproduce.studies.grid_search import GridSearch
from herofilter.reproduce.studies.homophily_histograms import HomophilyHistograms
from herofilter.reproduce.studies.monotonicity import Monotonicity
from herofilter.reproduce.studies.patch_induced import PatchInduced
from herofilter.reproduce.studies.patch_order import PatchOrder
from herofilter.reproduce.studies.patchers import Patchers
from herofilter.reproduce.studies.proposition_1 import Proposition1
from herofilter.reproduce.studies.proposition_2 import Proposition2
from herofilter.reproduce.studies.recipe import Recipe
from herofilter.reproduce.studies.runtime import Runtime
from herofilter.reproduce.studies.scalability import Scalability
from herofilter.reproduce.studies.sensitivity import Sensitivity
from herofilter.reproduce.studies.study import Study
from herofilter.reproduce.studies.theorem_1 import Theorem1

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        DatasetStatistics(),
        HomophilyHistograms(),
        FilterResponse(),
        Monotonicity(),
        Proposition1(),
        Proposition2(),
        Theorem1(),
        BandAccuracy(),
        Sensitivity(),
        Patchers(),
        PatchOrder(),
        PatchInduced(),
        Components(),
        Recipe(),
        GridSearch(),
        Scalability(),
        Runtime(),
    )
}
