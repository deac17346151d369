"""The state of a training: all that its remaining epochs depend on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from herofilter.devices import random_state, set_random_state
from herofilter.nn.classifier import NodeClassifier
from herofilter.training.metrics import Score
from herofilter.training.stopping import EarlyStopping


@dataclass(frozen=True)
class Epoch:
    """One line of the history.

    ``filters`` has the response of each learned filter where patches were chosen anew
    (:meth:`~herofilter.nn.NodeClassifier.filter_snapshot`), else None.
    """

    epoch: int
    train_loss: float
    val_loss: float
    val_accuracy: float
    filters: dict[str, list[float]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the line ready for JSON; without ``filters`` where there are none."""
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(eq=False)
class Progress:
    """A training under way.

    Args:
        model: its state holds weights, buffers and the chosen patches.
        optimizers: with the moments of the weights.
        stopping: with the best state so far.
        generator: of the order of nodes.
        noise: of dropout, where the model is; by default ``generator``.
        epoch: the one under way.
        step: batches of that epoch that are done.
        loss: their sum over nodes.
        filters: the responses by which that epoch chose its patches, if it did.
        history: the epochs that are done.
    """

    model: NodeClassifier
    optimizers: Sequence[torch.optim.Optimizer]
    stopping: EarlyStopping
    generator: torch.Generator
    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    filters: dict[str, list[float]] | None = None
    history: list[Epoch] = field(default_factory=list)
    noise: torch.Generator | None = None

    def __post_init__(self) -> None:
        self._before_order = self.generator.get_state()

    def batches(self, nodes: Tensor, batch_size: int) -> tuple[Tensor, ...]:
        """Return the batches of this epoch that are left, in a random order of the epoch."""
        if batch_size >= nodes.numel():
            return (nodes,)[self.step :]
        now = self.generator.get_state()
        if self.step:
            # the order that the first steps of this epoch have followed
            self.generator.set_state(self._before_order)
        else:
            self._before_order = now
        order = torch.randperm(nodes.numel(), generator=self.generator)
        if self.step:
            self.generator.set_state(now)
        return torch.split(nodes[order.to(nodes.device)], batch_size)[self.step :]

    def end_step(self, loss: float) -> None:
        """Note that a batch is done."""
        self.loss += loss
        self.step += 1

    def end_epoch(self) -> None:
        """Note that the epoch under way is done."""
        self.epoch, self.step, self.loss, self.filters = self.epoch + 1, 0, 0.0, None

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors that the rest depends on; they are not copies."""
        states = {
            f"optimizer.{number}.{position}.{key}": value
            for number, optimizer in enumerate(self.optimizers)
            for position, weight in enumerate(_weights(optimizer))
            for key, value in optimizer.state.get(weight, {}).items()
        }
        return {
            **{f"model.{key}": value for key, value in self.model.state_dict().items()},
            **{f"best.{key}": value for key, value in self.stopping.state.items()},
            **states,
            "random.order": self._before_order,
            "random.own": self.generator.get_state(),
            # layers of other libraries use torch's global generator
            "random.torch": torch.get_rng_state(),
            **self._device_states(),
        }

    def scalars(self) -> dict[str, Any]:
        """Return all scalars that the rest depends on, ready for JSON."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "loss": self.loss,
            "filters": self.filters,
            "history": [entry.to_dict() for entry in self.history],
            "best_epoch": self.stopping.best_epoch,
            "best": asdict(self.stopping.best),
        }

    def resume(self, tensors: Mapping[str, Tensor], scalars: Mapping[str, Any]) -> None:
        """Restore what :meth:`tensors` and :meth:`scalars` gave.

        Nothing is changed when they don't fit, which is a KeyError, a TypeError or a ValueError.
        """
        model, best = (_under(name, tensors) for name in ("model.", "best."))
        _check_fits(model, self.model.state_dict())
        if scalars["best_epoch"] >= 0:
            _check_fits(best, self.model.state_dict())
        moments = self._moments(tensors)
        states = [_checked(tensors[f"random.{name}"]) for name in ("order", "own", "torch")]
        device_states = {key: _checked_bytes(tensors[key]) for key in self._device_states()}
        history = [Epoch(**entry) for entry in scalars["history"]]
        score = Score(**scalars["best"])
        epoch, step, loss = (scalars[name] for name in ("epoch", "step", "loss"))

        self.model.load_state_dict(model)
        # copied, as a tensor that comes from a file may be a view of it
        best = {key: value.clone() for key, value in best.items()}
        self.stopping.resume(scalars["best_epoch"], score, best)
        for optimizer, moment in zip(self.optimizers, moments, strict=True):
            optimizer.state.update(moment)
        self._before_order = states[0]
        self.generator.set_state(states[1])
        torch.set_rng_state(states[2])
        if self.noise is not None:
            self.noise.set_state(device_states["random.noise"])
            set_random_state(self.model.device, device_states["random.device"])
        self.history[:] = history
        self.epoch, self.step, self.loss = int(epoch), int(step), float(loss)
        # earlier versions didn't record them
        self.filters = scalars.get("filters")

    def _moments(self, tensors: Mapping[str, Tensor]) -> list[dict[Tensor, dict[str, Tensor]]]:
        found: list[dict[Tensor, dict[str, Tensor]]] = [{} for _ in self.optimizers]
        weights = [_weights(optimizer) for optimizer in self.optimizers]
        for name, value in _under("optimizer.", tensors).items():
            number, position, key = name.split(".")
            if int(number) >= len(weights) or int(position) >= len(weights[int(number)]):
                raise ValueError(f"no weight for optimizer.{name}")
            weight = weights[int(number)][int(position)]
            # a moment per weight, and a step for all of them or per row
            if value.shape not in (weight.shape, weight.shape[:1], torch.Size()):
                raise ValueError(f"another shape for optimizer.{name}")
            # a copy; Adam counts its steps on the CPU unless one kernel reads them all
            on_cpu = value.dim() == 0 and not self.optimizers[int(number)].defaults.get("fused")
            placed = value.clone() if on_cpu else value.clone().to(weight.device)
            found[int(number)].setdefault(weight, {})[key] = placed
        return found

    def _device_states(self) -> dict[str, Tensor]:
        """Return the random states of the model's device, unless that is the CPU."""
        if self.noise is None:
            return {}
        return {
            "random.noise": self.noise.get_state(),
            "random.device": random_state(self.model.device),
        }


def _weights(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [weight for group in optimizer.param_groups for weight in group["params"]]


def _under(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(name): value for key, value in tensors.items() if key.startswith(name)}


def _check_fits(state: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    wrong = sorted(
        key
        for key in expected.keys() | state.keys()
        if key not in expected or key not in state or expected[key].shape != state[key].shape
    )
    if wrong:
        raise ValueError(f"other tensors for {', '.join(wrong)}")


def _checked_bytes(state: Tensor) -> Tensor:
    if state.dtype != torch.uint8 or state.dim() != 1:
        raise ValueError("not the state of a device's generator")
    return state.clone()


def _checked(state: Tensor) -> Tensor:
    """Return the state of a generator, copied; raise a ValueError unless it is one."""
    try:
        torch.Generator().set_state(state)
    except (RuntimeError, TypeError) as error:
        raise ValueError("not the state of a generator") from error
    return state.clone()
