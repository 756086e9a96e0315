"""Events of other libraries, read as events of dither, and written as theirs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.events.added_noise import GaussianNoise, LaplaceNoise, MixtureOfGaussians
from dither.events.composite import Composed, Event, FixedSizeSampled, PoissonSampled, Repeated
from dither.events.derived import RepeatAndSelect
from dither.events.event import Stated
from dither.events.matrix_noise import MatrixNoise, TreeNoise
from dither.events.noisy_choices import RandomizedAnswer
from dither.events.samples import TruncatedPoissonSampled, WithReplacementSampled
from dither.exact import Ball, Number, ball, check, lower, precision, rational
from dither.exact.certified import above, named
from dither.exact.negative_binomial import mean_repetitions, stop_for

__all__ = ["from_dp_accounting", "from_opacus", "to_dp_accounting"]

_ROUNDING = Fraction(1, 10**9)


def from_opacus(history: Iterable[tuple[Number, Number, int]]) -> Event:
    """Read the history of an Opacus accountant: rounds of Poisson-sampled Gaussian noise.

    Parameters
    ----------
    history : iterable of (float, float, int)
        (noise multiplier, sample rate, number of steps), as `privacy_engine.accountant.history` has them.

    Returns
    -------
    Event
        What was done, for `dp.compose`, `dp.calibrate` or a ledger; under `ADD_REMOVE`.

    Raises
    ------
    ParameterError
        If there is no entry, or a number is out of range.

    Examples
    --------
    >>> print(from_opacus([(1.1, 0.01, 500)]))
    500 times: on a Poisson sample of rate 0.01: Gaussian noise of standard deviation 1.1 on a value of sensitivity ...
    """
    done = []
    entries: Iterable[Any] = history  # from outside: anything may stand there
    for entry in entries:
        if not isinstance(entry, tuple | list) or len(entry) != 3:
            raise ParameterError(
                "each entry of the history must be (noise multiplier, sample rate, steps), as "
                "privacy_engine.accountant.history has them."
            )
        noise, rate, steps = entry
        check.count(steps=steps)
        share = rational(rate, "sample rate")
        each: Event = GaussianNoise.of(rational(noise, "noise multiplier"), adjacency=ADD_REMOVE)
        done.append(Repeated(each if share == 1 else PoissonSampled(each, share), steps))
    return Composed(tuple(done)) if len(done) != 1 else done[0]


def from_dp_accounting(event: Any, adjacency: Adjacency | None = ADD_REMOVE) -> Event:
    """Read an event of Google's dp_accounting.

    Parameters
    ----------
    event : DpEvent
        An event of `dp_accounting`. Its sensitivities are 1, as that library has them.
    adjacency : Adjacency or None, default ADD_REMOVE
        Which datasets are neighbours: what that library asks for as its neighbouring relation. None leaves it unstated.

    Returns
    -------
    Event
        The same, for `dp.compose`, `dp.calibrate` or a ledger.

    Raises
    ------
    ParameterError
        If the event has no counterpart; the message names it. Nothing is left out silently.

    Notes
    -----
    A tree of a single epoch is Gaussian noise on a value whose squared sensitivity is the depth of the largest tree.

    Under `REPLACE_ONE` sensitivities are about a record that is replaced, as in that library's Rényi accountant. Its
    accountant of privacy loss distributions takes them to be about a record that comes or goes, and doubles them: that
    is ``ReplaceOne(from_dp_accounting(event))``.

    Examples
    --------
    >>> import dp_accounting as google  # doctest: +SKIP
    >>> step = google.PoissonSampledDpEvent(0.01, google.GaussianDpEvent(1.1))  # doctest: +SKIP
    >>> print(from_dp_accounting(google.SelfComposedDpEvent(step, 1000)))  # doctest: +SKIP
    1000 times: on a Poisson sample of rate 0.01: Gaussian noise of standard deviation 1.1 on a value of ...
    """
    kind = type(event).__name__
    if kind not in _READERS:
        raise ParameterError(
            f"{kind} of dp_accounting has no counterpart here. Known: {', '.join(sorted(_READERS))}. What was proved "
            "elsewhere can be given as a guarantee."
        )
    return _READERS[kind](event, adjacency)


def _number(event: Any, name: str) -> Fraction:
    return rational(getattr(event, name), name)


def _composed(event: Any, adjacency: Adjacency | None) -> Event:
    parts = [from_dp_accounting(part, adjacency) for part in event.events if type(part).__name__ != "NoOpDpEvent"]
    return Composed(tuple(parts))


def _without_replacement(event: Any, adjacency: Adjacency | None) -> Event:
    if adjacency != REPLACE_ONE:
        raise ParameterError("SampledWithoutReplacementDpEvent is about a record that is replaced. Use REPLACE_ONE.")
    inner = from_dp_accounting(event.event, adjacency)
    return FixedSizeSampled(inner, int(event.sample_size), int(event.source_dataset_size))


def _tree(event: Any, adjacency: Adjacency | None) -> Event:
    """A record takes part once, in one leaf and in its ancestors: as many nodes as the largest tree has levels."""
    if adjacency is not None:
        raise ParameterError(
            "SingleEpochTreeAggregationDpEvent is about a record that is replaced by one of zeros. Say adjacency=None."
        )
    counts = event.step_counts
    steps = max(counts) if isinstance(counts, list | tuple) else counts
    check.count(step_counts=int(steps))
    variance = _number(event, "noise_multiplier") ** 2
    return GaussianNoise(variance=variance, sensitivity_squared=int(steps).bit_length())


def _concentrated(event: Any, adjacency: Adjacency | None) -> Event:
    rho, xi = _number(event, "rho"), _number(event, "xi")
    return Stated("ZCDP", (rho, xi) if xi else (rho,), adjacency)


def _with_replacement(event: Any, adjacency: Adjacency | None) -> Event:
    if adjacency != REPLACE_ONE:
        raise ParameterError("SampledWithReplacementDpEvent is about a record that is replaced. Use REPLACE_ONE.")
    inner = from_dp_accounting(event.event, adjacency)
    return WithReplacementSampled(inner, int(event.sample_size), int(event.source_dataset_size))


def _truncated(event: Any, adjacency: Adjacency | None) -> Event:
    noise = GaussianNoise.of(_number(event, "noise_multiplier"), adjacency=adjacency)
    rate, batch = _number(event, "sampling_probability"), int(event.truncated_batch_size)
    return TruncatedPoissonSampled(noise, rate, batch, int(event.dataset_size))


def _selected(event: Any, adjacency: Adjacency | None) -> Event:
    """Its mean becomes a stopping probability that is rounded down: as many runs, or a few more."""
    inner, mean = from_dp_accounting(event.event, adjacency), _number(event, "mean")
    if event.shape == math.inf:
        return RepeatAndSelect(inner, mean=mean)
    shape = _number(event, "shape")
    exact = 1 / mean if shape == 1 and mean >= 1 else stop_for(shape, mean)
    return RepeatAndSelect(inner, shape, exact)


def _mixture(event: Any, adjacency: Adjacency | None) -> Event:
    """Probabilities that are off by rounding: what is missing moves farthest, what is too much is taken from the least.

    More probability of a larger amount dominates less, so this errs on the safe side.
    """
    amounts = [rational(float(value), "sensitivities") for value in event.sensitivities]
    shares = [rational(float(value), "sampling_probs") for value in event.sampling_probs]
    both = sorted((amount, share) for amount, share in zip(amounts, shares, strict=True) if share)
    missing = 1 - sum((share for _, share in both), Fraction(0))
    if not both or abs(missing) > _ROUNDING or both[0][1] + min(missing, Fraction(0)) <= 0:
        raise ParameterError("sampling_probs of MixtureOfGaussiansDpEvent must be probabilities that sum to 1.")
    place = -1 if missing > 0 else 0
    both[place] = (both[place][0], both[place][1] + missing)
    return MixtureOfGaussians(
        variance=_number(event, "standard_deviation") ** 2,
        sensitivities=[amount for amount, _ in both],
        probabilities=[share for _, share in both],
        adjacency=adjacency,
    )


_READERS: dict[str, Callable[[Any, Adjacency | None], Event]] = {
    "GaussianDpEvent": lambda e, a: GaussianNoise.of(_number(e, "noise_multiplier"), adjacency=a),
    "LaplaceDpEvent": lambda e, a: LaplaceNoise(_number(e, "noise_multiplier"), adjacency=a),
    "DiscreteLaplaceDpEvent": lambda e, a: LaplaceNoise(
        1 / _number(e, "noise_parameter"), _number(e, "sensitivity"), step=Fraction(1), adjacency=a
    ),
    "MixtureOfGaussiansDpEvent": _mixture,
    "RandomizedResponseDpEvent": lambda e, a: RandomizedAnswer(
        1 - _number(e, "noise_parameter"), int(e.num_buckets), adjacency=a
    ),
    "EpsilonDeltaDpEvent": lambda e, a: Stated("ApproxDP", (_number(e, "epsilon"), _number(e, "delta")), a),
    "ZCDpEvent": _concentrated,
    "SelfComposedDpEvent": lambda e, a: Repeated(from_dp_accounting(e.event, a), int(e.count)),
    "ComposedDpEvent": _composed,
    "PoissonSampledDpEvent": lambda e, a: PoissonSampled(
        from_dp_accounting(e.event, a), _number(e, "sampling_probability")
    ),
    "SampledWithoutReplacementDpEvent": _without_replacement,
    "SampledWithReplacementDpEvent": _with_replacement,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "RepeatAndSelectDpEvent": _selected,
    "SingleEpochTreeAggregationDpEvent": _tree,
}


def to_dp_accounting(event: Event) -> Any:
    """Write an event as one of Google's dp_accounting, which must be installed.

    Parameters
    ----------
    event : Event
        An event of `dp.events`, such as `dp.Laplace(...).event`.

    Returns
    -------
    DpEvent
        The same in that library. Which datasets are neighbours is not part of its events: its accountants are told.
        Numbers become floats, the noise rounded down.

    Raises
    ------
    ParameterError
        If the event has no counterpart there; the message names it. Nothing is left out silently.
    ImportError
        If dp_accounting is not installed.

    Examples
    --------
    >>> step = PoissonSampled(GaussianNoise.of(Fraction(11, 10)), "0.01")
    >>> to_dp_accounting(Repeated(step, 1000))  # doctest: +SKIP
    SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, event=GaussianDpEvent(...)), count=1000)
    """
    try:
        from dp_accounting import dp_event as theirs  # type: ignore[import-not-found]  # some events are there alone
    except ImportError as missing:
        raise ImportError("to_dp_accounting needs Google's library: pip install dp-accounting") from missing
    return _written(event, theirs)


def _written(event: Event, theirs: Any) -> Any:
    writer = _WRITERS.get(type(event))
    written = None if writer is None else writer(event, theirs)
    if written is None:
        raise ParameterError(
            f"dp_accounting has no counterpart of: {event}. What it costs can be given as a curve or as (epsilon, "
            "delta), where its version has events for them."
        )
    return written


def _below(exact: Callable[[], Ball]) -> float:
    """A float that is not above the number: noise is never overstated."""
    with precision(128):
        return lower(exact())


def _gaussian_out(event: GaussianNoise, theirs: Any) -> Any:
    if event.step is not None:
        return None
    return theirs.GaussianDpEvent(_below(lambda: (ball(event.variance) / ball(event.sensitivity_squared)).sqrt()))


def _laplace_out(event: LaplaceNoise, theirs: Any) -> Any:
    step = event.step
    if step is None:
        return theirs.LaplaceDpEvent(_below(lambda: ball(event.scale / event.sensitivity)))
    parameter = -_below(lambda: -ball(step / event.scale))
    return theirs.DiscreteLaplaceDpEvent(parameter, int(event.sensitivity / step))


def _mixture_out(event: MixtureOfGaussians, theirs: Any) -> Any:
    amounts, shares = map(float, event.sensitivities), map(float, event.probabilities)
    return theirs.MixtureOfGaussiansDpEvent(_below(lambda: ball(event.variance).sqrt()), [*amounts], [*shares])


def _stated_out(event: Stated, theirs: Any) -> Any:
    if event.measure == "ZCDP":
        return theirs.ZCDpEvent(*map(named, event.values))
    if event.measure in ("PureDP", "ApproxDP"):
        epsilon, delta = (*event.values, Fraction(0))[:2]
        kind = getattr(theirs, "EpsilonDeltaDpEvent", None)  # not every version has it
        return None if kind is None else kind(named(epsilon), named(delta))
    return None


def _multiplier(variance: Fraction, squared: Fraction) -> float:
    return _below(lambda: (ball(variance) / ball(squared)).sqrt())


def _truncated_out(event: TruncatedPoissonSampled, theirs: Any) -> Any:
    noise = event.event
    assert isinstance(noise, GaussianNoise), "the event has checked it"
    multiplier = _multiplier(noise.variance, noise.sensitivity_squared)
    return theirs.TruncatedSubsampledGaussianDpEvent(event.population, float(event.rate), event.batch, multiplier)


def _selected_out(event: RepeatAndSelect, theirs: Any) -> Any:
    inner = _written(event.event, theirs)
    if event.shape is None or event.stop is None:
        assert event.mean is not None, "the event has checked it"
        return theirs.RepeatAndSelectDpEvent(inner, named(event.mean), math.inf)
    shape, stop = event.shape, event.stop
    mean = named(1 / stop) if shape == 1 else above(lambda: mean_repetitions(shape, stop))
    return theirs.RepeatAndSelectDpEvent(inner, mean, float(shape))


def _tree_out(event: TreeNoise, theirs: Any) -> Any:
    multiplier = _multiplier(event.variance, event.sensitivity_squared)
    if event.participations > 1:
        return theirs.GaussianDpEvent(_multiplier(event.variance, event.distance_squared))
    return theirs.SingleEpochTreeAggregationDpEvent(multiplier, event.steps)


_WRITERS: dict[type[Any], Callable[[Any, Any], Any]] = {
    GaussianNoise: _gaussian_out,
    LaplaceNoise: _laplace_out,
    MixtureOfGaussians: _mixture_out,
    RandomizedAnswer: lambda e, to: to.RandomizedResponseDpEvent(float(1 - e.keep), e.answers),
    Stated: _stated_out,
    Repeated: lambda e, to: to.SelfComposedDpEvent(_written(e.event, to), e.times),
    Composed: lambda e, to: to.ComposedDpEvent([_written(part, to) for part in e.events]),
    PoissonSampled: lambda e, to: to.PoissonSampledDpEvent(float(e.rate), _written(e.event, to)),
    MatrixNoise: lambda e, to: to.GaussianDpEvent(_multiplier(e.variance, e.distance_squared)),
    TreeNoise: _tree_out,
    TruncatedPoissonSampled: _truncated_out,
    RepeatAndSelect: _selected_out,
    WithReplacementSampled: lambda e, to: to.SampledWithReplacementDpEvent(
        e.population, e.sample, _written(e.event, to)
    ),
    FixedSizeSampled: lambda e, to: to.SampledWithoutReplacementDpEvent(e.population, e.sample, _written(e.event, to)),
}
