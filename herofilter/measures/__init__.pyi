from .card import (
    DataCard as DataCard,
    MemoryNeed as MemoryNeed,
    SplitSizes as SplitSizes,
    data_card as data_card,
)
from .fit_warning import (
    FitWarning as FitWarning,
)
from .heterophily import (
    adjusted_homophily as adjusted_homophily,
    class_adjusted_heterophily as class_adjusted_heterophily,
    compatibility as compatibility,
    edge_heterophily as edge_heterophily,
    label_informativeness as label_informativeness,
    node_heterophily as node_heterophily,
    node_heterophily_vector as node_heterophily_vector,
    spectral_heterophily as spectral_heterophily,
)
from .independence import (
    edge_class_p_value as edge_class_p_value,
)
from .label_pairs import (
    LabelPairs as LabelPairs,
)
from .leakage import (
    repeated_test_rows as repeated_test_rows,
    repeats_by_chance as repeats_by_chance,
)
from .score_warnings import (
    direction_warning as direction_warning,
    score_warnings as score_warnings,
)
from .single_columns import (
    single_column_accuracy as single_column_accuracy,
)
from .table_warnings import (
    table_warnings as table_warnings,
)
