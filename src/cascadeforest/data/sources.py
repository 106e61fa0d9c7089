"""Copy or download the files of a data set to ``data/raw``, from the mirror or from the official address.

A file gets its final name only after its checksum was verified. A failed fetch leaves no files. No source is trusted:
size and time of a download have bounds, a page of HTML is never data, and passwords in addresses are not shown.
"""

import json
import logging
import os
import queue
import re
import secrets
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

from cascadeforest.data.addresses import without_passwords
from cascadeforest.data.errors import ChecksumError, ConfigError, CredentialsError, DownloadError, UserError
from cascadeforest.data.files import atomic_write, hash_of, read_json, sha256_of

MIRROR_VARIABLE = "CASCADEFOREST_MIRROR"
RECORD = "fetched.json"
NO_CHECKSUM = "no checksum is published"  # `checked` of such a file in the record
RETRIES = 2
TIMEOUT = (10.0, 60.0)  # seconds to connect, and between two pieces
MAX_BYTES = 100_000_000  # of a file whose entry has no `max_bytes`
# All attempts at one place get this many seconds, and what a slow line needs for `max_bytes`: 2 minutes for a small
# file, 35 minutes for 100 MB.
PATIENCE, SLOW_LINE = 120.0, 50_000
PIECE = 1 << 18
PARTIAL = ".partial"  # working folder of one fetch; whatever a killed one left in it is dropped by the next

logger = logging.getLogger(__name__)


class _Refused(OSError):
    """A source that answers, but not with the data: too much, too slowly, or a page of HTML."""


class _SourceChanged(ChecksumError):
    """A source without a published checksum gave other bytes than at an earlier fetch."""


@dataclass(frozen=True)
class Mirror:
    """A folder or a base address with copies of the data, under the paths of the `mirror:` entries.

    Parameters
    ----------
    location : str
        Folder or ``http(s)://`` address; empty where there is none.
    """

    location: str = field(default="", repr=False)  # it may have a password

    def __post_init__(self) -> None:
        if self.is_address:
            from urllib.parse import urlsplit

            try:
                parts = urlsplit(self.location)
                valid = parts.hostname and (parts.port or True) and "@" not in parts.path + parts.query + parts.fragment
            except ValueError:  # the port is no number: it may be half of a password, so that nothing of it is shown
                valid = False
            if not valid:
                raise ConfigError(
                    f"{MIRROR_VARIABLE} is no valid address (it is not shown, as it may have a password). Write "
                    "https://host/folder; in a user name or password, write / as %2F, # as %23, ? as %3F, @ as %40."
                ) from None

    def __str__(self) -> str:
        return without_passwords(self.location)

    @classmethod
    def from_environment(cls) -> "Mirror":
        """Return the mirror that ``CASCADEFOREST_MIRROR`` names, if any."""
        return cls(os.environ.get(MIRROR_VARIABLE, "").strip())

    def __bool__(self) -> bool:
        return bool(self.location)

    @property
    def is_address(self) -> bool:
        """Whether the mirror is reached over HTTP."""
        return self.location.startswith(("http://", "https://"))

    def place(self, path: str) -> str:
        """Return the path or the address of a file on the mirror, with the password if there is one."""
        if self.is_address:
            from urllib.parse import quote

            return f"{self.location.rstrip('/')}/{quote(path)}"
        return str(Path(self.location).expanduser() / path)

    def may_have(self, file: dict) -> bool:
        """Whether the mirror may have the file; an address is not asked, every `mirror:` entry counts."""
        if not self or not file.get("mirror"):
            return False
        return self.is_address or Path(self.place(file["mirror"])).is_file()


def fetch(dataset: dict, raw: str | Path, *, mirror: Mirror | None = None, retries: int = RETRIES) -> dict:
    """Copy or download one complete form of an open data set to ``<raw>/<name>/``, and record where it came from.

    Forms are tried in this order: a form whose files are in the folder already, with the right checksums; the forms
    that the mirror has in full, in the order of the data set file; the first form with official addresses for all its
    files, each of which is taken from the mirror if it is there. Wrong bytes count as a place without the file: the
    next place is tried, and a warning names both.

    Parameters
    ----------
    dataset : dict
        A checked data set file with `access` open.
    raw : str or Path
        The folder ``data/raw``.
    mirror : Mirror, optional
        Default: what ``CASCADEFOREST_MIRROR`` names.
    retries : int
        Further attempts after a failed download, one and two seconds apart.

    Returns
    -------
    dict
        The record, as written to ``<raw>/<name>/fetched.json``: form and, per file, sha256, bytes, from, when.

    Raises
    ------
    DownloadError
        If no source has a file: no answer, a page of HTML, more bytes than `max_bytes`, or too slow. The message lists
        the sources that were tried, and the remedy.
    ChecksumError
        If a source has a file, but its checksum differs from the data set file or, where that has none, from the record
        of an earlier fetch. The file is not kept.
    """
    mirror = Mirror.from_environment() if mirror is None else mirror
    folder = Path(raw) / dataset["name"]
    forms = dataset["forms"]
    record = _record_of(folder)
    # The form of an earlier fetch first: a data set must not change its form because a mirror appears.
    for name in sorted(forms, key=lambda name: name != record.get("form")):
        entries = _present(forms[name], folder, record)
        if entries is not None:
            return _write_record(dataset, name, entries, folder)
    candidates = obtainable_forms(dataset, mirror)
    tried: list[UserError] = []
    with _working_folder(folder) as partial:
        for name in candidates:
            known = {entry["file"]: entry for entry in record["files"]} if record.get("form") == name else {}
            files = forms[name]["files"]
            try:
                entries = [
                    _obtain(file, partial / str(position), mirror, retries, known.get(file["file"]), folder)
                    for position, file in enumerate(files)
                ]
            except _SourceChanged:
                raise  # another form must not hide it
            except (DownloadError, ChecksumError) as error:
                tried.append(error)
                continue
            for failure in tried:
                if isinstance(failure, ChecksumError):
                    logger.warning("%s: %s The form '%s' is taken instead.", dataset["name"], failure, name)
            # All files are right: only now the old record goes, which must not describe files that are replaced.
            (folder / RECORD).unlink(missing_ok=True)
            for position, entry in enumerate(entries):
                (partial / str(position)).replace(folder / entry["file"])
                logger.info("%s: %s from %s", dataset["name"], entry["file"], entry["from"])
            return _write_record(dataset, name, entries, folder)
    reasons = " ".join(map(str, tried)) or _no_place(dataset, mirror)
    wrong_bytes = any(isinstance(error, ChecksumError) for error in tried)
    raise (ChecksumError if wrong_bytes else DownloadError)(
        f"config/datasets/{dataset['name']}.yaml: {reasons} {_remedy(dataset, folder)}"
    )


def record_user_files(dataset: dict, raw: str | Path, root: str | Path) -> dict:
    """Record the files of a credentialed data set, which the user put in place; nothing is fetched.

    Parameters
    ----------
    dataset : dict
        A checked data set file with `access` credentialed.
    raw : str or Path
        The folder ``data/raw``, where the record goes.
    root : str or Path
        Repository root, from which a relative `file:` starts.

    Returns
    -------
    dict
        The record, as `fetch` writes it; without forms the form is ``csv``.

    Raises
    ------
    CredentialsError
        If a file is missing.
    DownloadError
        If a file is a page of HTML.
    ChecksumError
        If the checksum of a file differs from the data set file.
    """
    form, paths = user_files(dataset, root)
    files = dataset["forms"][form]["files"] if form in dataset.get("forms", {}) else [{"file": name} for name in paths]
    for file in files:
        _verify(paths[file["file"]], file, str(paths[file["file"]]))
    entries = [_entry(file, paths[file["file"]], "put in place by the user") for file in files]
    return _write_record(dataset, form, entries, Path(raw) / dataset["name"])


def user_files(dataset: dict, root: str | Path) -> tuple[str, dict[str, Path]]:
    """Return form and paths of a credentialed data set: its CSV, or the files of its first form, side by side.

    Raises
    ------
    CredentialsError
        If a file is missing.
    """
    path = require_user_file(dataset, root)
    for name, form in dataset.get("forms", {}).items():
        paths = {file["file"]: path.parent / file["file"] for file in form["files"]}
        for missing in (paths[name] for name in paths if not paths[name].is_file()):
            raise CredentialsError(
                f"config/datasets/{dataset['name']}.yaml: {missing} is not there. Put it beside {path}."
            )
        return name, paths
    return "csv", {path.name: path}


def require_user_file(dataset: dict, root: str | Path) -> Path:
    """Return the file of a credentialed data set that the user was asked to put in place.

    Raises
    ------
    CredentialsError
        If the file is missing; the message names the path and how to get access.
    """
    path = Path(root) / dataset["file"]
    if not path.is_file():
        how = dataset.get("obtain") or " ".join(dataset.get("references", [])) or dataset["citation"]
        raise CredentialsError(
            f"config/datasets/{dataset['name']}.yaml: '{dataset['name']}' needs credentialed access, and "
            f"{dataset['file']} is not there. Get access ({how.rstrip('.')}), put the file at {dataset['file']}, "
            "and run again; without it the rows of this data set say so."
        )
    return path


def fetched_files(dataset: dict, raw: str | Path) -> tuple[dict, dict[str, Path]]:
    """Return the record of a fetch and the path of each file, after checking that the bytes are still the same.

    Parameters
    ----------
    dataset : dict
        A checked data set file.
    raw : str or Path
        The folder ``data/raw``.

    Returns
    -------
    record : dict
        Content of ``fetched.json``.
    files : dict of str to Path
        Path by the file name of the data set file.

    Raises
    ------
    DownloadError
        If the data set was not fetched, its form is no longer in the data set file, or a file is a page of HTML.
    ChecksumError
        If a file changed since.
    """
    name = dataset["name"]
    folder = Path(raw) / name
    again = f"Run: python -m cascadeforest.data fetch --dataset {name}"
    if not (folder / RECORD).is_file():
        raise DownloadError(f"{folder / RECORD}: not there, so '{name}' was not fetched yet. {again}")
    record = _record_of(folder)
    form = dataset["forms"].get(record.get("form"))
    if not form or [file["file"] for file in form["files"]] != [entry["file"] for entry in record.get("files", [])]:
        raise DownloadError(
            f"{folder / RECORD}: the form '{record.get('form')}' is not the one in config/datasets/{name}.yaml any "
            f"more. {again}"
        )
    for entry, file in zip(record["files"], form["files"], strict=True):
        path = folder / entry["file"]
        if not path.is_file():
            raise DownloadError(f"{path}: not there any more. {again}")
        found = sha256_of(path)
        if found != entry["sha256"]:
            raise ChecksumError(
                f"{path}: changed since it was fetched (sha256 {found}, recorded {entry['sha256']}). {again}"
            )
        _verify(path, file, str(path))
    return record, {entry["file"]: folder / entry["file"] for entry in record["files"]}


def obtainable_forms(dataset: dict, mirror: Mirror) -> list[str]:
    """Return the forms to try, best first: all on the mirror, else the first with official addresses for all files."""
    forms = dataset["forms"]
    on_mirror = [name for name, form in forms.items() if all(mirror.may_have(file) for file in form["files"])]
    official = [name for name, form in forms.items() if all(file.get("url") for file in form["files"])][:1]
    return [*on_mirror, *(name for name in official if name not in on_mirror)]


def local_files(form: dict, folder: Path) -> dict[str, Path] | None:
    """Return the paths of a form's files if all of them lie in `folder` (unchecked), else None."""
    files = {file["file"]: folder / file["file"] for file in form["files"]}
    return files if all(path.is_file() for path in files.values()) else None


def _present(form: dict, folder: Path, record: dict) -> list[dict] | None:
    """Entries of a form whose files all lie in `folder` with the right bytes, whoever put them there."""
    files = local_files(form, folder)
    if files is None:
        return None
    known = {entry["file"]: entry for entry in record.get("files", [])}
    entries = []
    for file in form["files"]:
        path = files[file["file"]]
        entry = known.get(file["file"])
        if entry is not None and entry["sha256"] != sha256_of(path):
            return None
        try:
            _verify(path, file, str(path))
        except (ChecksumError, DownloadError) as error:
            logger.warning("%s It is fetched again.", error)
            return None
        # An older version recorded addresses with their passwords.
        known_entry = entry and entry | {"from": without_passwords(str(entry.get("from", "")))}
        entries.append(known_entry or _entry(file, path, "found in place"))
    return entries


def _obtain(file: dict, temporary: Path, mirror: Mirror, retries: int, known: dict | None, folder: Path) -> dict:
    """Fetch one file to `temporary` from the first of its places with the right bytes; `known` is its record."""
    lacking, wrong, changed = [], [], False
    for place, is_address in _places(file, mirror):
        shown = without_passwords(place)
        # A name for each attempt: pooch takes a file that is there, and a download that was given up may still write.
        attempt = temporary.with_suffix(f".{secrets.token_hex(8)}")
        try:
            if is_address:
                _download(place, attempt, retries, file.get("max_bytes", MAX_BYTES))
            else:
                _copy(place, attempt, file.get("max_bytes", MAX_BYTES))
            _refuse_page(attempt)
        except OSError as error:  # requests' errors are OSErrors too
            lacking.append(f"{shown} ({_reason(error)})")
            continue
        entry = _entry(file, attempt, shown)
        fault = _wrong_checksum(attempt, file)
        if not fault and known is not None and entry["checked"] == NO_CHECKSUM and entry["sha256"] != known["sha256"]:
            changed = True
            fault = (
                f"sha256 is {entry['sha256']}, but {folder / RECORD} has {known['sha256']} from an earlier fetch, and "
                "no checksum is published"
            )
        if fault:
            wrong.append(f"{fault} ({entry['bytes']} bytes from {shown})")
            continue
        if wrong:
            logger.warning("%s: %s. It is taken from %s instead.", file["file"], "; ".join(wrong), shown)
        attempt.replace(temporary)
        return entry
    _raise_unobtained(file, lacking, wrong, folder if changed else None)


def _raise_unobtained(file: dict, lacking: list[str], wrong: list[str], changed: Path | None) -> NoReturn:
    """Raise the error for a file that no place has, with every place and its fault."""
    name, places = file["file"], ", nor from ".join(lacking)
    if not wrong:
        raise DownloadError(f"{name} could not be had from {places}.")
    faults = f"{name}: {'; '.join(wrong)}. The file was not taken."
    if lacking:
        faults += f" It could not be had from {places} either."
    if changed:
        raise _SourceChanged(
            f"{faults} The source has changed: find out why; to take the new file, delete {changed} and fetch again."
        )
    raise ChecksumError(
        f"{faults} Try again; if it stays so, the source has changed: put the new checksum into config/datasets only "
        "when you know why."
    )


def _places(file: dict, mirror: Mirror) -> Iterator[tuple[str, bool]]:
    """Places of one file with 'reached over HTTP', best first."""
    if mirror.may_have(file):
        yield mirror.place(file["mirror"]), mirror.is_address
    if file.get("url"):
        yield file["url"], True


def _copy(place: str, target: Path, max_bytes: int) -> None:
    """Copy a file of a mirror folder."""
    with Path(place).open("rb") as stream:
        _write(iter(lambda: stream.read(PIECE), b""), target, max_bytes)


def _download(url: str, target: Path, retries: int, max_bytes: int) -> None:
    """Download with pooch. Checksums are checked by the caller, who treats all places alike.

    The bound on the time needs a thread: the time-outs of a socket start anew with every piece, so that a server that
    sends a byte a minute would never reach one.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    given_up = threading.Event()

    def download(address: str, output: str, _: object) -> None:
        # identity: a server that compresses on the way would have requests unpack .gz files, and no checksum would hold
        if given_up.is_set():  # between two attempts
            raise _Refused("given up")
        headers = {"Accept-Encoding": "identity"}
        with requests.get(address, headers=headers, timeout=TIMEOUT, stream=True) as response:
            response.raise_for_status()
            if int(response.headers.get("Content-Length", 0)) > max_bytes:
                raise _too_large(max_bytes, f"{int(response.headers['Content-Length']):,} bytes are announced")
            _write(response.iter_content(PIECE), Path(output), max_bytes, given_up)

    keeper = pooch.create(
        path=target.parent,
        base_url="",
        registry={target.name: None},
        urls={target.name: url},
        retry_if_failed=retries,
    )
    outcome: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            keeper.fetch(target.name, downloader=download)
        except Exception as error:
            outcome.put(error)
        else:
            outcome.put(None)

    seconds = PATIENCE + max_bytes / SLOW_LINE
    threading.Thread(target=work, daemon=True, name="download").start()
    try:
        error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise _Refused(f"too slow: not done after {seconds:,.0f} seconds") from None
    finally:
        given_up.set()
    if isinstance(error, ValueError) and not isinstance(error, OSError):  # pooch: no protocol of this kind
        raise OSError(str(error)) from error
    if error is not None:
        raise error


def _write(pieces: Iterable[bytes], target: Path, max_bytes: int, given_up: threading.Event | None = None) -> None:
    """Write `pieces` to `target`, but no more than `max_bytes`, and nothing once the download was given up."""
    size = 0
    with target.open("wb") as stream:
        for piece in pieces:
            size += len(piece)
            if size > max_bytes:
                raise _too_large(max_bytes, "the source sends more")
            if given_up is not None and given_up.is_set():
                raise _Refused("given up")
            stream.write(piece)


def _too_large(max_bytes: int, found: str) -> _Refused:
    return _Refused(f"too large: {found}, max_bytes in config/datasets is {max_bytes:,}")


def _refuse_page(path: Path) -> None:
    """Raise `_Refused` for a page of HTML: the answer of a portal, a login or an error page in the place of data.

    No parser reads markup, so that anything that begins like a tag is refused.
    """
    with path.open("rb") as stream:
        start = stream.read(1024).removeprefix(b"\xef\xbb\xbf").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")
    # In UTF-16 every other byte is a zero.
    if re.match(rb"\s*<[!?/a-z]", start.replace(b"\0", b""), re.IGNORECASE):
        raise _Refused("a page of HTML, not data")


def _verify(path: Path, file: dict, place: str) -> None:
    """Compare a file with every checksum that the data set file gives, and refuse a page of HTML."""
    try:
        _refuse_page(path)
    except _Refused as error:
        raise DownloadError(f"{place}: {error}. Delete it, and fetch the data set again.") from error
    if fault := _wrong_checksum(path, file):
        _raise_unobtained(file, [], [f"{fault} ({path.stat().st_size} bytes from {place})"], None)


def _wrong_checksum(path: Path, file: dict) -> str:
    """Say which checksum of the data set file a file does not have; empty if it has all."""
    for algorithm in ("sha256", "md5"):
        expected = file.get(algorithm)
        if expected is not None and (found := hash_of(path, algorithm)) != expected:
            return f"{algorithm} is {found}, expected {expected}"
    return ""


def _entry(file: dict, path: Path, place: str) -> dict:
    """Record of one file."""
    checked = [algorithm for algorithm in ("sha256", "md5") if file.get(algorithm)]
    return {
        "file": file["file"],
        "sha256": sha256_of(path),
        "bytes": path.stat().st_size,
        "from": place,
        "checked": checked[0] if checked else NO_CHECKSUM,
        "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _record_of(folder: Path) -> dict:
    """Record of an earlier fetch; an unreadable one counts as none, since it is rewritten anyway."""
    try:
        record = read_json(folder / RECORD)
    except ConfigError:
        return {}
    return record if isinstance(record, dict) else {}


def _write_record(dataset: dict, form: str, entries: list[dict], folder: Path) -> dict:
    record = {"format": 1, "dataset": dataset["name"], "form": form, "files": entries}
    atomic_write(folder / RECORD, json.dumps(record, indent=2) + "\n")
    return record


@contextmanager
def _working_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside the files, on the same file system; it is always removed at the end."""
    existed = folder.exists()
    partial = folder / PARTIAL
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if not existed and not any(folder.iterdir()):
            folder.rmdir()


def _no_place(dataset: dict, mirror: Mirror) -> str:
    """Error message if a data set has no source to try."""
    entries = sorted(
        {file["mirror"] for form in dataset["forms"].values() for file in form["files"] if file.get("mirror")}
    )
    if not mirror:
        return f"no form of '{dataset['name']}' has official addresses for all files, and no mirror is set."
    return (
        f"no form of '{dataset['name']}' has official addresses for all files, and the mirror {mirror} "
        f"lacks some of {', '.join(entries)}."
    )


def _remedy(dataset: dict, folder: Path) -> str:
    names = ", ".join(dict.fromkeys(file["file"] for form in dataset["forms"].values() for file in form["files"]))
    return (
        f"Check the network (and HTTPS_PROXY, if you need one), or set {MIRROR_VARIABLE} to a folder or base address "
        f"with the files, or put them into {folder} yourself ({names}), or choose a suite without this data set "
        "(quick needs no network)."
    )


def _reason(error: OSError) -> str:
    """Short cause of a failed download or copy: the HTTP status, or the innermost message; without passwords."""
    if isinstance(error, _Refused):
        return str(error)
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP {response.status_code} {response.reason}"
    if error.strerror:
        return error.strerror
    # requests wraps the cause in its own words and the address; the cause alone says what to do
    text = without_passwords(str(error))
    cause = re.search(r"Caused by \w+\((['\"])(.*)\1\)", text)
    return f"{type(error).__name__}: {cause[2] if cause else text[:160]}"
