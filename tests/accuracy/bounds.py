# SPDX-License-Identifier: MIT
"""What attribution must reach, in one place: the figures, computed over all cases, and their bounds.

Percent of bytes, except where the name says otherwise.
"""
from collections import Counter
from statistics import mean

from score import CLASSES

AT_LEAST, AT_MOST = "at least", "at most"
# name: (relation, bound)
BOUNDS = {
    "right at the peak, worst case": (AT_LEAST, 97.0),
    "right at the peak, mean": (AT_LEAST, 99.0),
    "wrong by names, autograd or scope, worst moment": (AT_MOST, 0.5),
    "unknown at the peak, mean": (AT_MOST, 1.0),
    "right at the peak without the probe, mean": (AT_LEAST, 95.0),
    "books, largest difference at any event in bytes": (AT_MOST, 0),
    "module path right where known by names": (AT_LEAST, 100.0),
    "truth known at the peak, worst case": (AT_LEAST, 97.0),
    **{f"{name}, {figure}": (AT_LEAST, 95.0) for name in CLASSES for figure in ("recall", "precision")},
}


def figures(with_probe, without_probe, differences):
    """[(name, value or None where nothing was measured, relation, bound)]"""
    values = dict.fromkeys(BOUNDS)
    if with_probe:
        values |= of_all(with_probe)
    if without_probe:
        values["right at the peak without the probe, mean"] = mean(c.peak("right") for c in without_probe)
    values["books, largest difference at any event in bytes"] = max(differences, default=None)
    return rows(values)


def figures_of_one(case, difference):
    """What a single case can be held against."""
    values = of_all([case]) | {"books, largest difference at any event in bytes": difference}
    return rows({name: value for name, value in values.items() if value is not None and name not in OF_MANY})


# One case has not every class, and little of some: these say something of many cases only.
OF_MANY = [f"{name}, {figure}" for name in CLASSES for figure in ("recall", "precision")]


def rows(values):
    return [(name, value, *BOUNDS[name]) for name, value in values.items()]


def of_all(cases):
    values = {"right at the peak, worst case": min(c.peak("right") for c in cases),
              "right at the peak, mean": mean(c.peak("right") for c in cases),
              "wrong by names, autograd or scope, worst moment": max(c.worst("wrong, certain") for c in cases),
              "unknown at the peak, mean": mean(c.peak("unknown") for c in cases),
              "module path right where known by names": right_paths(cases),
              "truth known at the peak, worst case": 100 - max(c.peak("without truth") for c in cases)}
    recall, precision = share(cases, "truth"), share(cases, "got")
    for name in CLASSES:
        values |= {f"{name}, recall": recall[name], f"{name}, precision": precision[name]}
    return values


def right_paths(cases):
    paths = Counter()
    for case in cases:
        paths += case.total("paths")
    return 100 * paths["right"] / sum(paths.values()) if paths else None


def share(cases, of):
    """Percent of the bytes of `of` that truth and vtrace agree on, per class, over all moments of all cases."""
    totals, agreed = Counter(), Counter()
    for case in cases:
        totals += case.total(of)
        agreed += case.total("both")
    return {name: 100 * agreed[name] / totals[name] if totals[name] else None for name in CLASSES}


def is_met(value, relation, bound):
    return value is not None and (value >= bound if relation == AT_LEAST else value <= bound)
