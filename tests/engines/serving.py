# SPDX-License-Identifier: MIT
"""What the programs share that serve a few prompts: how many of which length, a server asked by HTTP, files by rank."""
import json
import pathlib
import socket
import sys
import time
import urllib.error
import urllib.request

NR_PROMPTS, PROMPT_TOKENS, NEW_TOKENS = 8, 200, 16
READY_S, ANSWER_S = 600, 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def path_of_rank(path, rank):
    """truth.json, truth.1.json ..."""
    path = pathlib.Path(path)
    return path.with_suffix(f".{rank}{path.suffix}") if rank else path


def ask(port, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body else None,
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def wait_ready(server, port):
    began = time.monotonic()
    while time.monotonic() - began < READY_S:
        if server.poll() is not None:
            sys.exit(f"the server ended with {server.returncode}")
        try:
            ask(port, "/health")
            return time.monotonic() - began
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.5)
    sys.exit("the server did not get ready")
