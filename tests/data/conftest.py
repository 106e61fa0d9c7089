"""What the tests of the data stage share: a small repository, and a web server of this machine."""

import os
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from hypothesis import settings

# A deadline asserts a wall time; examples that change from run to run make a failure hard to see again.
settings.register_profile("cascadeforest", deadline=None, derandomize=True)
settings.load_profile("cascadeforest")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty repository with the real schema: config/datasets, workflow/schemas."""
    schemas = tmp_path / "workflow" / "schemas"
    schemas.mkdir(parents=True)
    shutil.copy(ROOT / "workflow" / "schemas" / "dataset.schema.yaml", schemas)
    (tmp_path / "config" / "datasets").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def write_dataset(repository: Path):
    """Write one data set file into the small repository and return its path."""

    def write(dataset: dict) -> Path:
        path = repository / "config" / "datasets" / f"{dataset['name']}.yaml"
        path.write_text(yaml.safe_dump(dataset), encoding="utf-8")
        return path

    return write


@pytest.fixture(autouse=True)
def _no_outside(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """No mirror and no proxy of this machine, except in tests marked `mirror`."""
    if request.node.get_closest_marker("mirror") is None:
        monkeypatch.delenv("CASCADEFOREST_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Server:
    """Answers of a web server by path: `bodies` in full, `broken` only their first half; else 404.

    `stalled` stop after the first half, `silent` before the first byte, `dripping` send a byte now and then, and
    `unannounced` do not say how long they are.
    """

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.broken: dict[str, int] = {}  # path: how many more times the answer breaks off
        self.stalled: set[str] = set()
        self.silent: set[str] = set()
        self.dripping: set[str] = set()
        self.unannounced: set[str] = set()
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self.address = ""


@contextmanager
def serving(server: Server):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requests.append(self.path)
            server.headers.append(dict(self.headers))
            body = server.bodies.get(self.path)
            if body is None:
                self.send_error(404)
                return
            if self.path in server.silent:
                server.released.wait(30)
                return
            self.send_response(200)
            if self.path not in server.unannounced:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.path in server.dripping:
                for byte in body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if server.released.wait(0.05):
                        return
            elif self.path in server.stalled:
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                server.released.wait(30)
            elif server.broken.get(self.path, 0) > 0:
                server.broken[self.path] -= 1
                self.wfile.write(body[: len(body) // 2])
            else:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    server.address = f"http://127.0.0.1:{httpd.server_address[1]}"
    try:
        yield server
    finally:
        server.released.set()
        httpd.shutdown()
        httpd.server_close()
        thread.join(timeout=5)


@pytest.fixture
def server():
    with serving(Server()) as running:
        yield running


@pytest.fixture
def environment() -> dict[str, str]:
    """Environment of a command that a test starts."""
    return {**os.environ, "NO_PROXY": "127.0.0.1"}
