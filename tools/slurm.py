"""Run a command beside a Slurm of its own on this machine, and stop that Slurm afterwards.

    python tools/slurm.py snakemake --profile profiles/slurm --config suite=smoke

munged, slurmctld and slurmd run as the user who calls, with a key, a configuration and state of their own in a
temporary folder, on ports that are free. The command finds them by ``SLURM_CONF``. A Slurm that is installed on the
machine is not touched. On Debian: ``apt-get install --no-install-recommends slurm-wlm munge``. There is no accounting,
as on many small clusters. The exit status is that of the command, or 3 if Slurm is not installed or does not start.
"""

import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

NOT_STARTED = 3
SECONDS = 60
#: Where Debian keeps the daemons; only root has it on the PATH.
SEARCHED = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
CONFIGURATION = """
ClusterName=one-machine
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
CommunicationParameters=NoInAddrAny
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MinJobAge=3600
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={mib} State=UNKNOWN
PartitionName=main Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


class NotStarted(Exception):
    """Slurm is not installed, or did not start; the message says why."""


def main(command: Sequence[str]) -> int:
    """Run the command, and return its exit status."""
    if not command:
        print(__doc__)
        return NOT_STARTED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the daemons too
    try:
        with tempfile.TemporaryDirectory(prefix="slurm-") as folder, slurm(Path(folder)) as environment:
            return subprocess.run(command, env=environment, check=False).returncode
    except NotStarted as reason:
        print(f"Slurm did not start: {reason}", file=sys.stderr)
        return NOT_STARTED


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Start the daemons and yield the environment of their users; at the end cancel all jobs and stop the daemons."""
    found = {name: shutil.which(name, path=SEARCHED) for name in ("munged", "slurmctld", "slurmd", "sinfo", "srun")}
    if missing := [name for name, path in found.items() if path is None]:
        raise NotStarted(f"{', '.join(missing)} not found. On Debian: apt-get install slurm-wlm munge")
    folder.chmod(0o755)  # munged refuses a socket that others cannot reach
    for name in ("state", "spool", "bin"):
        (folder / name).mkdir()
    key, configuration = folder / "munge.key-file", folder / "slurm.conf"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    controller, node = _free_ports(2)
    mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder, user=getpass.getuser(), controller=controller, node=node, cpus=os.cpu_count(), mib=mib
        )
    )
    # Snakemake's plugin starts srun in a job without the variables of Slurm, as where the configuration is in /etc.
    wrapper = folder / "bin" / "srun"
    wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={configuration} exec {found["srun"]} "$@"\n')
    wrapper.chmod(0o755)
    path = os.pathsep.join([str(wrapper.parent), os.environ.get("PATH", os.defpath)])
    environment = os.environ | {"SLURM_CONF": str(configuration), "PATH": path}
    files = {name: folder / f"munge.{name}" for name in ("socket", "key-file", "pid-file", "seed-file", "log-file")}
    commands = {
        "munged": [found["munged"], "--foreground", *(f"--{name}={path}" for name, path in files.items())],
        "slurmctld": [found["slurmctld"], "-D", "-f", str(configuration)],
        "slurmd": [found["slurmd"], "-D", "-f", str(configuration), "-N", "localhost"],
    }
    with contextlib.ExitStack() as daemons:
        for name, command in commands.items():
            daemons.enter_context(_daemon([str(word) for word in command], environment, folder / f"{name}.out"))
        _wait_until_idle(folder, environment)
        try:
            yield environment
        finally:
            subprocess.run(["scancel", f"--user={getpass.getuser()}"], env=environment, check=False)
            _wait(lambda: not _answer(["squeue", "--noheader"], environment))


@contextlib.contextmanager
def _daemon(command: Sequence[str], environment: dict[str, str], output: Path) -> Iterator[None]:
    """Run a daemon in the foreground of a session of its own, and end it."""
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command, env=environment, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_ports(number: int) -> list[int]:
    """Ports on which nothing listens."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _wait_until_idle(folder: Path, environment: dict[str, str]) -> None:
    if not _wait(lambda: _answer(["sinfo", "--noheader", "--format=%T"], environment) == "idle"):
        said = "\n".join(f"{path.name}: {path.read_text()[-2_000:]}" for path in sorted(folder.glob("*.out")))
        raise NotStarted(f"the node was not idle after {SECONDS} s.\n{said}")


def _answer(command: Sequence[str], environment: dict[str, str]) -> str:
    """What a client of Slurm says; empty while there is no controller to answer."""
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()


def _wait(condition: Callable[[], bool]) -> bool:
    """Whether a condition holds within `SECONDS`."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
