"""The models that HeroFilter is compared with; importing this room registers them all."""

from herofilter.baselines.gcn import GCN
from herofilter.baselines.mlp import MLP

__all__ = ["GCN", "MLP"]
