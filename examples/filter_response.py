"""Print the learned filter's response over all frequencies, and the homophily of patches.

An eigenvalue near 1 is a smooth signal, equal on neighbours; one near -1 flips along edges.

    python examples/filter_response.py [heterophily]
"""

import sys

import torch

from herofilter import HeroFilter, SpectralPatcher, TrainConfig, csbm, select_split, train
from herofilter.measures import edge_heterophily
from herofilter.predict import filter_response
from herofilter.spectral import make_filter


def main(heterophily: float = 0.8) -> None:
    torch.manual_seed(0)
    data = select_split(
        csbm(num_nodes=300, heterophily=heterophily, compatibility="cyclic", feature_signal=1.5), 0
    )
    filters = [make_filter("adaptive", start=start) for start in ("low", "hop2")]
    model = HeroFilter(data.num_features, 5, SpectralPatcher(data, patch_size=16, filters=filters))
    before = filter_response(model.patcher, points=9)
    result = train(model, data, TrainConfig(epochs=60, filter_lr=0.02))
    after = filter_response(model.patcher, points=9)

    print("g(λ) before → after training, bar of the latter:")
    for old, new in zip(before["filters"], after["filters"], strict=True):
        print(new["name"])
        largest = max(map(abs, new["response"]))
        for frequency, start, end in zip(
            after["grid"], old["response"], new["response"], strict=True
        ):
            bar = "#" * round(30 * abs(end) / largest)
            print(f"  λ = {frequency:+.2f}  {start:+.3f} → {end:+.3f}  {bar}")
    print(f"edge homophily  {1 - edge_heterophily(data):.2f}")
    print(f"patch homophily {model.patches().homophily(data.y):.2f}")
    print(f"test accuracy   {result.test.accuracy:.2f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
