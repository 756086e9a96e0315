"""Events: frozen records of what a mechanism did.

Mechanisms write them, accounting reads them, the ledger stores them. An event holds public facts in exact
numbers: which noise, at which scale, on a value of which sensitivity. It holds neither a cost nor data. It can be
written as JSON and read back unchanged:

>>> from fractions import Fraction
>>> event = Repeated(LaplaceNoise(scale=Fraction(50)), times=1000)
>>> print(event)
1000 times: Laplace noise of scale 50 on a value of sensitivity 1
>>> to_json(event)
'{"dither_event":1,"kind":"Repeated","event":{"kind":"LaplaceNoise","scale":"50","sensitivity":"1"},"times":1000}'
>>> from_json(to_json(event)) == event
True

Every event has an `adjacency`; None means that it is unstated (see `dither.adjacency`). An event that is made of others
has the adjacency that its parts share, and refuses parts that differ.
"""

from dither.events.added_noise import GaussianNoise, LaplaceNoise, MixtureOfGaussians, SmoothNoise, StaircaseNoise
from dither.events.composite import (
    Composed,
    Either,
    Event,
    FixedSizeSampled,
    Leaf,
    PoissonSampled,
    Repeated,
    TestAndRelease,
)
from dither.events.container import Composite, walk
from dither.events.derived import GroupOf, RepeatAndSelect, ReplaceOne, ShuffledReports
from dither.events.event import Stated
from dither.events.foreign import from_dp_accounting, from_opacus, to_dp_accounting
from dither.events.matrix_noise import MatrixNoise, TreeNoise
from dither.events.noisy_choices import FiniteAnswer, RandomizedAnswer, Selection, SparseVectorRun
from dither.events.samples import BallsInBinsSampled, TruncatedPoissonSampled, WithReplacementSampled
from dither.events.wire import from_json, to_json

__all__ = [
    "BallsInBinsSampled",
    "Composed",
    "Composite",
    "Either",
    "Event",
    "FiniteAnswer",
    "FixedSizeSampled",
    "GaussianNoise",
    "GroupOf",
    "LaplaceNoise",
    "Leaf",
    "MatrixNoise",
    "MixtureOfGaussians",
    "PoissonSampled",
    "RandomizedAnswer",
    "RepeatAndSelect",
    "Repeated",
    "ReplaceOne",
    "Selection",
    "ShuffledReports",
    "SmoothNoise",
    "SparseVectorRun",
    "StaircaseNoise",
    "Stated",
    "TestAndRelease",
    "TreeNoise",
    "TruncatedPoissonSampled",
    "WithReplacementSampled",
    "from_dp_accounting",
    "from_json",
    "from_opacus",
    "to_dp_accounting",
    "to_json",
    "walk",
]
