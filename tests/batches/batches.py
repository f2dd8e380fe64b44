# SPDX-License-Identifier: MIT
"""What vtrace foretells of another batch, and what the program takes with it."""
import json
import pathlib
import re
from dataclasses import dataclass

from recording import PYTHON, record, vtrace

HERE = pathlib.Path(__file__).parent
CARD = "a100-40g"
WORST = 0.05  # of a prediction


@dataclass
class Program:
    file: str
    name: str
    was: int
    new: int

    def run(self, folder, batch, profile=CARD):
        database = folder / f"{self.name}.{batch}.{re.sub('[^0-9a-z]', '-', profile)}.db"
        return record(folder, PYTHON, HERE / self.file, self.name, batch, profile=profile, name=database.name)


def peak_of(recording):
    """What PyTorch's own counter says."""
    found = re.search(r'{"peak_allocated_bytes": (\d+)', recording.process.stdout)
    assert found, recording.process.stderr
    return int(found[1])


def scaled(folder, program):
    """(foretold, measured) bytes allocated at most with the new batch, by `vtrace whatif --batch`."""
    was = program.run(folder, program.was)
    assert was.process.returncode == 0, was.process.stderr
    done = vtrace("whatif", was.database, "--batch", program.new, "--json")
    assert done.returncode == 0, done.stderr
    foretold = json.loads(done.stdout)["devices"][0]["predicted"]["peak_allocated_bytes"]
    return foretold, peak_of(program.run(folder, program.new))


def bounded(folder, program, share):
    """A run with the new batch on a card that has `share` of what its tensors take, beside the context.

    (still_to_come of `vtrace oom`, None where no first step failed; the card)
    """
    whole = program.run(folder, program.new)
    context = whole.report()["devices"][0]["peak"]["context_bytes"]
    card = f"{CARD},memory={int(context + share * peak_of(whole)) >> 20}MiB"
    failed = program.run(folder, program.new, card)
    done = vtrace("oom", failed.database, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["out_of_memory"]
    return told and told["still_to_come"], card


def is_failing(folder, program, batch, card):
    for database in folder.glob("*.db"):
        database.unlink()
    return "OutOfMemoryError" in program.run(folder, batch, card).process.stderr
