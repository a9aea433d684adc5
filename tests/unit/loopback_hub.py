"""A hub on the loopback address: the endpoints that huggingface_hub and datasets call, served from folders.

A repository is a folder `models/OWNER/NAME` or `datasets/OWNER/NAME` of files; `refs` says which commit its branches have.
Processes use it by the environment of `Hub.environment`, as their hub, with a cache of their own.
"""

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LIBRARY = Path(__file__).parents[2] / "workflow" / "lib"
FIRST, SECOND = "1" * 40, "2" * 40


class Hub:
    """What is served, what was asked for, and faults that tests switch on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.refs: dict[str, str] = {"main": FIRST}
        self.requests: list[str] = []
        self.gated: set[str] = set()
        self.port = 0

    def environment(self, home: Path, **changes: str) -> dict[str, str]:
        """Environment of a process that uses this hub, its cache in `home`."""
        others = ("HF_", "HUGGING", "ATLAS_", "TRANSFORMERS_")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(others)}
        kept |= {"HF_ENDPOINT": f"http://127.0.0.1:{self.port}", "HF_HUB_ETAG_TIMEOUT": "2", "NO_PROXY": "127.0.0.1"}
        kept |= {"HF_HOME": str(home / "hub_cache"), "XDG_CACHE_HOME": str(home / "cache")}
        return kept | {"PYTHONPATH": str(LIBRARY), "OMP_NUM_THREADS": "1"} | changes

    def run(self, home: Path, code: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run Python code in a process of its own, in `home`."""
        home.mkdir(exist_ok=True)
        command = [sys.executable, "-c", code]
        variables = self.environment(home, **changes)
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=home, env=variables)


@contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    """A hub that serves the repositories of a folder."""
    hub = Hub(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_POST(self) -> None:
            self.do_GET(json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}"))

        def do_GET(self, body: Any = None) -> None:
            path = unquote(urlsplit(self.path).path).strip("/")
            hub.requests.append(path)
            if path.startswith("api/"):
                self.api(path.removeprefix("api/").split("/"), body or {})
            else:
                repository, _, rest = path.partition("/resolve/")
                commit, _, name = rest.partition("/")
                kind = repository if repository.startswith("datasets/") else f"models/{repository}"
                self.file(hub.folder / kind / name, commit)

        def api(self, parts: list[str], body: dict[str, Any]) -> None:
            repository, action, rest = "/".join(parts[:3]), parts[3] if len(parts) > 3 else "revision", parts[4:]
            folder = hub.folder / repository
            reference = rest[0] if rest else "main"
            commit = hub.refs.get(reference, reference)
            names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
            if repository in hub.gated or not folder.is_dir():
                self.refuse("GatedRepo" if repository in hub.gated else "RepoNotFound")
            elif commit not in hub.refs.values():
                self.refuse("RevisionNotFound")
            elif action == "revision":
                facts = {"id": "/".join(parts[1:3]), "sha": commit, "private": False, "tags": [], "downloads": 0}
                self.send_json(facts | {"siblings": [{"rfilename": name} for name in names if (folder / name).is_file()]})
            elif action == "tree":
                base = folder / "/".join(rest[1:])
                paths = base.rglob("*") if "recursive=true" in self.path.lower() else base.glob("*")
                self.send_json([described(folder, str(path.relative_to(folder))) for path in sorted(paths)])
            else:
                self.send_json([described(folder, name) for name in body.get("paths", ()) if name in names])

        def file(self, path: Path, commit: str) -> None:
            if hub.refs.get(commit, commit) not in hub.refs.values() or not path.is_file():
                self.refuse("EntryNotFound" if commit in hub.refs.values() else "RevisionNotFound")
                return
            content = path.read_bytes()
            whole = len(content)
            self.send_response(206 if self.headers.get("Range") else 200)
            if asked := self.headers.get("Range"):
                start, _, stop = asked.removeprefix("bytes=").partition("-")
                last = min(int(stop or whole - 1), whole - 1)
                self.send_header("Content-Range", f"bytes {start}-{last}/{whole}")
                content = content[int(start) : last + 1]
            self.send_header("X-Repo-Commit", hub.refs.get(commit, commit))
            self.send_header("ETag", f'"{checksum(path)}"')
            self.send_header("Accept-Ranges", "bytes")
            self.finish_with(content)

        def send_json(self, answer: Any) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.finish_with(json.dumps(answer).encode())

        def refuse(self, code: str) -> None:
            self.send_response(403 if code == "GatedRepo" else 404)
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", code)
            self.finish_with(b"")

        def finish_with(self, content: bytes) -> None:
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.port = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield hub
        finally:
            server.shutdown()


def described(folder: Path, name: str) -> dict[str, Any]:
    """What the hub says of a file or a folder of a repository."""
    path = folder / name
    if path.is_dir():
        return {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
    return {"type": "file", "oid": checksum(path), "size": path.stat().st_size, "path": name}


def checksum(path: Path) -> str:
    """What the hub calls the checksum of a small file: that of git."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
