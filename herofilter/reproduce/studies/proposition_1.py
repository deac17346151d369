"""Proposition 1 on the nine graphs: which way does the inequality go, and may it be used?"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from herofilter.config import Config
from herofilter.report.figure import Figure, Panel, Points
from herofilter.reproduce.accuracy import GRAPHS
from herofilter.reproduce.studies.graphs import blocks, is_there, kept_graph
from herofilter.reproduce.studies.study import Finished, Record, Row, Study, Summary, Task
from herofilter.reproduce.studies.verdict import CONFIRMED, NOT_CONFIRMED, WEAKER, Finding
from herofilter.theory import graph_spectrum, heterophily_spectrum, mean_response_bound

# of the eigenvalues λ of Ã, each within [0, 1]
FILTERS: dict[str, Callable[[Tensor], Tensor]] = {
    "low-pass": lambda values: (1 + values) / 2,
    "high-pass": lambda values: (1 - values) / 2,
    "middle": lambda values: 1 - values.square(),
    "both ends": torch.square,
}
TRIALS = 2000
# eigenvalues that a figure shows at most
_SHOWN = 400
# of a modulus on a logarithmic axis
_SMALLEST = 1e-6


def both_sides(task: Task) -> Record:
    """Return ĥ of a graph, and both sides for every filter, with and without rescaling."""
    data = kept_graph(task.graph)
    spectrum = graph_spectrum(data)
    found = heterophily_spectrum(data, spectrum)
    sides = {}
    for name, g in FILTERS.items():
        response = g(spectrum.eigenvalues).clamp(0, 1)
        sides[name] = {
            kind: _side(response, found.h_hat, kind == "rescaled") for kind in ("given", "rescaled")
        }
    step = max(1, spectrum.num_nodes // _SHOWN)
    return {
        "largest": found.largest,
        "above_one": int((found.h_hat.abs() > 1).sum()),
        "zeros": int((found.h_hat == 0).sum()),
        "repeated": found.num_repeated,
        "sides": sides,
        "eigenvalues": found.eigenvalues[::step].tolist(),
        "h_hat": found.h_hat.abs()[::step].clamp(min=_SMALLEST).tolist(),
    }


def _side(response: Tensor, h_hat: Tensor, rescale: bool) -> Record:
    found = mean_response_bound(response, h_hat, rescale=rescale)
    return {
        "mean_response": found.mean_response,
        # JSON knows neither infinity nor NaN
        "bound": str(found.bound),
        "printed": found.printed_holds,
        "corrected": found.corrected_holds,
        "failed": list(found.failed),
    }


def random_trials(task: Task) -> Record:
    """Return how often each direction holds for random g and ĥ that meet every assumption."""
    generator = torch.Generator().manual_seed(task.split)
    printed = corrected = usable = 0
    for _ in range(TRIALS):
        size = int(torch.randint(2, 60, (1,), generator=generator))
        g, h_hat = torch.rand(2, size, generator=generator, dtype=torch.float64)
        found = mean_response_bound(g, h_hat.clamp(1e-6, 1 - 1e-6))
        usable += found.assumptions_hold
        printed += found.assumptions_hold and found.printed_holds
        corrected += found.assumptions_hold and found.corrected_holds
    return {"trials": usable, "printed": printed, "corrected": corrected}


class Proposition1(Study):
    """Is the mean response at least the bound, as printed, or at most?"""

    name = "proposition-1"
    title = "Proposition 1: mean response and heterophily"
    reproduces = "Definition 2 and Proposition 1"
    claim = "the mean response of a filter is at least a bound that heterophily sets."

    def tasks(self, quick: bool) -> list[Task]:
        graphs = (
            [blocks(0.9, 60)] if quick else [name for name in reversed(GRAPHS) if is_there(name)]
        )
        return [
            *(Task(name, "none", Config(), 0, both_sides, self.name, name) for name in graphs),
            Task(blocks(0.5, 60), "none", Config(), 0, random_trials, "random-trials", "random"),
        ]

    def summarise(self, finished: Sequence[Finished]) -> Summary:
        (trials,) = (record for task, record in finished if task.variant == "random")
        graphs = [(task.variant, record) for task, record in finished if task.variant != "random"]
        rows = [row for name, record in graphs for row in _rows(name, record)]
        panels = tuple(
            Panel(
                f"{name}: largest {record['largest']:.1f}",
                "eigenvalue λ of Ã",
                "|ĥ|",
                (Points("|ĥ|", record["eigenvalues"], record["h_hat"]),),
                log_y=True,
            )
            for name, record in graphs
        )
        figure = Figure("Heterophily in the spectral domain", panels)
        return Summary(rows, figure, _finding(rows, graphs, trials))


def _rows(name: str, record: Record) -> list[Row]:
    return [
        {
            "graph": name,
            "filter": kind,
            "scaling": scaling,
            "largest": record["largest"] if scaling == "given" else 1.0,
            "above_one": record["above_one"] if scaling == "given" else 0,
            "zeros": record["zeros"],
            **side,
            "failed": "; ".join(side["failed"]),
        }
        for kind, sides in record["sides"].items()
        for scaling, side in sides.items()
    ]


def _finding(rows: Sequence[Row], graphs: Sequence[tuple[str, Record]], trials: Record) -> Finding:
    usable = [row for row in rows if not row["failed"]]
    printed = sum(row["printed"] for row in usable) + trials["printed"]
    corrected = sum(row["corrected"] for row in usable) + trials["corrected"]
    total = len(usable) + trials["trials"]
    word = CONFIRMED if printed == total else WEAKER if 2 * printed > total else NOT_CONFIRMED
    broken = [row for row in rows if row["scaling"] == "given" and row["above_one"]]
    text = (
        "ĥ = Uᵀh is the heterophily of single nodes in the eigenbasis of Ã. The proposition wants "
        "every |ĥ| to be at most one; that fails in "
        f"{len({row['graph'] for row in broken})} of {len(graphs)} graphs, since the leading "
        "coefficient grows with the square root of the number of nodes. The table also has the "
        "number of coefficients that are zero, where the bound is infinite.",
        f"Where every assumption holds ({len(usable)} of {len(rows)} pairs of graph and filter, "
        "with ĥ divided by its largest modulus where that is needed, and "
        f"{trials['trials']} random trials), the mean response is *at most* the bound in "
        f"{corrected} of {total} cases. docs/theory.md has the proof.",
    )
    why = (
        f"As printed, with ≥, it holds in {printed} of {total} cases that meet its assumptions; "
        "the logarithm by which the proof divides is negative, which turns the sign."
    )
    table = tuple(
        (
            name,
            f"{record['largest']:.2f}",
            str(record["above_one"]),
            str(record["zeros"]),
            str(record["repeated"]),
        )
        for name, record in graphs
    )
    titles = ("graph", "largest modulus of ĥ", "moduli above one", "zeros", "repeated λ")
    return Finding(text, word, why, titles, table)
