# SPDX-License-Identifier: MIT
"""`cmake --install`, the Debian package, and completions in their shells."""
import gzip
import os
import re
import shutil
import subprocess

import pytest

from recording import BUILD, LIBRARY, PYTHON, SOURCE, TIMEOUT_S, VTRACE, WORKLOADS, clean_environment, vtrace

COMMANDS = set(re.findall(r"^\tX\((\w+),", (SOURCE / "analyzer/commands/cmd.h").read_text(), re.M))


def run(*command, cwd=None, env=None, text=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env or clean_environment(), capture_output=True,
                          text=True, timeout=TIMEOUT_S, input=text or "")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", folder)
    return folder


def test_an_installation_records(prefix, tmp_path):
    run(prefix / "bin/vtrace", "run", "--simulate", "h100-80g", "-o", tmp_path / "run.db", "--", PYTHON,
        WORKLOADS / "hold_memory.py", cwd=tmp_path, text="alloc 3\n")
    assert re.search(r"^ended +exit 0$", run(prefix / "bin/vtrace", "info", tmp_path / "run.db"), re.M)
    assert run(prefix / "bin/vtrace", "path").strip() == str(next(prefix.glob("lib*/vtrace/libvtrace.so")))


def test_every_command_has_its_page(prefix):
    needs("lowdown")
    pages = {path.name for path in (prefix / "share/man/man1").iterdir()}
    assert pages == {"vtrace.1.gz"} | {f"vtrace-{name}.1.gz" for name in COMMANDS}
    text = gzip.decompress((prefix / "share/man/man1/vtrace-run.1.gz").read_bytes()).decode()
    assert '.TH "vtrace-run" "1"' in text and ".SH\nNAME\n" in text


def test_pages_have_no_complaint_from_groff(prefix):
    needs("groff")
    needs("lowdown")
    for page in (prefix / "share/man/man1").iterdir():
        done = subprocess.run(["groff", "-t", "-man", "-Tutf8", "-z"], input=gzip.decompress(page.read_bytes()),
                              capture_output=True, timeout=TIMEOUT_S)
        # Tables that are wide in a narrow window are warnings.
        assert b"error" not in done.stderr and done.returncode == 0, (page, done.stderr)


def test_pkg_config_knows_the_header_and_the_library(prefix):
    needs("pkg-config")
    env = clean_environment({"PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")})
    flags = run("pkg-config", "--cflags", "vtrace", env=env).strip()
    assert os.path.exists(os.path.join(flags.removeprefix("-I"), "vtrace.h"))
    assert os.path.exists(run("pkg-config", "--variable=library", "vtrace", env=env).strip())


def test_the_version_has_the_commit():
    commit = subprocess.run(["git", "-C", str(SOURCE), "rev-parse", "--short=10", "HEAD"], capture_output=True,
                            text=True)
    said = vtrace("--version").stdout
    assert re.fullmatch(r"vtrace \d+\.\d+\.\d+( \([0-9a-f]{10}\))?\n", said)
    assert commit.returncode or "(" in said


def test_path_is_the_recorder():
    assert vtrace("path").stdout == f"{LIBRARY.resolve()}\n"
    assert vtrace("path", "x").returncode == 2


def complete_in_bash(script, *words):
    program = (f"source {script}\nCOMP_WORDS=({' '.join(words)})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n_vtrace\n"
               'printf "%s\\n" "${COMPREPLY[@]}"\n')
    return run("bash", "-c", program + "exit 0").split()


def test_bash_completes_commands_and_options(prefix):
    script = prefix / "share/bash-completion/completions/vtrace"
    assert set(complete_in_bash(script, "vtrace", "''")) == COMMANDS | {"--help", "--version"}
    assert complete_in_bash(script, "vtrace", "rep") == ["report"]
    assert complete_in_bash(script, "vtrace", "run", "--sim") == ["--simulate"]
    assert complete_in_bash(script, "vtrace", "diff", "--simu") == []


def test_fish_completes_commands_and_options(prefix):
    needs("fish")
    script = prefix / "share/fish/vendor_completions.d/vtrace.fish"

    def complete(line):
        said = run("fish", "-c", f"source {script}; complete -C '{line}'")
        return {row.split("\t")[0] for row in said.splitlines()}

    assert COMMANDS <= complete("vtrace ")
    assert complete("vtrace run --simu") == {"--simulate"}


def test_zsh_reads_its_script(prefix):
    needs("zsh")
    script = next((prefix / "share/zsh").glob("*/_vtrace"))
    program = ("autoload -Uz compinit; compinit -u -D; _arguments() { print -rl -- \"$@\" }; "
               "_describe() { print -rl -- \"${(@P)2}\" }; words=(vtrace run --); CURRENT=3; "
               f"source {script}; words=(vtrace ''); CURRENT=2; _vtrace")
    said = run("zsh", "-fc", program)
    assert "--simulate=[no GPU needed" in said
    assert {line.split(":")[0] for line in said.splitlines()} >= COMMANDS


def test_every_option_of_the_help_is_completed():
    script = vtrace("completion", "bash").stdout
    for name in COMMANDS:
        options = set(re.findall(r"^  (?:-\w, |    )(--[\w-]+)", vtrace(name, "--help").stdout, re.M))
        line, = re.findall(rf"^\t{name}\) options='(.*)' ;;$", script, re.M)
        assert set(line.split()) == options


def test_an_unknown_shell_is_wrong_usage():
    assert vtrace("completion", "tcsh").returncode == 2
    assert vtrace("completion").returncode == 2


def test_the_debian_package_has_everything_and_lintian_finds_no_error(tmp_path):
    needs("dpkg-deb")
    needs("dpkg-shlibdeps")
    env = clean_environment({"VTRACE_BUILD": str(BUILD)})
    package = run(SOURCE / "scripts/package", "-o", tmp_path, env=env).strip()
    names = {line.split()[-1] for line in run("dpkg-deb", "-c", package).splitlines()}
    assert {"./usr/bin/vtrace", "./usr/lib/vtrace/libvtrace.so", "./usr/lib/vtrace/simulator/libcuda.so.1",
            "./usr/include/vtrace.h", "./usr/share/pkgconfig/vtrace.pc", "./usr/share/doc/vtrace/copyright",
            "./usr/share/zsh/vendor-completions/_vtrace"} <= names
    run("dpkg-deb", "-x", package, tmp_path / "root")
    assert run(tmp_path / "root/usr/bin/vtrace", "--version") == run(VTRACE, "--version")
    assert "libsqlite3-0" in run("dpkg-deb", "-f", package, "Depends")
