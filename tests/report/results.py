"""Made-up results in the form that experiments and training give."""

from typing import Any


def demo_result() -> dict[str, Any]:
    def entry(mean: float) -> dict[str, Any]:
        return {"mean": mean, "std": 0.0123, "values": [mean, mean]}

    return {
        "levels": [
            {
                "heterophily": heterophily,
                "node_heterophily": heterophily,
                "edge_homophily": 0.95 - heterophily,
                "patch_homophily": 0.77,
                "accuracy": {
                    "mlp": entry(0.611),
                    "gcn": entry(0.622),
                    "herofilter": entry(0.733 + heterophily / 10),
                },
                "holds": True,
            }
            for heterophily in (0.1, 0.9)
        ],
        "num_nodes": 100,
        "num_splits": 2,
        "config": {},
        "seconds": 1.0,
    }
