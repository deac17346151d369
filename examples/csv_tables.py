"""From two CSV files to predictions, and an explanation of one of them.

python examples/csv_tables.py [seconds]
"""

import random
import sys
import tempfile
from pathlib import Path

from herofilter import Predictor, read_graph
from herofilter.predict.tables import predict_tables
from herofilter.report.explanation import explain_saved
from herofilter.training.search.fitting import fit_graph

TOPICS = ("cooking", "sailing")


def write_csv(folder: Path) -> None:
    """Stand in for your files: who follows whom, and what is known of each user."""
    rng = random.Random(0)
    topic = [rng.choice(TOPICS) for _ in range(160)]
    nodes = ["id,age,country,topic"]
    for user, likes in enumerate(topic):
        age = rng.gauss(35 if likes == "cooking" else 45, 12)
        known = likes if rng.random() < 0.75 else ""
        nodes.append(f"user:{user},{age:.0f},{rng.choice(['DE', 'FR', ''])},{known}")
    edges = ["source,target"]
    while len(edges) < 700:
        one, other = rng.randrange(160), rng.randrange(160)
        if topic[one] == topic[other] or rng.random() < 0.15:
            edges.append(f"user:{one},user:{other}")
    (folder / "nodes.csv").write_text("\n".join(nodes))
    (folder / "edges.csv").write_text("\n".join(edges))


def main(seconds: float = 30.0) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder)
        graph = read_graph(folder / "edges.csv", folder / "nodes.csv", label="topic")
        fitted = fit_graph(graph, budget=seconds)
        print(*fitted.said, sep="\n")
        fitted.predictor.save(folder / "model")

        model = Predictor.load(folder / "model")
        predicted = predict_tables(model)
        predicted.write(folder / "all.csv")
        print(*(folder / "all.csv").read_text().splitlines()[:3], sep="\n")
        if model.saved.model == "herofilter":
            print(*explain_saved(model, "user:7")["said"], sep="\n")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
