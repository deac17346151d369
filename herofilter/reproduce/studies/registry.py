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
from herofilter.reproduce.studies.recipe import Recipe
from herofilter.reproduce.studies.runtime import Runtime
from herofilter.reproduce.studies.scalability import Scalability
from herofilter.reproduce.studies.sensitivity import Sensitivity
from herofilter.reproduce.studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        DatasetStatistics(),
        HomophilyHistograms(),
        FilterResponse(),
        Monotonicity(),
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
