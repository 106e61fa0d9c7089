"""Compiling the kernels, once, when the package is installed or its wheel is built.

The compiler is zig's (the package ``ziglang``, which pip installs): the same on every machine, and no other is needed.
"""

import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
#: No fused multiply-add and no fast-math: both would give other bytes on other processors.
FLAGS = (
    "-std=c11", "-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno",
    "-fno-sanitize=undefined", "-Wall", "-Wextra", "-Werror", "-g0",
)  # fmt: skip
#: Processors of Intel and AMD by what they can do; all others have one library.
MARCH = {"v1": "x86_64", "v3": "x86_64_v3", "v4": "x86_64_v4"}


def sources() -> list[Path]:
    """Return the files that are compiled, headers included."""
    return sorted([*_FOLDER.glob("*.c"), *_FOLDER.glob("*.h")])


def source_digest() -> str:
    """Return the digest of sources and flags, which each library carries."""
    digest = hashlib.sha256(" ".join([*FLAGS, *MARCH.values(), *_target()]).encode())
    for file in sources():
        digest.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


def compile_kernels(folder: Path) -> list[Path]:
    """Compile one library for each kind of processor into `folder`, and return them.

    Raises
    ------
    RuntimeError
        With what the compiler says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
    suffix = "dll" if sys.platform == "win32" else "so"
    made = []
    for level, march in MARCH.items():
        if level != "v1" and not is_x86:
            break
        file = folder / f"kernels-{level}.{suffix}"
        partial = file.with_suffix(f".{os.getpid()}.{suffix}")
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *_target(), f'-DSOURCE_DIGEST="{source_digest()}"']
        command += [f"-mcpu={march}"] if is_x86 else []
        command += [*map(str, sorted(_FOLDER.glob("*.c"))), "-o", str(partial)]
        command += [] if sys.platform == "win32" else ["-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"The kernels of cascadeforest could not be compiled.\n{done.stderr}")
        partial.replace(file)
        made.append(file)
    return made


def _target() -> list[str]:
    """Return what makes a library run on older systems than the one that it is compiled on."""
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        return ["-target", f"{platform.machine()}-linux-gnu.2.28"]
    return []
