"""Raw files of datasets: where they are looked for, and how absent ones are fetched.

The order is the folder in the environment variable ``HEROFILTER_DATA`` (only ever read), then
``raw`` in the cache folder, then a download into the latter. Files in the cache folder must be as
they were published where that is known; those of the user are taken as they are, but for pickles.
"""

import gzip
import hashlib
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from herofilter.data.npz_file import UNREADABLE
from herofilter.errors import CacheWarning, DatasetError, HeroFilterError
from herofilter.files import atomic_path, cache_folder

TIMEOUT_SECONDS = 20
RETRIES = 3
_UNREADABLE = (*UNREADABLE, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True)
class RawFile:
    """One file of a dataset.

    Args:
        path: inside a data folder.
        url: its address, if it has one.
        sha256: of its content, if known; a download must have it.
        mirrors: addresses of copies, which are asked when the first one fails.
        pickled: whether it is a pickle, which is never opened unless it has the right SHA-256.
    """

    path: str
    url: str | None = None
    sha256: str | None = None
    mirrors: tuple[str, ...] = ()
    pickled: bool = False


def raw_folder() -> Path:
    """Return the folder into which raw files are downloaded."""
    return cache_folder() / "raw"


def data_folders() -> list[Path]:
    """Return the folders in which raw files are looked for, in order."""
    given = os.environ.get("HEROFILTER_DATA")
    return [*([Path(given).expanduser()] if given else []), raw_folder()]


def find(file: RawFile) -> Path | None:
    """Return the path of ``file`` in the first folder that holds it, or None."""
    paths = (folder / file.path for folder in data_folders())
    return next((path for path in paths if path.is_file()), None)


def fetch(
    name: str, files: Sequence[RawFile], download: Callable[[], None] | None = None
) -> list[Path]:
    """Return the paths of ``files``, downloading the absent ones.

    ``download`` replaces the download of single files, for datasets that come as one archive.
    """
    absent = [file for file in files if find(file) is None]
    try:
        if absent and download is not None:
            download()
        for file in absent if download is None else ():
            _download(file)
    except OSError as error:
        raise absent_error(name, files, f"the download failed: {error}") from error
    paths = [path for file in files if (path := find(file)) is not None]
    if len(paths) < len(files):
        raise absent_error(name, files, "there is no download for them")
    return paths


def absent_error(name: str, files: Sequence[RawFile], reason: str) -> DatasetError:
    """Return the error that names every absent file and the folders to put them into."""
    absent = [file.path for file in files if find(file) is None]
    given = os.environ.get("HEROFILTER_DATA")
    where = (
        f"into the folder {given}, which HEROFILTER_DATA names,"
        if given
        else "into a folder of yours and set the environment variable HEROFILTER_DATA to it,"
    )
    return DatasetError(
        f"the files of {name!r} must be on disk ({reason}); "
        f"put {', '.join(absent)} {where} or into {raw_folder()}"
    )


def verify(file: RawFile, path: Path) -> None:
    """Raise a :class:`DatasetError` unless ``path`` has the SHA-256 that ``file`` must have."""
    found = _sha256(path)
    if found != file.sha256:
        raise DatasetError(
            f"{file.path} must have the SHA-256 {file.sha256} (got {found}), because it is a "
            "pickle and pickles can run code; replace it with the original"
        )


def renew_damaged(files: Sequence[RawFile]) -> None:
    """Download those files of the cache folder again that aren't as they were published."""
    for file in files:
        path = raw_folder() / file.path
        if file.sha256 is None or find(file) != path or _sha256(path) == file.sha256:
            continue
        try:
            _download(file)
        except OSError as error:
            raise DatasetError(
                f"{path} must have the SHA-256 {file.sha256} (it has another, and it couldn't be "
                f"downloaded again: {error}); delete it, or put a version of your own into the "
                "folder that HEROFILTER_DATA names"
            ) from error
        warnings.warn(
            f"{path} was damaged and has been downloaded again", CacheWarning, stacklevel=2
        )


@contextmanager
def reading(path: Path, layout: str) -> Iterator[None]:
    """Turn whatever goes wrong while parsing ``path`` into one sentence."""
    try:
        yield
    except HeroFilterError:
        raise
    except _UNREADABLE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DatasetError(
            f"{path} must be a readable file in {layout} ({reason}); "
            "replace it with an undamaged copy, or delete it to have it downloaded again"
        ) from error


def retrieve(url: str, target: Path, sha256: str | None = None, retries: int = RETRIES) -> None:
    """Download a file, with a bar on a terminal; whatever goes wrong is an OSError."""
    # what nothing else needs takes a third of a second to load
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    kept = pooch.create(
        target.parent,
        base_url="",
        registry={target.name: None if sha256 is None else f"sha256:{sha256}"},
        urls={target.name: url},
        retry_if_failed=retries,
    )
    show = sys.stderr.isatty()
    try:
        kept.fetch(target.name, downloader=pooch.HTTPDownloader(show, timeout=TIMEOUT_SECONDS))
    except (requests.RequestException, ValueError) as error:
        # a wrong hash is a ValueError
        raise OSError(str(error).partition("\n")[0]) from error


def _download(file: RawFile) -> None:
    """Download a file from its address or a mirror; it gets its place once its hash is right."""
    if file.url is None:
        return
    urls = (file.url, *file.mirrors)
    # whoever is offline shouldn't wait for each mirror as long as for the only address
    retries = RETRIES if len(urls) == 1 else 1
    failed: list[OSError] = []
    with atomic_path(raw_folder() / file.path) as scratch:
        for url in urls:
            try:
                retrieve(url, scratch, file.sha256, retries)
                break
            except OSError as error:
                failed.append(error)
        else:
            raise failed[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
