"""Image sets in their binary forms: MNIST's idx files and CIFAR-10's records."""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cascadeforest.data.errors import UserError
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers.archives import open_binary, read_tar

# idx: two zero bytes, the type (8 = unsigned byte), the number of dimensions.
IDX_UNSIGNED_BYTE = 0x08

CIFAR_SIDE = 32
CIFAR_FOLDER = "cifar-10-batches-bin"
CIFAR_TRAIN = tuple(f"{CIFAR_FOLDER}/data_batch_{number}.bin" for number in range(1, 6))
CIFAR_TEST = f"{CIFAR_FOLDER}/test_batch.bin"
CIFAR_NAMES = f"{CIFAR_FOLDER}/batches.meta.txt"


def idx(
    files: Mapping[str, Path], *, train_images: str, train_labels: str, test_images: str, test_labels: str
) -> Parsed:
    """Parse the four idx files of MNIST, or of another data set in its format.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    train_images, train_labels, test_images, test_labels : str
        Names of the four files.

    Returns
    -------
    Parsed
        Features as uint8, row by row of the image: ``pixel_<row>_<column>``.

    Raises
    ------
    UserError
        If a file is no idx file of bytes, or images and labels differ in number.
    """
    images, labels = [], []
    for image_file, label_file in ((train_images, train_labels), (test_images, test_labels)):
        images.append(_read_idx(files, image_file, n_dimensions=3))
        labels.append(_read_idx(files, label_file, n_dimensions=1))
        if len(images[-1]) != len(labels[-1]):
            raise UserError(
                f"{image_file} has {len(images[-1])} images, {label_file} {len(labels[-1])} labels. "
                "Fetch the data set again."
            )
    X = np.concatenate(images)
    _, n_rows, n_columns = X.shape
    return Parsed(
        X=X.reshape(len(X), -1),
        y=np.concatenate(labels).astype(np.int64),
        feature_names=tuple(f"pixel_{row}_{column}" for row in range(n_rows) for column in range(n_columns)),
        given_test=np.arange(len(X)) >= len(images[0]),
        raw_features=n_rows * n_columns,
    )


def _read_idx(files: Mapping[str, Path], name: str, n_dimensions: int) -> np.ndarray:
    """The array of one idx file of unsigned bytes."""
    with open_binary(files, name) as stream:
        data = stream.read()
    header = 4 + 4 * n_dimensions
    if data[:4] != bytes([0, 0, IDX_UNSIGNED_BYTE, n_dimensions]) or len(data) < header:
        raise UserError(f"{name}: not an idx file of bytes in {n_dimensions} dimensions. Fetch the data set again.")
    shape = struct.unpack(f">{n_dimensions}I", data[4:header])
    if len(data) - header != np.prod(shape):
        raise UserError(
            f"{name}: {len(data) - header} bytes of data, its header promises {' x '.join(map(str, shape))}. "
            "Fetch the data set again."
        )
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)


def cifar10(files: Mapping[str, Path], *, archive: str = "cifar-10-binary.tar.gz") -> Parsed:
    """Parse the binary version of CIFAR-10.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    archive : str
        Name of the tar file.

    Returns
    -------
    Parsed
        Features as uint8. The records hold the red plane, then green, then blue; here the three colours of a pixel
        stand together, so that a row reshapes to 32 × 32 × 3: ``pixel_<row>_<column>_<colour>``.

    Raises
    ------
    UserError
        If the archive lacks a file, or a file is no whole number of records.
    """
    wanted = (*CIFAR_TRAIN, CIFAR_TEST, CIFAR_NAMES)
    members = dict(read_tar(files, archive, wanted.__contains__))
    lacking = [name for name in wanted if name not in members]
    if lacking:
        raise UserError(f"{archive}: no member {', '.join(lacking)}. It is not the binary version; fetch it again.")

    n_pixels = CIFAR_SIDE * CIFAR_SIDE
    record = 1 + 3 * n_pixels
    n_train = sum(len(members[name]) for name in CIFAR_TRAIN) // record
    data = b"".join(members[name] for name in (*CIFAR_TRAIN, CIFAR_TEST))
    if len(data) % record:
        raise UserError(f"{archive}: {len(data)} bytes are no whole number of records of {record}. Fetch it again.")
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, record)
    planes = records[:, 1:].reshape(-1, 3, n_pixels)
    names = members[CIFAR_NAMES].decode("ascii").split()
    return Parsed(
        X=planes.transpose(0, 2, 1).reshape(len(records), 3 * n_pixels),
        y=np.array(names)[records[:, 0]],
        feature_names=tuple(
            f"pixel_{row}_{column}_{colour}"
            for row in range(CIFAR_SIDE)
            for column in range(CIFAR_SIDE)
            for colour in ("red", "green", "blue")
        ),
        given_test=np.arange(len(records)) >= n_train,
        raw_features=3 * n_pixels,
        class_order=tuple(names),
    )
