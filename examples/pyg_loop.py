"""HeroFilter with PyTorch Geometric's transforms, trained on mini-batches of nodes.

python examples/pyg_loop.py [epochs]
"""

import sys

import torch
import torch_geometric.transforms as T
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from herofilter import HeroFilter, Patches, csbm
from herofilter.patchers import AddPatches


def main(epochs: int = 30) -> None:
    torch.manual_seed(0)
    graph = csbm(num_nodes=500, num_classes=4, heterophily=0.3)  # or your Data
    prepare = T.Compose(
        [
            T.ToUndirected(),
            T.RandomNodeSplit(num_val=0.2, num_test=0.2),
            AddPatches(patch_size=8),  # last: patches hold the final node indices
        ]
    )
    data = prepare(graph)
    print(f"patches of {data.patch_index.size(1)} nodes for {data.num_nodes} nodes")

    model = HeroFilter(data.num_features, 4, patcher=Patches(data.patch_index, data.patch_score))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-3)
    batches = DataLoader(data.train_mask.nonzero().view(-1), batch_size=64, shuffle=True)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for nodes in batches:
            optimizer.zero_grad()
            # the model needs no neighbour sampling: a batch is its nodes' patches
            loss = cross_entropy(model(data, nodes), data.y[nodes])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(nodes)
        if epoch % 10 == 0:
            print(f"epoch {epoch}: loss {total / len(batches.dataset):.3f}")

    model.eval()
    with torch.no_grad():
        right = model(data).argmax(dim=1) == data.y
    print(f"test accuracy {right[data.test_mask].float().mean():.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
