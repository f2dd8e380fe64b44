# SPDX-License-Identifier: MIT
"""`vtrace metrics --listen`: figures over HTTP on a local port."""
import contextlib
import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from living import Program, interrupt_a_look, until
from recording import TIMEOUT_S, VTRACE, clean_environment, vtrace, wheel_python

MIB = 1 << 20
MOST_REQUEST = 8192
MOST_CONNECTIONS = 32


@pytest.fixture
def program(tmp_path):
    living = Program(tmp_path)
    living.tell("alloc 2")
    yield living
    if living.process.poll() is None:
        living.end()


class Server:
    def __init__(self, *arguments, before=()):
        self.process = subprocess.Popen([*before, VTRACE, "metrics", *map(str, arguments)], env=clean_environment(),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True)
        line = self.process.stderr.readline()
        found = re.fullmatch(r"vtrace: listening on http://(.*):(\d+)/metrics\n", line)
        assert found, line
        self.host, self.port = found[1].strip("[]"), int(found[2])

    def ask(self, method="GET", path="/metrics", **more):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request(method, path, **more)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=TIMEOUT_S)

    def end(self):
        """Not by communicate(): it does not know of lines that readline() has read ahead."""
        self.process.wait(timeout=TIMEOUT_S)
        return self.process.returncode, self.process.stderr.read()


def ticks_of(process):
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        return sum(int(word) for word in stat.read().rpartition(")")[2].split()[11:13])


@pytest.fixture
def server(program, tmp_path):
    until((tmp_path / "run.db").exists)
    listening = Server(tmp_path / "run.db", "--listen", "0")
    yield listening
    listening.process.kill()
    listening.process.wait()


def everything(client):
    received = b""
    while part := client.recv(65536):
        received += part
    return received


def value(text, name):
    """None: nothing was allocated yet."""
    found = re.search(rf"^{name}\{{.*\}} (\d+)$", text, re.M)
    return found and int(found[1])


def test_what_is_in_use_now(program, server):
    assert server.host == "127.0.0.1"
    status, headers, text = server.ask()
    assert status == 200 and headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert int(headers["Content-Length"]) == len(text.encode()) and text.endswith("# EOF\n")
    until(lambda: value(server.ask()[2], "vtrace_allocated_bytes") == 2 * MIB)
    program.tell("alloc 5")
    until(lambda: value(server.ask(path="/metrics?of=all")[2], "vtrace_allocated_bytes") == 7 * MIB)


def test_the_official_parser_takes_it(server):
    python = wheel_python()
    check = ("import sys, urllib.request\n"
             "from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n"
             "text = urllib.request.urlopen(sys.argv[1]).read().decode()\n"
             "print(sorted((f.name, f.type, len(f.samples)) for f in parse(text)))\n")
    done = subprocess.run([python, "-c", check, f"http://127.0.0.1:{server.port}/metrics"], capture_output=True,
                          text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0 and "('vtrace_events', 'counter', 1)" in done.stdout, done.stderr


@pytest.mark.parametrize("method, path, status", (
    ("GET", "/", 404), ("GET", "/metrics/", 404), ("GET", "/metric", 404), ("GET", "/metrics2", 404),
    ("POST", "/metrics", 405), ("HEAD", "/metrics", 405), ("GETS", "/metrics", 405), ("POST", "/", 404)))
def test_one_page_and_one_method(server, method, path, status):
    got, headers, _ = server.ask(method, path)
    assert got == status and headers["Allow"] == ("GET" if status == 405 else None)
    assert server.ask()[0] == 200


@pytest.mark.parametrize("request_, status", (
    (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * MOST_REQUEST, 431), (b"x" * (MOST_REQUEST + 1), 431),
    (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * (MOST_REQUEST // 2) + b"\r\n\r\n", 200),
    (b"GET /metrics HTTP/1.0\n\n", 200), (b"\r\n\r\n", 400), (b"GET /metrics\r\n\r\n", 400), (b"GET\r\n\r\n", 400),
    (b"GET /metrics HTTP/2\r\n\r\n", 400), (b"GET /metrics\0 HTTP/1.1\r\n\r\n", 400), (b"\xff\xfe \r\n\r\n", 400)))
def test_odd_requests(server, request_, status):
    with server.connect() as client:
        client.sendall(request_)
        assert everything(client).startswith(b"HTTP/1.1 %d " % status)
    assert server.ask()[0] == 200


def test_a_request_in_pieces_and_with_a_body_larger_than_a_request(server):
    with server.connect() as client:
        for byte in b"GET /metrics HTTP/1.1\r\n\r":
            client.sendall(bytes((byte,)))
        client.sendall(b"\n" + b"body" * MOST_REQUEST)
        assert everything(client).endswith(b"# EOF\n")


def test_slow_clients_make_nobody_wait(server):
    with contextlib.ExitStack() as stack:
        for i in range(2 * MOST_CONNECTIONS):
            client = stack.enter_context(server.connect())
            client.sendall(b"GET /metrics HTTP/1.1\r\n" + (b"\r\n" if i % 2 else b""))
        assert server.ask()[0] == 200
        last = stack.enter_context(server.connect())
        last.sendall(b"GET /met")
        assert server.ask()[0] == 200
        last.sendall(b"rics HTTP/1.1\r\n\r\n")
        assert everything(last).endswith(b"# EOF\n")


def test_a_request_that_does_not_come_is_given_up(server):
    with server.connect() as client:
        client.sendall(b"GET /metrics")
        assert client.recv(1) == b""
    assert server.ask()[0] == 200


@pytest.mark.parametrize("end", ("quit 0", "kill 9"))
def test_it_ends_with_the_program(program, server, end):
    assert value(server.ask()[2], "vtrace_running") == 1
    program.end(end)
    assert server.end() == (0, "")


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
def test_it_ends_by_a_signal_and_the_program_goes_on(program, server, number):
    with server.connect():
        server.process.send_signal(number)
        assert server.end() == (0, "")
    program.tell("alloc 1")


def test_a_look_that_a_signal_ends_is_no_failure(program, tmp_path):
    until((tmp_path / "run.db").exists)
    listening = Server(tmp_path, "--listen", "0")
    interrupt_a_look(listening.process)
    assert listening.end() == (0, "")


def test_what_was_ignored_before_is_ignored(program, tmp_path):
    until((tmp_path / "run.db").exists)
    listening = Server(tmp_path / "run.db", "--listen", "localhost:0", before=("nohup",))
    listening.process.send_signal(signal.SIGHUP)
    assert listening.ask()[0] == 200
    listening.process.terminate()
    assert listening.end()[0] == 0


def test_a_killed_server_leaves_program_and_port_as_they_were(program, server, tmp_path):
    server.ask()
    files = sorted(file.name for file in tmp_path.iterdir())
    server.process.kill()
    server.process.wait()
    program.tell("alloc 1")
    assert sorted(file.name for file in tmp_path.iterdir()) == files
    second = Server(program.process.pid, "--listen", f"127.0.0.1:{server.port}")
    assert second.ask()[0] == 200
    second.process.terminate()
    assert second.end()[0] == 0


def test_a_taken_port_is_one_line(server, tmp_path):
    done = vtrace("metrics", tmp_path / "run.db", "--listen", server.port)
    assert done.returncode == 3
    assert done.stderr == f"vtrace: cannot listen on port {server.port} of 127.0.0.1: Address already in use\n"


def test_other_addresses(program, tmp_path):
    until((tmp_path / "run.db").exists)
    second = Server(tmp_path, "--listen", "[::1]:0")
    assert second.host == "::1" and second.ask()[0] == 200
    second.process.terminate()
    assert second.end()[0] == 0
    done = vtrace("metrics", tmp_path, "--listen", "300.1.1.1:0")
    assert done.returncode == 3 and done.stderr.startswith("vtrace: 300.1.1.1: ") and done.stderr.count("\n") == 1


def test_a_program_that_has_ended_has_no_server(program, tmp_path):
    program.end()
    done = vtrace("metrics", tmp_path / "run.db", "--listen", "0")
    assert (done.returncode, done.stderr) == (3, f"vtrace: {tmp_path}/run.db: no recorded program is running\n")


@pytest.mark.parametrize("arguments", (("--listen", "x"), ("--listen", ""), ("--listen", ":9"), ("--listen", "a:b"),
                                       ("--listen", "65536"), ("--listen", "::1:9"), ("--listen", "-1"),
                                       ("--listen", "[]:9"), ("--listen", "1", "-o", "f"),
                                       ("--listen", "1", "--every", "2", "-o", "f")))
def test_wrong_usage(tmp_path, arguments):
    done = vtrace("metrics", *arguments, tmp_path)
    assert done.returncode == 2 and done.stderr.startswith("vtrace metrics: ")


def test_without_descriptors_it_waits_and_goes_on(server):
    nr = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (nr + 1, hard))
    clients = [server.connect() for _ in range(4)]
    until(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) == nr + 1)
    before, start = ticks_of(server.process), time.monotonic()
    while time.monotonic() < start + 1:
        time.sleep(0.1)
    # Processor time: a hundred of a second that spins, or the share of it that a busy machine gives.
    assert ticks_of(server.process) - before < 10
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (hard, hard))
    for client in clients:
        client.close()
    assert server.ask()[0] == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:80", "127.0.0.1", "127.0.0.1:9400", "[::1]:9400",
                                  "LOCALHOST"])
def test_its_own_address_is_answered(server, host):
    assert server.ask(headers={"Host": host})[0] == 200


@pytest.mark.parametrize("host", ["example.org", "example.org:9400", "127.0.0.1.example.org", "localhost.example.org",
                                  "127.0.0.1x", "x"])
def test_a_name_that_leads_here_is_refused(server, host):
    assert server.ask(headers={"Host": host})[0] == 421
