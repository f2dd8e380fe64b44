# SPDX-License-Identifier: MIT
"""Bad input: one clear line, exit code 3, nothing lost and nothing overwritten."""
import json
import os
import shutil
import sqlite3
import struct
import subprocess

import pytest

from recording import BUILD, SOURCE, TIMEOUT_S, WORKLOADS, make_allocations_writable, record, record_python, vtrace
from unprivileged import locked_folder, public_folder, vtrace_as_nobody

CLIENT = BUILD / "tests" / "workloads" / "driver_client"
JOURNAL_VERSION_OFFSET = 8
JOURNAL_MINIMUM_READER_OFFSET = 12


def refused(done, *words):
    """Exactly one line on stderr, nothing on stdout, exit code 3."""
    assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in lines[0], lines[0]
    return True


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    recording = record(tmp_path_factory.mktemp("good"), CLIENT)
    assert recording.process.returncode == 0, recording.process.stderr
    return recording


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """A journal that no collector has touched."""
    recording = record(tmp_path_factory.mktemp("journal"), CLIENT, env={"VTRACE_COLLECT": "0"})
    path = recording.directory / "run.journal"
    assert path.exists(), recording.process.stderr
    return path


@pytest.mark.parametrize("command", ("report", "info", "blocks"))
def test_a_file_that_is_not_there(command, tmp_path):
    assert refused(vtrace(command, tmp_path / "absent.db"), "absent.db")


@pytest.mark.parametrize("command, option", (
    ("report", "--top"), ("report", "--run"), ("report", "--device"), ("frag", "--top"), ("leaks", "--top"),
    ("diff", "--top"), ("check", "--top"), ("check", "--run"), ("html", "--run"), ("export", "--run")))
@pytest.mark.parametrize("word", ("-1", "many", "99999999999"))
def test_what_is_no_number_is_said_with_its_option(command, option, word, tmp_path):
    done = vtrace(command, option, word, tmp_path / "absent.db")
    assert done.returncode == 2 and not done.stdout
    line, usage, _ = done.stderr.split("\n")
    assert line == f"vtrace {command}: {option} {word}: must be a whole number from 0 to 2147483647"
    assert usage.startswith(f"usage: vtrace {command} ")


@pytest.mark.parametrize("command", ("report", "info", "blocks"))
def test_a_file_that_is_not_ours(command, tmp_path):
    stranger = tmp_path / "stranger.db"
    stranger.write_bytes(b"once upon a time\n" * 500)
    assert refused(vtrace(command, stranger), "stranger.db")
    assert stranger.read_bytes() == b"once upon a time\n" * 500


def test_an_sqlite_database_of_somebody_else(tmp_path):
    other = tmp_path / "other.db"
    subprocess.run(["python3", "-c", "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
                    " c.execute('create table t (x)'); c.commit()", other], check=True)
    assert refused(vtrace("report", other), "other.db")


@pytest.mark.parametrize("kept", (0, 1, 100, 4096, 20000))
def test_a_truncated_database(recorded, kept, tmp_path):
    short = tmp_path / "short.db"
    short.write_bytes(recorded.database.read_bytes()[:kept])
    assert refused(vtrace("report", short), "short.db")
    assert short.stat().st_size == kept


HOSTILE = {
    "a view": "ALTER TABLE mark RENAME TO other; CREATE VIEW mark AS SELECT * FROM other",
    "another view": "DROP VIEW allocation; CREATE VIEW allocation AS SELECT *, 1 AS more FROM allocation_row",
    "another view of an older file": "DROP VIEW allocation; CREATE VIEW allocation AS SELECT * FROM allocation_row;"
                                     " PRAGMA user_version = 9",
    "a generated column of an older table": (SOURCE / "tests" / "lib" / "older_allocations.sql").read_text() +
                                            "ALTER TABLE allocation ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "an endless view": "DROP TABLE string; CREATE VIEW string AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT"
                       " id + 1 FROM n) SELECT id, 'x' AS text FROM n",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM allocation; END",
    "a trigger of a view": "CREATE TRIGGER t INSTEAD OF INSERT ON live_at BEGIN DELETE FROM allocation; END",
    "a virtual table": "DROP TABLE mark; CREATE VIRTUAL TABLE mark USING fts5(event, name)",
    "another virtual table": "CREATE VIRTUAL TABLE elsewhere USING fts5(event)",
    "a generated column": "DROP TABLE string; CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT GENERATED"
                          " ALWAYS AS (hex(zeroblob(100000000))))",
    "a stored one": "DROP TABLE peak; CREATE TABLE peak (device, event, used_bytes, allocated_bytes,"
                    " max_allocated_event, max_allocated_bytes AS (1) STORED)",
    "other letters": "DROP TABLE mark; CREATE VIEW MARK AS SELECT 1 AS event",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_database_that_would_run_something(recorded, what, tmp_path):
    hostile = tmp_path / "hostile.db"
    shutil.copy(recorded.database, hostile)
    with sqlite3.connect(hostile) as connection:
        connection.executescript(HOSTILE[what])
    data = hostile.read_bytes()
    for command in ("report", "info", "leaks"):
        assert refused(vtrace(command, hostile), "hostile.db", "not a vtrace database")
    assert hostile.read_bytes() == data


def test_a_view_that_is_written_down_as_a_table(recorded, tmp_path):
    """SQLite goes by the statement alone."""
    hostile = tmp_path / "hostile.db"
    shutil.copy(recorded.database, hostile)
    with sqlite3.connect(hostile) as connection:
        connection.executescript(
            "DROP TABLE mark; CREATE VIEW mark AS SELECT 1 AS event; PRAGMA writable_schema=1;"
            "UPDATE sqlite_master SET type = 'table' WHERE name = 'mark'")
    assert refused(vtrace("report", hostile), "hostile.db")


def test_pages_that_refer_to_each_other(recorded, tmp_path):
    """A tree of 18 levels, each of which has the one below 200 times: more rows than anybody can read."""
    hostile = tmp_path / "hostile.db"
    shutil.copy(recorded.database, hostile)
    with sqlite3.connect(hostile) as connection:
        connection.execute("PRAGMA page_size")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'allocation_row'").fetchone()[0]
    data = bytearray(hostile.read_bytes())
    leaf = bytes(data[(root - 1) * size:root * size])
    assert leaf[0] in (5, 13)

    def interior(child):
        cells = 200
        start = size - 5 * cells
        page = bytearray(size)
        page[0:12] = struct.pack(">BHHHBI", 5, 0, cells, start, 0, child)
        for i in range(cells):
            struct.pack_into(">H", page, 12 + 2 * i, start + 5 * i)
            struct.pack_into(">IB", page, start + 5 * i, child, 1)
        return page

    levels = 15
    for level in range(levels):
        data += interior(pages + level + 2)
    data += leaf
    data[(root - 1) * size:root * size] = interior(pages + 1)
    struct.pack_into(">I", data, 28, pages + levels + 1)
    hostile.write_bytes(data)
    assert refused(vtrace("report", hostile), "hostile.db")


def test_an_empty_journal(tmp_path):
    empty = tmp_path / "empty.journal"
    empty.touch()
    assert refused(vtrace("report", empty), "empty.journal")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.journal"]


def test_a_journal_of_a_newer_version(journal, tmp_path):
    newer = tmp_path / "newer.journal"
    data = bytearray(journal.read_bytes())
    data[JOURNAL_VERSION_OFFSET:JOURNAL_VERSION_OFFSET + 4] = (9).to_bytes(4, "little")
    data[JOURNAL_MINIMUM_READER_OFFSET:JOURNAL_MINIMUM_READER_OFFSET + 4] = (9).to_bytes(4, "little")
    newer.write_bytes(data)
    assert refused(vtrace("report", newer), "newer.journal", "9")
    assert newer.read_bytes() == bytes(data)


def test_a_journal_without_its_collector_is_imported_by_the_next_command(journal, tmp_path):
    shutil.copy(journal, tmp_path / "left.journal")
    done = vtrace("info", tmp_path / "left.db", "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "left.db").exists()
    assert not (tmp_path / "left.journal").exists()


def test_an_unknown_profile(tmp_path):
    done = vtrace("run", "--simulate", "h1000", "--", "/bin/true", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "h1000: unknown card; nearest: h100-80g, " in done.stderr


def test_a_file_of_a_card_that_is_wrong(tmp_path):
    (tmp_path / "own.ini").write_text("[own]\ndevice = Own\ntotal_byte = 8GiB\n")
    done = vtrace("run", "--simulate", "own.ini", "--", "/bin/true", cwd=tmp_path)
    assert refused(done, "own.ini", "line 3", "nearest: total_bytes")


def test_a_card_file_that_is_too_long_is_not_cut(tmp_path):
    """Its end would be another card, or an option that is not there."""
    card = "[own]\ndevice = Own\ntotal_bytes = 8GiB\ncapability = 86\nnr_sms = 6\n"
    comments = "#" * 99 + "\n"
    for nr_lines, has_room in ((600, True), (700, False)):
        (tmp_path / "own.ini").write_text(card + nr_lines * comments)
        done = vtrace("run", "--simulate", "own.ini", "-q", "--", "/bin/true", cwd=tmp_path)
        assert done.returncode == 0 if has_room else refused(done, "own.ini", "File too large"), done.stderr


def test_a_command_that_does_not_exist(tmp_path):
    assert refused(vtrace("run", "--", "no-such-command", cwd=tmp_path), "no-such-command")
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_exists_is_not_overwritten(tmp_path):
    precious = tmp_path / "precious.db"
    precious.write_text("mine")
    done = vtrace("run", "--simulate", "h100-80g", "-o", precious, "--", CLIENT, cwd=tmp_path)
    assert refused(done, "precious.db", "--force")
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("content", (b"", b"mine", b"SQLite format 3\0" + bytes(4096)))
def test_force_replaces_recordings_only(content, tmp_path):
    precious = tmp_path / "precious.db"
    precious.write_bytes(content)
    done = vtrace("run", "--force", "-o", precious, "--", "/bin/true", cwd=tmp_path)
    assert refused(done, "precious.db", "not a vtrace database")
    assert precious.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["precious.db"]


def test_force_does_not_replace_a_journal_of_somebody_else(tmp_path):
    precious = tmp_path / "precious.journal"
    precious.write_text("dear diary\n" * 1000)
    done = vtrace("run", "--force", "-o", tmp_path / "precious.db", "--", "/bin/true", cwd=tmp_path)
    assert refused(done, "precious.journal", "not a vtrace journal")
    assert precious.read_text() == "dear diary\n" * 1000


def test_a_folder_in_which_no_file_can_be_made(tmp_path):
    """access(2) says yes to root, creating says no."""
    done = vtrace("run", "-o", "/proc/x.db", "--", "touch", tmp_path / "started")
    assert refused(done, "/proc")
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_file_can_have(tmp_path):
    done = vtrace("run", "-o", 249 * "x" + ".db", "--", "touch", "started", cwd=tmp_path)
    assert refused(done, "xxx.journal", "too long")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ("report", "blocks"))
@pytest.mark.parametrize("arguments", (("--device", "x"), ("--device", "0", "--at", "end"), ("run.db", "second.db")))
def test_a_view_of_no_recording_or_no_number(command, arguments, tmp_path):
    done = vtrace(command, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"vtrace {command}: ")


@pytest.mark.parametrize("command", ("report", "blocks"))
def test_every_view_has_the_same_options(command, recorded):
    done = vtrace(command, "--at", "end", "--device", "0", "--all-frames", "--json", recorded.database)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)
    assert refused(vtrace(command, "--rules", "no-such-rules.ini", recorded.database), "no-such-rules.ini")
    assert refused(vtrace(command, "--at", "mark:nowhere", recorded.database), "nowhere")


@pytest.mark.parametrize("command, moment", (("report", "peak; for a folder most-allocated"),
                                             ("blocks", "peak"), ("explain", "peak"),
                                             ("frag", "the failed request, else peak"), ("diff", "most-allocated")))
def test_the_help_says_which_moment_is_looked_at(command, moment):
    assert f"event:N (default: {moment})\n" in vtrace(command, "--help").stdout


@pytest.mark.parametrize("options", ((), ("--foreground",)))
def test_collecting_what_is_no_journal(options, tmp_path):
    garbage = tmp_path / "garbage.journal"
    garbage.write_bytes(b"dear diary\n" * 1000)
    assert refused(vtrace("collect", *options, tmp_path / "nope.journal"), "nope.journal", "No such file")
    assert refused(vtrace("collect", *options, garbage), "garbage.journal", "not a vtrace journal")
    text = tmp_path / "text.db"
    text.write_text("dear diary")
    assert refused(vtrace("collect", *options, text), f"{text}: not a vtrace journal", "there is none next to it")
    assert {path.name for path in tmp_path.iterdir()} == {"garbage.journal", "text.db"}


def test_collecting_what_was_collected_is_no_error(recorded):
    """The recorder's collector may come after a command that did its work: nobody's terminal hears of it."""
    done = vtrace("collect", recorded.directory / "run.journal")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_directory_without_permission():
    with public_folder() as folder:
        locked = locked_folder(folder)
        assert refused(vtrace_as_nobody("run", "-o", locked / "run.db", "--", "/bin/true"), "locked")
        assert list(locked.iterdir()) == []
        assert vtrace_as_nobody("run", "-o", folder / "run.db", "--", "/bin/true").returncode == 0


def test_force_changes_nothing_where_it_cannot_move_all(recorded, journal):
    """In a folder like /tmp a journal of another user can be read but not moved; the database was moved before it."""
    if os.geteuid() != 0:
        pytest.skip("only root makes files of another user")
    with public_folder() as folder:
        folder.chmod(0o1777)
        shutil.copy(journal, folder / "run.journal")
        shutil.copy(recorded.database, folder / "run.db")
        (folder / "run.journal").chmod(0o644)
        os.chown(folder / "run.db", 65534, 65534)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        done = vtrace_as_nobody("run", "--force", "-o", folder / "run.db", "--", "/bin/true")
        assert refused(done, "run.journal: cannot replace")
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def small_disk(directory, size, *command):
    """Run a command with `directory` on a file system of that size, in a mount name space of its own."""
    script = f'mount -t tmpfs -o size={size} vtrace-test "$1" && cd "$1" && shift && "$@"'
    return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", directory, *map(str, command)],
                          capture_output=True, text=True, timeout=TIMEOUT_S, env=dict(os.environ, VTRACE_QUIET="0"))


def test_a_full_disk_stops_the_recording_and_not_the_program(tmp_path):
    probe = small_disk(tmp_path, "1m", "true")
    if probe.returncode != 0:
        pytest.skip("no permission to mount a small file system")
    done = small_disk(tmp_path, "1m", BUILD / "vtrace", "run", "--simulate", "h100-80g", "--", CLIENT)
    plain = subprocess.run([CLIENT], capture_output=True, text=True, timeout=TIMEOUT_S,
                           env=dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "simulator")))
    assert done.returncode == plain.returncode == 0, done.stderr
    assert done.stdout == plain.stdout
    assert "No space left on device" in done.stderr
    assert "no GPU memory" not in done.stderr


@pytest.mark.parametrize("damage", ("UPDATE allocation SET kind = -1", "UPDATE allocation SET device = -1",
                                    "UPDATE allocation SET size_bytes = 'x'", "UPDATE peak SET device = -1",
                                    "UPDATE native_frame SET id = id + 100000 WHERE id = 1",
                                    "UPDATE allocation SET native_stack = 1500000000, freed_native_stack = 1500000000",
                                    "UPDATE allocation SET python_stack = 1500000000, freed_python_stack = 1500000000",
                                    "UPDATE allocation SET scope = 1500000000, node_class = 1500000000"))
def test_figures_that_contradict_each_other_end_no_command(recorded, tmp_path, damage):
    path = tmp_path / "damaged.db"
    shutil.copy(recorded.database, path)
    with sqlite3.connect(path) as connection:
        make_allocations_writable(connection)
        connection.execute(damage)
    for command in ("report", "blocks", "leaks", "frag", "oom"):
        assert vtrace(command, path).returncode in (0, 3), command
    assert vtrace("diff", recorded.database, path).returncode in (0, 3)


@pytest.mark.parametrize("command", ("report", "info", "list", "top"))
def test_links_and_pipes_that_are_no_files(command, tmp_path):
    (tmp_path / "loop.db").symlink_to("loop.db")
    os.mkfifo(tmp_path / "pipe.db")
    assert refused(vtrace(command, tmp_path / "loop.db"), "loop.db", "Too many levels of symbolic links")
    assert refused(vtrace(command, tmp_path / "pipe.db"), "pipe.db", "not a regular file")


def test_a_model_whose_blocks_have_no_bytes_ends_no_command(tmp_path):
    """What a module hands to its next call is compared by size."""
    path = record_python(tmp_path, "decode_by_hand.py").database
    with sqlite3.connect(path) as connection:
        make_allocations_writable(connection)
        connection.execute("UPDATE allocation SET size_bytes = 0 WHERE id % 2 = 0")
    for command in ("report", "blocks", "leaks", "frag"):
        assert vtrace(command, path).returncode in (0, 3), command


def test_an_argument_of_an_option_that_takes_none():
    for word, said in (("--json=1", "--json=1: takes no argument"), ("-zj", "-z: unknown option"),
                       ("--jso=", "--jso=: takes no argument"), ("--none=1", "--none=1: unknown option")):
        done = vtrace("list", word)
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, f"vtrace list: {said}")


def test_what_was_meant_is_named():
    for arguments, said in ((("reprot", "x.db"), "vtrace: reprot: unknown command; did you mean vtrace report?"),
                            (("none", "x.db"), "vtrace: none: unknown command; vtrace --help lists them"),
                            (("report.db",), "vtrace: report.db: unknown command; vtrace --help lists them"),
                            (("a", "x.db"), "vtrace: a: unknown command; vtrace --help lists them"),
                            (("report", "--jsn"), "vtrace report: --jsn: unknown option; did you mean --json?"),
                            (("report", "--josn"), "vtrace report: --josn: unknown option; did you mean --json?"),
                            (("lsit", "."), "vtrace: lsit: unknown command; did you mean vtrace list?"),
                            (("diff", "--nosuch=x"), "vtrace diff: --nosuch=x: unknown option")):
        done = vtrace(*arguments)
        assert (done.returncode, done.stderr.splitlines()[0]) == (2, said)


def test_metrics_replace_metrics_only(recorded, tmp_path):
    for name, text in (("recording.db", recorded.database.read_bytes()), ("notes.txt", b"x\n")):
        (tmp_path / name).write_bytes(text)
        done = vtrace("metrics", "-o", tmp_path / name, recorded.database)
        assert done.returncode == 3 and "--force" not in done.stderr, done.stderr
        assert (tmp_path / name).read_bytes() == text
    (tmp_path / "metrics.prom").touch()
    for _ in range(2):
        assert vtrace("metrics", "-o", tmp_path / "metrics.prom", recorded.database).returncode == 0


def test_a_recording_instead_of_a_command_is_reported(recorded, tmp_path):
    done = vtrace(recorded.database, "--top", "1")
    assert (done.returncode, done.stdout) == (0, vtrace("report", recorded.database, "--top", "1").stdout)
    assert refused(vtrace(__file__), "test_bad_input.py", "not a vtrace database")
    missing = vtrace(tmp_path / "none.db")
    assert missing.returncode == 2 and "unknown command" in missing.stderr
