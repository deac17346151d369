"""Inference time of HeroFilter against filter-based models and graph transformers."""

from collections.abc import Mapping, Sequence

from herofilter.memory import free_memory
from herofilter.report.figure import Bars, Figure, Panel
from herofilter.reproduce.speed.child import Outcome, run_child
from herofilter.reproduce.speed.inference_work import PATENTS, measure_inference, settings_of
from herofilter.reproduce.speed.scale_work import PATENTS_EDGES, PATENTS_NODES
from herofilter.reproduce.studies.graphs import is_there, power_law
from herofilter.reproduce.studies.study import Finished, Record, Row, Study, Summary, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding

OURS = "fast-herofilter"
# HeroFilter with its learned spectral filter, where the spectrum is small enough
LEARNED = "herofilter"
MODELS = (
    OURS,
    LEARNED,
    "gprgnn",
    "chebnetii",
    "bernnet",
    "goat",
    "nagphormer",
    "polyformer",
    "exphormer",
    "vcr-graphormer",
)
_LARGE = power_law(PATENTS_NODES, PATENTS_EDGES)
GRAPHS = (_LARGE, "arxiv-structure", "squirrel", "chameleon")
# milliseconds of HeroFilter's mixer, and how many times as long the next model takes
PAPER = {"squirrel": 0.92, "chameleon": 0.75, "arxiv-structure": 45.60, _LARGE: 71.66}
PAPERS_FACTOR = 8.0
REPETITIONS, LIMIT, MEMORY_SHARE = 5, 600.0, 0.85
_QUICK = "karate"
_WITH_SPECTRUM = ("squirrel", "chameleon", _QUICK)


def measure_model(task: Task) -> Record:
    """Return the seconds of inference for all nodes, or why there are none."""
    graph = PATENTS if task.graph == _LARGE else task.graph
    arguments = (graph, task.model, REPETITIONS, LIMIT / 4)
    if task.graph == _QUICK:
        outcome = Outcome(measure_inference(*arguments))
    else:
        memory = int(MEMORY_SHARE * free_memory())
        outcome = run_child(measure_inference, *arguments, limit=LIMIT, memory=memory)
    if outcome.why is not None:
        return {"seconds": None, "why": outcome.why}
    kept = ("seconds", "repetitions", "precompute_seconds", "peak_gib", "threads")
    return {**{key: outcome.value[key] for key in kept}, "why": None}


class Runtime(Study):
    """Is HeroFilter the fastest at inference?"""

    name = "runtime"
    title = "Inference time"
    reproduces = "the figure of inference times (appendix)"
    claim = (
        "HeroFilter's inference is the fastest on Squirrel, Chameleon, Arxiv-year and "
        "Snap-patents, on the first two eight times as fast as the next model."
    )
    alone = True

    def tasks(self, quick: bool) -> list[Task]:
        graphs = (_QUICK,) if quick else tuple(filter(is_there, GRAPHS))
        models = (OURS, LEARNED, "chebnetii") if quick else MODELS
        return [
            Task(graph, model, settings_of(model), 0, measure_model, "inference", model)
            for graph in graphs
            for model in models
            if model != LEARNED or graph in _WITH_SPECTRUM
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        rows: list[Row] = [
            {"graph": _title(task.graph), "model": task.model, **record}
            for task, record in finished
        ]
        graphs = list(dict.fromkeys(task.graph for task, _ in finished))
        ratios = {graph: next_ratio(graph, finished) for graph in graphs}
        panels = tuple(_panel(graph, finished) for graph in graphs)
        finding = _finding(ratios, rows, finished)
        return Summary(rows, Figure(self.title, panels, columns=2), finding)


def next_ratio(graph: str, finished: Sequence[Finished]) -> float | None:
    """Return how many times as long as Fast-HeroFilter the fastest model of others takes.

    None if unknown.
    """
    seconds = {
        task.model: record["seconds"]
        for task, record in finished
        if task.graph == graph and record["seconds"] is not None
    }
    others = [value for model, value in seconds.items() if model not in (OURS, LEARNED)]
    return min(others) / seconds[OURS] if OURS in seconds and others else None


def judge_ratios(ratios: Mapping[str, float | None]) -> tuple[str, str]:
    """Return the word for the claim that HeroFilter is the fastest by far, and why."""
    known = {graph: ratio for graph, ratio in ratios.items() if ratio is not None}
    fastest = [graph for graph, ratio in known.items() if ratio > 1]
    said = ", ".join(f"{_title(graph)} {ratio:.1f}" for graph, ratio in known.items())
    why = (
        f"Fast-HeroFilter is the fastest on {len(fastest)} of {len(known)} graphs; the fastest "
        "model of others takes as many times as long: "
        f"{said or 'unknown'} (the paper: {PAPERS_FACTOR:g})."
    )
    if not fastest:
        return NOT_CONFIRMED, why
    if len(fastest) == len(known) and min(known.values()) >= PAPERS_FACTOR:
        return CONFIRMED, why
    return WEAKER, why


def _title(graph: str) -> str:
    return "snap-patents (synthetic)" if graph == _LARGE else graph


def _panel(graph: str, finished: Sequence[Finished]) -> Panel:
    found = [(task.model, record["seconds"]) for task, record in finished if task.graph == graph]
    labels = [model for model, _ in found]
    values = [None if seconds is None else 1000 * seconds for _, seconds in found]
    return Panel(_title(graph), "", "milliseconds", (Bars("", labels, values),), log_y=True)


def _finding(
    ratios: Mapping[str, float | None], rows: Sequence[Row], finished: Sequence[Finished]
) -> Finding:
    word, why = judge_ratios(ratios)
    times = {(task.graph, task.model): record["seconds"] for task, record in finished}
    table = tuple(
        (
            _title(graph),
            f"{PAPER[graph]:.2f}" if graph in PAPER else "–",
            *(_milliseconds(times.get((graph, model))) for model in (OURS, LEARNED)),
            "–" if ratio is None else f"{ratio:.1f}",
        )
        for graph, ratio in ratios.items()
    )
    failed = [f"{row['model']} on {row['graph']}: {row['why']}" for row in rows if row["why"]]
    text = [
        "Seconds to get the logits of all nodes with untrained weights, 64 hidden channels. What "
        "is computed once, such as patches, isn't counted, as in the paper, whose hardware is "
        "unknown: compare ratios only. Models ran one after the other, so the noise of the machine "
        "is in the ratios. Fast-HeroFilter has patches of a fixed PageRank; HeroFilter, with its "
        "learned spectral filter, is measured where the whole spectrum can be had."
    ]
    if failed:
        text.append(f"Without a time: {'; '.join(failed)}.")
    titles = (
        "graph",
        "HeroFilter in the paper (ms)",
        "Fast-HeroFilter here (ms)",
        "HeroFilter here (ms)",
        "fastest of others, times as long",
    )
    return Finding(tuple(text), word, why, titles, table)


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:.2f}"
