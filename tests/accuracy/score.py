# SPDX-License-Identifier: MIT
"""Hold the owners that vtrace gives against the truth, in bytes, at the peak of each device and at each stage."""
import re
from collections import Counter

from recorded import join

CERTAIN = ("names", "autograd", "scope")
# What recall and precision are computed of: owners, and kinds of activations.
CLASSES = ("logits", "kv cache", "activations/attention", "activations/mlp", "activations/norm")
UNSTATED = "activations"
NAMED = ("weights", "gradients", "optimizer")


def top(owner):
    return owner.split("/")[0]


def class_of(owner):
    return owner if owner.startswith("activations/") else top(owner)


class Moment:
    """The live blocks at one moment of one device, scored."""

    def __init__(self, name, blocks, truths):
        self.name, self.bytes = name, Counter()
        self.confusions, self.examples = Counter(), {}
        self.truth, self.got, self.both = Counter(), Counter(), Counter()  # of CLASSES
        self.paths = Counter()
        self.births_in = Counter()  # (stages in one of which it was made, vtrace's); where the truth says it
        for block in blocks:
            self._add(block, truths.get(block["id"]))

    def _add(self, block, truth):
        size, got = block["size_bytes"], block["owner"]
        self.bytes["all"] += size
        if truth and len(truth) > 4 and truth[4]:
            self.births_in["/".join(truth[4]), block["stage"]] += size
        owner = truth[1] if truth else None
        if owner is None:
            self.bytes["without truth"] += size
            self._confuse("-", block, truth)
            return
        is_same = class_of(owner) == class_of(got)
        # Where the truth says no kind, none is held against it.
        if owner != UNSTATED or top(got) != UNSTATED:
            self.truth[class_of(owner)] += size
            self.got[class_of(got)] += size
            self.both[class_of(owner)] += size if is_same else 0
        verdict = "right" if top(got) == top(owner) else "unknown" if top(got) == "unknown" else "wrong"
        self.bytes[verdict] += size
        if verdict == "wrong" and block["provenance"] in CERTAIN:
            self.bytes["wrong, certain"] += size
        if not is_same:
            self._confuse(owner, block, truth)
        if block["provenance"] == "names" and top(owner) in NAMED and truth[2]:
            self.paths["right" if is_path(got, truth) else "wrong"] += size

    def _confuse(self, owner, block, truth):
        key = (owner, block["owner"])
        self.confusions[key] += block["size_bytes"]
        if key not in self.examples or self.examples[key][0]["size_bytes"] < block["size_bytes"]:
            self.examples[key] = (block, truth)

    def percent(self, word):
        return 100 * self.bytes[word] / (self.bytes["all"] or 1)


def is_path(got, truth):
    """weights/NAME, gradients/NAME, optimizer/NAME.KEY; NAME may begin with the variable that holds the model, and a
    KEY that holds a list go on with an index."""
    category, _, path = got.partition("/")
    if category == "optimizer":
        path = re.sub(r"(\.\d+)+$", "", path)
    return any(path == name or path.endswith(("." + name, "/" + name)) for name in truth[2])


class Case:
    """All moments of one recording."""

    def __init__(self, name, recorded, truth, blocks_at, nr_instants=0):
        """blocks_at(when, device) -> what `vtrace blocks --at WHEN --json` lists; nr_instants: further births."""
        self.name, self.peaks, self.stages = name, [], []
        truths, births = {}, {}
        for device in recorded.devices():
            births[device] = recorded.births(device)
            truths[device] = join(births[device], truth["devices"][device])
        def births_at(when, device):
            return [b for b in blocks_at(when, device) if b["kind"] in recorded.kinds and b["device"] == device]

        for device, joined in truths.items():
            self.peaks.append(Moment(f"peak cuda:{device}", births_at("peak", device), joined))
        for stage in dict.fromkeys(recorded.stages()):
            for device, joined in truths.items():
                self.stages.append(Moment(stage, births_at(f"mark:{stage}", device), joined))
        for device, joined in truths.items():
            for nr in range(1, nr_instants + 1):
                event = births[device][len(births[device]) * nr // (nr_instants + 1)][0]
                self.stages.append(Moment(f"event:{event}", births_at(f"event:{event}", device), joined))

    @property
    def moments(self):
        return self.peaks + self.stages

    def peak(self, word):
        """Percent of the bytes at the peaks; of several devices all together."""
        return 100 * sum(m.bytes[word] for m in self.peaks) / (sum(m.bytes["all"] for m in self.peaks) or 1)

    def worst(self, word):
        """Largest percentage over all moments."""
        return max((m.percent(word) for m in self.moments), default=0)

    def total(self, field):
        result = Counter()
        for moment in self.moments:
            result += getattr(moment, field)
        return result

    def confusions(self, is_top=True):
        """(truth, owner) -> bytes at the peaks, or else at the stages; only those that count as not right."""
        for moments in (self.peaks, self.stages):
            found = Counter()
            for moment in moments:
                found += Counter({k: v for k, v in moment.confusions.items() if not is_top or top(k[0]) != top(k[1])})
            if found:
                return found
        return Counter()

    def example(self, key):
        found = [m.examples[key] + (m.name,) for m in self.moments if key in m.examples]
        return max(found, key=lambda e: e[0]["size_bytes"])
