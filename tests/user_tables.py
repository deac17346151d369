"""Tables as users have them: text ids, gaps, lonely nodes, repeated edges, nodes to come."""

from pathlib import Path

import numpy as np

from herofilter.data import csbm

NAMES = ("ai", "bio", "chem")
COLUMNS = ("age", "score", "height", "country", "tags")


def write_tables(
    folder: Path, num_nodes: int = 120, num_new: int = 10, seed: int = 0, edges_help: bool = True
) -> None:
    """Write nodes, edges, new_nodes and new_edges of one graph; the last nodes are the new ones."""
    heterophily = 0.1 if edges_help else 2 / 3
    data = csbm(num_nodes=num_nodes, num_classes=3, heterophily=heterophily, seed=seed)
    draw = np.random.default_rng(seed)
    names = [f"user:{number}" for number in range(num_nodes)]
    x = data.x.numpy() + (0 if edges_help else 3 * np.eye(3)[data.y.numpy()].repeat(11, 1)[:, :32])
    first_new = num_nodes - num_new
    pairs = [(a, b) for a, b in data.edge_index.t().tolist() if 5 not in (a, b)]
    old = [pair for pair in pairs if max(pair) < first_new]
    new = [pair for pair in pairs if max(pair) >= first_new]
    for file, some in (("edges.csv", [*old, *old[:3]]), ("new_edges.csv", new)):
        lines = [f"{names[a]},{names[b]}" for a, b in some]
        (folder / file).write_text("\n".join(["source,target", *lines]) + "\n")
    rows = []
    for number in range(num_nodes):
        age = "" if draw.random() < 0.1 else f"{x[number, 0]:.3f}"
        country = "DE" if x[number, 1] > 0 else "FR"
        tags = "a|b" if x[number, 2] > 0 else "c"
        label = NAMES[int(data.y[number])] if draw.random() < 0.8 else ""
        cells = [names[number], age, f"{x[number, 12]:.3f}", f"{x[number, 24]:.3f}", country, tags]
        rows.append((",".join(cells), label))
    head = ",".join(["id", *COLUMNS])
    known = [f"{row},{label}" for row, label in rows[:first_new]]
    (folder / "nodes.csv").write_text("\n".join([f"{head},topic", *known]) + "\n")
    coming = [row for row, _ in rows[first_new:]]
    (folder / "new_nodes.csv").write_text("\n".join([head, *coming]) + "\n")
