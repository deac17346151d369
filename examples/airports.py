"""Which region is an airport in? From a real table to predictions, reasons and a saved model.

python examples/airports.py [seconds] [folder]

The tables are 292 airports of the United States and the flights between them in 2008, works of
its government; three regions in ten are left blank. Airports know their latitude and their
departures, which isn't enough: half of all routes lead to another region.
"""

import sys
import tempfile
from pathlib import Path

from herofilter import Predictor, read_graph
from herofilter.predict.tables import predict_tables
from herofilter.training.search.fitting import fit_graph

TABLES = Path(__file__).parent / "airports"


def main(seconds: float = 60.0, folder: Path | None = None) -> None:
    graph = read_graph(
        TABLES / "flights.csv",
        TABLES / "airports.csv",
        label="region",
        source="origin",
        target="destination",
        weight="flights",
        features=("latitude", "departures"),
    )
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "model") if folder is None else folder
        fitted = fit_graph(graph, budget=seconds, out=out)
        print(*fitted.said, sep="\n")
        fitted.predictor.save(out)

        predicted = predict_tables(Predictor.load(out))
        predicted.write(out / "predictions.csv")
        lines = (out / "predictions.csv").read_text().splitlines()
        blank = [line for line in lines if line.split(",")[1] == ""]
        print(f"{len(blank)} airports had no region; the first of them:", *blank[:3], sep="\n")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]), *map(Path, sys.argv[2:3]))
