from .appnp import (
    APPNP as APPNP,
)
from .bernnet import (
    BernNet as BernNet,
)
from .bm_gcn import (
    BMGCN as BMGCN,
)
from .booster import (
    Booster as Booster,
)
from .chebnet import (
    ChebNet as ChebNet,
)
from .chebnetii import (
    ChebNetII as ChebNetII,
)
from .dir_gnn import (
    DirGNN as DirGNN,
)
from .exphormer import (
    Exphormer as Exphormer,
)
from .fagcn import (
    FAGCN as FAGCN,
)
from .g2_gcn import (
    G2GCN as G2GCN,
)
from .gat import (
    GAT as GAT,
)
from .gcn import (
    GCN as GCN,
)
from .gcn_jknet import (
    GCNJKNet as GCNJKNet,
)
from .goat import (
    GOAT as GOAT,
)
from .gprgnn import (
    GPRGNN as GPRGNN,
)
from .graphsage import (
    GraphSAGE as GraphSAGE,
)
from .h2gcn import (
    H2GCN as H2GCN,
)
from .linkx import (
    LINKX as LINKX,
)
from .majority import (
    Majority as Majority,
)
from .mlp import (
    MLP as MLP,
)
from .nagphormer import (
    NAGphormer as NAGphormer,
)
from .neighbour_booster import (
    NeighbourBooster as NeighbourBooster,
)
from .polyformer import (
    PolyFormer as PolyFormer,
)
from .polynormer import (
    Polynormer as Polynormer,
)
from .res_gat import (
    ResGAT as ResGAT,
)
from .res_gcn import (
    ResGCN as ResGCN,
)
from .res_graphsage import (
    ResGraphSAGE as ResGraphSAGE,
)
from .sgformer import (
    SGFormer as SGFormer,
)
from .vcr_graphormer import (
    VCRGraphormer as VCRGraphormer,
)
