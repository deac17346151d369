"""The studies by name, in the order in which the index lists them."""

from herofilter.reproduce.studies.band_accuracy import BandAccuracy
from herofilter.reproduce.studies.dataset_statistics import DatasetStatistics
from herofilter.reproduce.studies.filter_response import FilterResponse
from herofilter.reproduce.studies.homophily_histograms import HomophilyHistograms
from herofilter.reproduce.studies.monotonicity import Monotonicity
from herofilter.reproduce.studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        DatasetStatistics(),
        HomophilyHistograms(),
        FilterResponse(),
        Monotonicity(),
        BandAccuracy(),
    )
}
