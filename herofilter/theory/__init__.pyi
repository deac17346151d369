from .alignment import (
    align as align,
    aligning_weights as aligning_weights,
    best_alignment as best_alignment,
)
from .assumptions import (
    Assumption as Assumption,
    Checked as Checked,
)
from .error_bound import (
    ErrorBound as ErrorBound,
    error_bound as error_bound,
    graph_error_bound as graph_error_bound,
)
from .graph_spectrum import (
    GraphSpectrum as GraphSpectrum,
    graph_spectrum as graph_spectrum,
)
from .heterophily_spectrum import (
    HeterophilySpectrum as HeterophilySpectrum,
    heterophily_spectrum as heterophily_spectrum,
)
from .label_spectrum import (
    LabelSpectrum as LabelSpectrum,
    label_spectrum as label_spectrum,
)
from .mean_response import (
    MeanResponseBound as MeanResponseBound,
    graph_mean_response_bound as graph_mean_response_bound,
    mean_response_bound as mean_response_bound,
)
