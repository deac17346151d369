from .fast import (
    FastPatcher as FastPatcher,
)
from .learned import (
    LearnedPatcher as LearnedPatcher,
)
from .local_patcher import (
    LocalPatcher as LocalPatcher,
)
from .memory import patcher_memory as patcher_memory
from .patches import (
    Patches as Patches,
    Slot as Slot,
)
from .polynomial_patcher import (
    PolynomialPatcher as PolynomialPatcher,
)
from .shuffled import (
    ShuffledPatcher as ShuffledPatcher,
)
from .spectral import (
    SpectralPatcher as SpectralPatcher,
)
from .store import (
    PatchStore as PatchStore,
)
from .store_writer import (
    write_patches as write_patches,
)
from .summary import (
    RelationSummary as RelationSummary,
)
from .transform import (
    AddPatches as AddPatches,
)
