"""The pictures of docs/mlflow.md: the accepted results of `standard` in MLflow, as headless Chromium shows them.

    python benchmarks/mlflow_screenshots.py [--results FOLDER]

It needs `chromium` or `google-chrome` on the PATH, and takes two minutes. Without `--results` the store is made in a
temporary folder.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from cascadeforest.experiments.run_records import CELLS, TABLES
from cascadeforest.experiments.serving import server, wait_until_healthy
from cascadeforest.experiments.tracking import sync
from cascadeforest.experiments.tracking_store import find_store, open_client, quiet_mlflow
from cascadeforest.experiments.tracking_view import view_address
from cascadeforest.reports.store.tracked import accepted_suite

ROOT = Path(__file__).parents[1]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--hide-scrollbars", "--virtual-time-budget=40000"]
SIZE = (2040, 800)
#: Part of the width that is kept. The rest is the panel of MLflow's assistant, which is open until somebody closes it.
KEPT = 0.743
#: Colours of a picture: enough for a page of text, and a third of the bytes.
COLOURS = 48


def main(arguments: list[str] | None = None) -> int:
    """Take the pictures; the exit status is 2 where there is no browser."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="standard", help="accepted suite (default: %(default)s)")
    parser.add_argument("--models", nargs=2, default=["hidf", "gcforest"], help="presets that are compared")
    parser.add_argument("--dataset", default="satimage", help="data set on which they are (default: %(default)s)")
    parser.add_argument("--results", type=Path, help="folder of the store (default: a temporary one)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "figures", help="folder of the pictures")
    options = parser.parse_args(arguments)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("error: neither chromium nor google-chrome is on the PATH. On Debian: apt-get install chromium")
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        results = options.results or Path(temporary)
        print(sync(results, accepted=accepted_suite(ROOT, options.suite)))
        with serving(results, options.suite) as base:
            for name, address in pages(results, base, options).items():
                path = options.output / f"mlflow_{name}.png"
                path.write_bytes(picture(chromium, address))
                print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    return 0


@contextmanager
def serving(results: Path, suite: str) -> Iterator[str]:
    """Serve a store as `make ui` does; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = "import sys; from pathlib import Path; from cascadeforest.experiments.tracking_view import ui; "
    code += "ui(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), browse=id)"
    with server([sys.executable, "-c", code, str(results), suite, str(port)], os.environ) as process:
        base = f"http://127.0.0.1:{port}"
        wait_until_healthy(process, base)
        yield base


def pages(results: Path, base: str, options: argparse.Namespace) -> dict[str, str]:
    """Name of each picture to the address of its page."""
    with quiet_mlflow(), open_client(find_store(results).uri) as client:
        cells, tables = (client.get_experiment_by_name(name).experiment_id for name in (CELLS, TABLES))
        compared = []
        for model in options.models:
            search = f"tags.level = 'summary' AND tags.model = '{model}' AND tags.variant = '{options.dataset}'"
            (run,) = client.search_runs([cells], f"{search} AND tags.suite = '{options.suite}'")
            compared.append(run.info.run_id)
    both = quote(f"attributes.run_id IN ('{compared[0]}', '{compared[1]}')")
    training = "workflowType=machine_learning"
    return {
        "list": view_address(base, cells, options.suite),
        "tables": view_address(base, tables, options.suite),
        "comparison": f"{base}/#/experiments/{cells}/runs?searchFilter={both}&compareRunsMode=CHART&{training}",
        "run": f"{base}/#/experiments/{cells}/runs/{compared[0]}?{training}",
    }


def picture(chromium: str, address: str) -> bytes:
    """A page as PNG of few colours, from a browser that knows nothing."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder, "page.png")
        flags = [*FLAGS, f"--user-data-dir={folder}/profile", f"--window-size={SIZE[0]},{SIZE[1]}"]
        subprocess.run(
            [chromium, *flags, f"--screenshot={shot}", address], check=True, timeout=240, capture_output=True
        )
        with Image.open(shot) as page:
            shown = page.convert("RGB").crop((0, 0, round(KEPT * page.width), page.height))
            few = shown.quantize(COLOURS, dither=Image.Dither.NONE)
    stream = io.BytesIO()
    few.save(stream, "PNG", optimize=True)
    return stream.getvalue()


if __name__ == "__main__":
    sys.exit(main())
