"""What a model needs to know of a graph beside its edges."""

from dataclasses import dataclass

from torch_geometric.data import Data

from herofilter.errors import GraphError


@dataclass(frozen=True)
class GraphSpec:
    """The sizes that a model is built for; a graph without labels has them too.

    Args:
        in_channels: width of the features.
        num_classes: number of classes.
        num_nodes: number of nodes.
        featureless: whether the nodes have no features, so that a model learns a vector for each.

    Example:
        >>> from herofilter.data import csbm
        >>> GraphSpec.of(csbm(num_nodes=60, num_classes=3))
        GraphSpec(in_channels=32, num_classes=3, num_nodes=60, featureless=False)
        >>> GraphSpec.of(csbm(num_nodes=60, num_classes=3), num_classes=5).num_classes
        5
    """

    in_channels: int
    num_classes: int
    num_nodes: int
    featureless: bool = False

    @property
    def num_embeddings(self) -> int:
        """The number of learned node vectors: one per node without features, else none."""
        return self.num_nodes if self.featureless else 0

    @classmethod
    def of(cls, data: Data, num_classes: int | None = None) -> "GraphSpec":
        """Return the sizes of a prepared graph.

        Without ``num_classes`` its labels say how many classes there are.
        """
        if num_classes is None:
            num_classes = count_classes(data)
        return cls(
            int(data.num_features),
            num_classes,
            int(data.num_nodes or 0),
            bool(data.get("featureless", False)),
        )


def count_classes(data: Data) -> int:
    """Return how many classes the labels of a graph show, counted from 0 to the largest."""
    y = data.get("y")
    if y is None:
        raise GraphError(
            "the number of classes must be given for a graph without labels (got none); "
            "give num_classes"
        )
    return int(y.max()) + 1
