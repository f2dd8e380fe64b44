# SPDX-License-Identifier: MIT
"""Is it true what findings state?  Programs run as they are and with a finding's advice applied, each pair one row.

    proof [--programs FOLDER] [--keep FOLDER] [--no-settings] [--json FILE] [PROGRAM[:VARIANT]...]

--keep FOLDER keeps the recordings there and uses them again, until a program's text changes: for work on the analyzer,
which takes seconds then. A recorder that changed needs a new folder. --no-settings leaves out what a setting of the
environment follows, most of the runs.

A program names its variants in a comment and applies the advice that ADVICE names (programs/advice.py). What a report
states to be lowered is compared with the two runs: the most allocated bytes as PyTorch counts them, and the highest
device use. A variant that has the id of a finding makes that mistake, the program's other variants do not: there the
finding is false, and where it is missing in its own variant though it costs something there, it was missed. Exit 1: an
advice raised a peak, a finding was false or missed, or fewer than 95 % of the savings are within 5 %.
"""
import argparse
import contextlib
import hashlib
import json
import pathlib
import re
import sys
import tempfile

from recording import PYTHON, Recording, record

HERE = pathlib.Path(__file__).resolve().parent
WITHIN, SHARE_WITHIN = 0.05, 0.95
WORTH = 0.02  # of the peak: what findings begin with
WRONG = ("RAISES", "FALSE", "MISSED")
MIB = 1 << 20
# Findings whose advice is a setting of the environment, and those that a function of advice.py applies.
SETTINGS = {"fragmentation": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
            "rounded-requests": {"PYTORCH_CUDA_ALLOC_CONF": ""},
            "library-workspaces": {"CUBLAS_WORKSPACE_CONFIG": ":4096:2:16:8"}}
FUNCTIONS = {"optimizer-states-wide": "adamw", "optimizer-burst": "adamw", "activations-kept": "call",
             "logits-kept-whole": "token_loss"}


def variants(program):
    found = re.search(r"^# variants: (.*)$", program.read_text(), re.M)
    return found.group(1).split() if found else [""]


def is_named(program, finding):
    text = program.read_text()
    return f'advised("{finding}")' in text or f'mistake("{finding}")' in text


def can_apply(program, finding):
    text = program.read_text()
    named = re.search(r"^from advice import (.*)$", text, re.M)
    return (finding in SETTINGS or is_named(program, finding)
            or (named and FUNCTIONS.get(finding) in named.group(1).split(", ")))


def kept_folder(keep, program, variant, finding):
    """What the run depends on is in its name."""
    text = program.read_text() + (HERE / "programs" / "advice.py").read_text() + repr(SETTINGS.get(finding, {}))
    return keep / f"{program.stem}-{variant}-{finding}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def record_run(folder, program, variant, finding):
    env = {"VARIANT": variant, "ADVICE": finding, "PYTHONPATH": str(HERE / "programs")}
    recording = record(folder, PYTHON, program, env={**env, **SETTINGS.get(finding, {})})
    if recording.process.returncode:
        sys.exit(f"{program.name}:{variant} with {finding or 'no advice'}: {recording.process.stderr}")
    (folder / "allocated").write_text(recording.process.stdout.splitlines()[-1])


@contextlib.contextmanager
def recorded(keep, program, variant, finding):
    """A folder with the recording of that run."""
    kept = keep and kept_folder(keep, program, variant, finding)
    if kept and kept.exists():
        yield kept
        return
    with tempfile.TemporaryDirectory(dir=keep, ignore_cleanup_errors=True) as folder:
        record_run(pathlib.Path(folder), program, variant, finding)
        yield pathlib.Path(folder).rename(kept) if kept else pathlib.Path(folder)


def run(program, variant, finding="", keep=None):
    """The report, and the most allocated bytes as the program itself says."""
    with recorded(keep, program, variant, finding) as folder:
        report = Recording(folder, folder / "run.db", folder / "ledger", None).report()
        peak = report["devices"][0]["peak"]
        allocated = json.loads((folder / "allocated").read_text())["allocated"]
        return report["findings"], allocated, peak["device_used_bytes"]


def is_close(stated, measured, is_lower_bound=False):
    return is_lower_bound and measured > stated or abs(stated - measured) <= WITHIN * max(abs(measured), abs(stated))


def judge(finding, allocated, used):
    """The two savings that were measured, against those that were stated."""
    is_used = finding["proved_by"] == "replay"
    stated, measured = finding["saves_bytes"], used if is_used else allocated
    if measured < 0:
        return "RAISES"
    if is_close(stated, measured, finding["is_lower_bound"]):
        return "ok, a lower bound" if finding["is_lower_bound"] else "ok"
    return "OFF"


def pairs(program, variant, keep, has_settings):
    findings, allocated, used = run(program, variant, keep=keep)
    findings = [finding for finding in findings if has_settings or finding["id"] not in SETTINGS]
    mistakes = {name for name in variants(program) if name and is_named(program, name)}
    if variant in mistakes - {finding["id"] for finding in findings}:
        saved = allocated - run(program, variant, variant, keep)[1]
        yield {"program": f"{program.stem}:{variant}", "finding": variant, "could_save": saved,
               "verdict": "MISSED" if saved > WORTH * allocated else "costs nothing"}
    for finding in findings:
        row = {"program": f"{program.stem}:{variant}", "finding": finding["id"], "verdict": "not applied",
               "stated": finding["lowers_allocated_bytes"], "used_stated": finding["lowers_used_bytes"],
               "is_used_close": None}
        if finding["id"] in mistakes - {variant}:
            row["verdict"] = "FALSE"
        elif can_apply(program, finding["id"]):
            _, after, used_after = run(program, variant, finding["id"], keep)
            row.update(measured=allocated - after, used_measured=used - used_after,
                       verdict=judge(finding, allocated - after, used - used_after))
            if row["used_stated"] is not None:
                is_lower_bound = finding["is_lower_bound"]
                row["is_used_close"] = is_close(row["used_stated"], row["used_measured"], is_lower_bound)
        yield row
    if not findings:
        yield {"program": f"{program.stem}:{variant}", "finding": "none", "verdict": "-"}


def mib(row, key):
    return f"{row[key] / MIB:.1f}" if row.get(key) is not None else "-"


def cells(row):
    figures = [mib(row, key) for key in ("stated", "measured", "used_stated", "used_measured")]
    return (row["program"], row["finding"], *figures, row["verdict"])


def print_row(row):
    print("{:<22} {:<24} {:>9} {:>9} {:>12} {:>9}  {}".format(*cells(row)), flush=True)


def summarise(rows):
    applied = [row for row in rows if "measured" in row]
    families = {row["program"].split(":")[0] for row in applied}
    counts = {verdict: sum(row["verdict"].startswith(verdict) for row in rows) for verdict in ("ok", *WRONG)}
    known = [row["is_used_close"] for row in applied if row["is_used_close"] is not None]
    share = counts["ok"] / len(applied) if applied else 1
    print(f"{len(applied)} pairs of {len(families)} programs: {counts['ok']} within 5 % ({100 * share:.1f} %),"
          f" {counts['RAISES']} raise the peak, {counts['FALSE']} false, {counts['MISSED']} missed;"
          f" device use within 5 % in {sum(known)} of {len(known)};"
          f" {sum(row['verdict'] == 'not applied' for row in rows)} not applied")
    return 0 if share >= SHARE_WITHIN and not any(counts[verdict] for verdict in WRONG) else 1


def chosen(words, folder):
    for program in sorted(folder.glob("*.py")):
        for variant in variants(program):
            if program.stem != "advice" and (not words or {program.stem, f"{program.stem}:{variant}"} & set(words)):
                yield program, variant


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=lambda path: pathlib.Path(path).resolve(), default=HERE / "programs")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--no-settings", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="PROGRAM[:VARIANT]")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    rows = []
    print("MiB: of allocated bytes what is stated and measured, then the same of device use", flush=True)
    for program, variant in chosen(options.names, options.programs):
        for row in pairs(program, variant, options.keep, not options.no_settings):
            rows.append(row)
            print_row(row)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return summarise(rows)


if __name__ == "__main__":
    sys.exit(main())
