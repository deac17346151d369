from .checks import (
    check_graph as check_graph,
)
from .datasets.heterophilous import (
    read_npz as read_npz,
)
from .datasets.load import (
    list_datasets as list_datasets,
    load_dataset as load_dataset,
    on_disk as on_disk,
)
from .datasets.registry import (
    DatasetInfo as DatasetInfo,
)
from .disk_features import (
    DiskFeatures as DiskFeatures,
)
from .features import (
    degree_features as degree_features,
    density as density,
    row_normalise as row_normalise,
    standardise as standardise,
    to_sparse as to_sparse,
    with_features as with_features,
)
from .graph_folder import (
    load_graph_folder as load_graph_folder,
    save_graph_folder as save_graph_folder,
    verify_graph_folder as verify_graph_folder,
)
from .graph_path import (
    is_graph_path as is_graph_path,
)
from .graph_spec import (
    GraphSpec as GraphSpec,
)
from .splits import (
    num_splits as num_splits,
    random_splits as random_splits,
    select_split as select_split,
)
from .structure import (
    Structure as Structure,
    graph_structure as graph_structure,
    is_directed as is_directed,
    neighbour_pairs as neighbour_pairs,
    symmetrise as symmetrise,
)
from .synthetic.csbm import (
    csbm as csbm,
)
from .tables.convert import (
    from_edge_list as from_edge_list,
    from_networkx as from_networkx,
    from_pandas as from_pandas,
    from_scipy as from_scipy,
    to_tables as to_tables,
)
from .tables.encoder import (
    FeatureEncoder as FeatureEncoder,
)
from .tables.read_graph import (
    TableGraph as TableGraph,
    read_graph as read_graph,
)
