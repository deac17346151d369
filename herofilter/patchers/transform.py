"""Patches as a transform of PyTorch Geometric."""

from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from herofilter.patchers.fast import FastPatcher


class AddPatches(BaseTransform):  # type: ignore[misc]
    """Write each node's patch beside its features: ``patch_index`` and ``patch_score``.

    ``Patches(data.patch_index, data.patch_score)`` is then what a model takes. Patches name nodes
    by their indices in this graph, so the transform belongs after any that drops or reorders nodes
    or edges, and graphs with patches aren't to be batched into one. The slots of several relations
    lose their names; where those matter, call a :class:`FastPatcher` instead.
    It has the arguments of one.

    Shapes:
        - data.patch_index: ``[n, p]``, int64, -1 at padding
        - data.patch_score: ``[n, p]``, float32, 0 at padding

    Example:
        >>> import torch
        >>> path = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> AddPatches(patch_size=2)(path).patch_index.tolist()
        [[0, 1], [1, 0], [2, 3], [3, 2]]
    """

    def __init__(
        self,
        patch_size: int = 16,
        c: float = 0.5,
        method: str = "auto",
        tolerance: float = 1e-5,
        self_loops: bool = True,
        directed: str = "symmetrise",
        ego: str = "first",
        relations: tuple[str, ...] = ("out",),
        refine: int = 0,
        margin: float = 0.01,
        hub_limit: int = 0,
        filters: tuple[tuple[float, ...], ...] = (),
    ) -> None:
        self.patcher = FastPatcher(
            patch_size,
            c,
            method,
            tolerance,
            self_loops,
            directed,
            ego,
            relations,
            refine,
            margin,
            hub_limit,
            filters,
        )

    def forward(self, data: Data) -> Data:
        patches = self.patcher(data)
        data.patch_index, data.patch_score = patches.index, patches.score
        return data

    def __repr__(self) -> str:
        return f"AddPatches({self.patcher})"
