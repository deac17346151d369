"""Which model folder is meant: a folder with a model, or one split of a run.

Nothing here loads torch, so that a wrong path is told at once.
"""

from pathlib import Path

from herofilter.errors import RunError
from herofilter.files import read_json
from herofilter.training.artifacts.sealed_folder import read_seal

RUN, RECORDS, EARLIER = "config.yaml", "metrics.json", "weights.safetensors"


def split_folder(run: Path, split: int | str) -> Path:
    """Return the model folder of a split of a run."""
    return run / f"split-{split}"


def locate_model(folder: str | Path, split: int | None = None) -> Path:
    """Return the model folder that ``folder`` is, or that of a split in the run that it holds.

    Args:
        folder: a model folder or a run folder.
        split: which split of a run; not needed when only one is finished.
    """
    folder = Path(folder)
    # a model folder has a configuration, too, but no run folder has a seal
    if not (folder / RUN).is_file() or (folder / "model.json").exists():
        read_seal(folder)
        if split is not None:
            raise RunError(
                f"a split must be that of a run (got {split} for {folder}, which holds one model); "
                "leave the split out"
            )
        return folder
    finished = finished_splits(folder)
    there = [name for name in finished if (split_folder(folder, name) / "model.json").exists()]
    if finished and not there and (folder / EARLIER).exists():
        raise RunError(
            f"{folder} must be a run whose splits are model folders (got one of an earlier "
            "version, which can be continued but not used); train it anew into another folder"
        )
    if not there:
        raise RunError(
            f"{folder} must have a finished split (got none); give the same herofilter train "
            "again to continue it"
        )
    listed = ", ".join(there)
    if split is None and len(there) > 1:
        raise RunError(
            f"{folder} must be used with one of its splits (got none named; it has {listed}); "
            f"name one, such as --split {there[0]}"
        )
    if split is not None and str(split) not in there:
        raise RunError(
            f"the split must be one that {folder} has finished (got {split}; it has {listed})"
        )
    return split_folder(folder, there[0] if split is None else split)


def finished_splits(run: Path) -> list[str]:
    """Return the finished splits of a run, in the order in which they were finished."""
    if not (run / RECORDS).exists():
        return []
    try:
        return list(read_json(run / RECORDS)["splits"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{run / RECORDS} must be readable ({str(error).partition(chr(10))[0]}); "
            "copy the folder again, or train anew"
        ) from error
