from .column_effects import (
    ColumnEffect as ColumnEffect,
    ColumnExplainer as ColumnExplainer,
    ColumnExplanation as ColumnExplanation,
    NodeEffect as NodeEffect,
)
from .explain import (
    Explanation as Explanation,
    TokenShare as TokenShare,
    explain_node as explain_node,
    explain_prediction as explain_prediction,
)
from .permutation import (
    ColumnImportance as ColumnImportance,
    column_importance as column_importance,
)
from .response import (
    FilterResponse as FilterResponse,
    filter_response as filter_response,
)
from .tables import (
    Predictor as Predictor,
    predict_tables as predict_tables,
    write_node_predictions as write_node_predictions,
)
