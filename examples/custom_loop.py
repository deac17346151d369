"""HeroFilter is an ordinary torch.nn.Module: here it trains in a custom loop.

python examples/custom_loop.py [epochs]
"""

import sys

import torch
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data

from herofilter import HeroFilter, SpectralPatcher, csbm, select_split


def main(epochs: int = 60) -> None:
    torch.manual_seed(0)
    data = select_split(csbm(num_nodes=400, num_classes=4, heterophily=0.2), 0)
    model = HeroFilter(data.num_features, 4, patcher=SpectralPatcher(data, patch_size=8))
    # the filter has few weights that affect every patch: a lower rate keeps its training stable
    optimizer = torch.optim.Adam(
        [
            {"params": model.other_parameters(), "lr": 0.01, "weight_decay": 5e-3},
            {"params": model.filter_parameters(), "lr": 0.001},
        ]
    )
    train_nodes, val_nodes, test_nodes = (
        mask.nonzero().view(-1) for mask in (data.train_mask, data.val_mask, data.test_mask)
    )
    best, kept = -1.0, {}
    for epoch in range(epochs):
        if epoch and epoch % 25 == 0:
            model.refresh()  # choose patches again with the filter as it is now
        model.train()
        optimizer.zero_grad()
        loss = cross_entropy(model(data, train_nodes), data.y[train_nodes])
        loss.backward()
        optimizer.step()
        val = accuracy(model, data, val_nodes)
        if val > best:
            best, kept = val, {key: value.clone() for key, value in model.state_dict().items()}
        if epoch % 20 == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}, validation accuracy {val:.3f}")
    model.load_state_dict(kept)
    print(f"test accuracy {accuracy(model, data, test_nodes):.3f}")


@torch.no_grad()
def accuracy(model: HeroFilter, data: Data, nodes: torch.Tensor) -> float:
    model.eval()
    return float((model(data, nodes).argmax(dim=1) == data.y[nodes]).float().mean())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
