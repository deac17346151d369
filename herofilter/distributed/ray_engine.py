"""Jobs as tasks of a Ray cluster, which shares them out and runs lost ones again."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from herofilter.distributed.engine import check_engine
from herofilter.errors import HeroFilterError, RunError

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
# nothing large goes through Ray's object store, so the least that Ray takes is enough
STORE_BYTES = 100 * 2**20


@contextmanager
def connected(address: str | None = None) -> Iterator[Any]:
    """Yield the module ``ray``, connected to a cluster; the connection ends with the block.

    Args:
        address: of a cluster's head, such as ``10.0.0.1:6379``. By default what ``RAY_ADDRESS``
            says, then a cluster that runs on this machine, then a new one of this machine alone.
    """
    check_engine("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    here = not ray.is_initialized()
    if here:
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if address or os.environ.get("RAY_ADDRESS"):
                ray.init(address=address, **quiet)
            else:
                ray.init(include_dashboard=False, object_store_memory=STORE_BYTES, **quiet)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            raise RunError(
                f"a Ray cluster must answer at {address or 'this machine'} "
                f"({str(error).partition(chr(10))[0]}); start one with: ray start --head"
            ) from error
    try:
        yield ray
    finally:
        if here:
            ray.shutdown()


def ray_jobs(
    function: Callable[[Job], Outcome], jobs: Sequence[Job], address: str | None = None
) -> Generator[Outcome, None, None]:
    """Yield what each job returns as soon as it is finished; each takes one core of the cluster.

    Jobs of a machine that is lost run again elsewhere. Only jobs and what they return go through
    Ray; both should be small.

    Args:
        function: computes the outcome of a job; it must be at the top level of a module.
        jobs: the arguments of ``function``.
        address: see :func:`connected`.
    """
    with connected(address) as ray:
        task = ray.remote(num_cpus=1)(function)
        waiting = [task.remote(job) for job in jobs]
        try:
            while waiting:
                done, waiting = ray.wait(waiting, fetch_local=False)
                yield _outcome(ray, done[0])
        finally:
            for reference in waiting:
                ray.cancel(reference)


def _outcome(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, HeroFilterError):
            raise error.cause from None
        kind, reason = type(error.cause).__name__, str(error.cause).partition("\n")[0]
        raise RunError(
            f"every task of the cluster must succeed (got {kind}: {reason}); "
            "what is finished is kept, so run the command again"
        ) from error
    except ray.exceptions.RayError as error:
        raise RunError(
            "every task of the cluster must be finished, but one was lost again and again "
            f"({type(error).__name__}); what is finished is kept, so run the command again"
        ) from error
