"""A hub on the loopback address: the endpoints that huggingface_hub and datasets call, served from folders.

A repository is a folder `models/OWNER/NAME` or `datasets/OWNER/NAME` of files; `refs` says which commit its branches have.
Processes use it by the environment of `Hub.environment`, as their hub, with a cache of their own.
"""

from __future__ import annotations

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
        self.tokens: list[str] = []
        self.truncated: set[str] = set()
        self.gated: set[str] = set()
        self.port = 0

    def add(self, kind: str, repository: str, files: dict[str, bytes]) -> None:
        """Serve a repository."""
        for name, content in files.items():
            path = self.folder / kind / repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def environment(self, home: Path, **changes: str) -> dict[str, str]:
        """Environment of a process that uses this hub, its cache in `home`."""
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("HF_", "HUGGING", "ATLAS_", "TRANSFORMERS_"))
        }
        return kept | {
            "HF_ENDPOINT": f"http://127.0.0.1:{self.port}",
            "HF_HOME": str(home / "hub_cache"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "HF_HUB_ETAG_TIMEOUT": "2",
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": str(LIBRARY),
            "OMP_NUM_THREADS": "1",
            **changes,
        }

    def run(self, home: Path, code: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run Python code in a process of its own, in `home`."""
        home.mkdir(exist_ok=True)
        return subprocess.run(
            [sys.executable, "-c", code],
            check=False,
            capture_output=True,
            text=True,
            cwd=home,
            env=self.environment(home, **changes),
        )

    def files(self, repository: str) -> list[Path]:
        return sorted(path for path in (self.folder / repository).rglob("*") if path.is_file())


@contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    """A hub that serves the repositories of a folder."""
    hub = Hub(folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}"))

        def answer(self, body: Any = None) -> None:
            path = unquote(urlsplit(self.path).path).strip("/")
            hub.requests.append(path)
            hub.tokens.append(self.headers.get("Authorization") or "")
            if path.startswith("api/"):
                self.api(path.removeprefix("api/").split("/"), body or {})
            elif "/resolve/" in path:
                repository, _, rest = path.partition("/resolve/")
                commit, _, name = rest.partition("/")
                kind = repository if repository.startswith("datasets/") else f"models/{repository}"
                self.file(hub.folder / kind / name, commit)
            else:
                self.refuse("EntryNotFound")

        def api(self, parts: list[str], body: dict[str, Any]) -> None:
            repository, action, rest = "/".join(parts[:3]), parts[3] if len(parts) > 3 else "revision", parts[4:]
            if not (hub.folder / repository).is_dir() or repository in hub.gated:
                self.refuse("GatedRepo" if repository in hub.gated else "RepoNotFound")
                return
            reference = rest[0] if rest else "main"
            commit = hub.refs.get(reference, reference)
            if commit not in hub.refs.values():
                self.refuse("RevisionNotFound")
                return
            if action == "revision":
                names = [str(path.relative_to(hub.folder / repository)) for path in hub.files(repository)]
                facts = {
                    "id": "/".join(parts[1:3]),
                    "sha": commit,
                    "private": False,
                    "tags": [],
                    "downloads": 0,
                    "gated": False,
                }
                self.send_json(facts | {"siblings": [{"rfilename": name} for name in names]})
            elif action == "tree":
                self.send_json(self.listed(repository, "/".join(rest[1:]), recursive="recursive=true" in self.path.lower()))
            elif action == "paths-info":
                self.send_json([entry for name in body.get("paths", ()) for entry in self.described(repository, name)])
            else:
                self.refuse("EntryNotFound")

        def listed(self, repository: str, below: str, recursive: bool) -> list[dict[str, Any]]:
            base = hub.folder / repository / below
            paths = sorted(base.rglob("*") if recursive else base.glob("*"))
            return [
                entry for path in paths for entry in self.described(repository, str(path.relative_to(hub.folder / repository)))
            ]

        def described(self, repository: str, name: str) -> list[dict[str, Any]]:
            path = hub.folder / repository / name
            if path.is_dir():
                return [{"type": "directory", "oid": "0" * 40, "size": 0, "path": name}]
            return (
                [{"type": "file", "oid": checksum(path), "size": path.stat().st_size, "path": name}] if path.is_file() else []
            )

        def file(self, path: Path, commit: str) -> None:
            if hub.refs.get(commit, commit) not in hub.refs.values():
                self.refuse("RevisionNotFound")
                return
            if not path.is_file():
                self.refuse("EntryNotFound")
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
            if path.name in hub.truncated and self.command == "GET":
                content = content[: len(content) // 2]
                self.close_connection = True
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def send_json(self, answer: Any) -> None:
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def refuse(self, code: str) -> None:
            self.send_response(403 if code == "GatedRepo" else 404)
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()


def checksum(path: Path) -> str:
    """What the hub calls the checksum of a small file: that of git."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
