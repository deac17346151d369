"""The models that HeroFilter is compared with; importing this room registers them all."""

from herofilter.baselines.appnp import APPNP
from herofilter.baselines.bernnet import BernNet
from herofilter.baselines.bm_gcn import BMGCN
from herofilter.baselines.chebnet import ChebNet
from herofilter.baselines.chebnetii import ChebNetII
from herofilter.baselines.exphormer import Exphormer
from herofilter.baselines.fagcn import FAGCN
from herofilter.baselines.g2_gcn import G2GCN
from herofilter.baselines.gat import GAT
from herofilter.baselines.gcn import GCN
from herofilter.baselines.gcn_jknet import GCNJKNet
from herofilter.baselines.goat import GOAT
from herofilter.baselines.gprgnn import GPRGNN
from herofilter.baselines.graphsage import GraphSAGE
from herofilter.baselines.h2gcn import H2GCN
from herofilter.baselines.linkx import LINKX
from herofilter.baselines.mlp import MLP
from herofilter.baselines.nagphormer import NAGphormer
from herofilter.baselines.polyformer import PolyFormer
from herofilter.baselines.polynormer import Polynormer
from herofilter.baselines.sgformer import SGFormer
from herofilter.baselines.vcr_graphormer import VCRGraphormer

__all__ = [
    "APPNP",
    "BMGCN",
    "FAGCN",
    "G2GCN",
    "GAT",
    "GCN",
    "GOAT",
    "GPRGNN",
    "H2GCN",
    "LINKX",
    "MLP",
    "BernNet",
    "ChebNet",
    "ChebNetII",
    "Exphormer",
    "GCNJKNet",
    "GraphSAGE",
    "NAGphormer",
    "PolyFormer",
    "Polynormer",
    "SGFormer",
    "VCRGraphormer",
]
