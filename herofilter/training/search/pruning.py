"""Pruning: a trial ends early when it lags behind what earlier trials had at the same point."""

import statistics
from collections.abc import Mapping, Sequence

STARTUP_TRIALS = 5
MIN_SPLITS = 2
CHECK_EVERY = 50
_STEPS_PER_RUN = 1_000_000


def step_in(run: int, epoch: int) -> int:
    """Return the step of a point inside the trial's training number ``run``."""
    return run * _STEPS_PER_RUN + min(epoch, _STEPS_PER_RUN - 2)


def step_after(run: int) -> int:
    """Return the step of the end of the trial's training number ``run``."""
    return (run + 1) * _STEPS_PER_RUN - 1


def lags(
    value: float, step: int, curves: Sequence[Mapping[int, float]], patient: bool = False
) -> bool:
    """Return whether ``value`` is below what completed trials had at the same step.

    The bar is their median, or the lower quartile for a ``patient`` verdict: inside a training
    a slow start says less than a finished split. A trial whose training had ended before that
    step counts with its end. The first completed trials are no bar at all.

    Args:
        value: mean validation accuracy over finished trainings and the best of the current one.
        step: from :func:`step_in` or :func:`step_after`.
        curves: the values of completed trials by step.

    Example:
        >>> curves = [{step_after(0): 0.1 * number} for number in range(1, 6)]
        >>> lags(0.25, step_after(0), curves), lags(0.25, step_in(0, 50), curves, patient=True)
        (True, False)
    """
    if len(curves) < STARTUP_TRIALS:
        return False
    end = step_after(step // _STEPS_PER_RUN)
    reached = [curve.get(step, curve[end]) for curve in curves]
    bar = statistics.quantiles(reached, n=4, method="inclusive")[0 if patient else 1]
    # a trial that is as good as the bar must not lag by a rounding error
    return value < bar - 1e-9
