# SPDX-License-Identifier: MIT
"""From brackets and sightings to one owner per birth."""
from roles import KINDS, owner

# A storage seen as several things is the first of these: producers before keepers, what is named before what is held.
# A cache may be a module's buffer; a sparse gradient has its indices from the batch.
ORDER = ("weights", "kv cache", "buffers", "optimizer", "inputs", "gradients", "logits", "communication", "graph pools",
         "user", "activation gradients", "activations")
OVER_CAPTURE = ORDER[:6]
SLACK = 512  # the allocator rounds up to this


def label_births(observer):
    ledger = observer.ledger
    result = []
    for device in ledger.devices:
        stacks = replay(observer.log, device, len(ledger.births[device]))
        sightings = seen_births(observer, device)
        result.append([label(ordinal, birth, stacks[ordinal], sightings.get(ordinal, {}))
                       for ordinal, birth in enumerate(ledger.births[device])])
    return {"devices": result}


def seen_births(observer, device):
    """{ordinal: {owner: names}}"""
    found = {}
    for owner_, name, now, on, address in observer.seen:
        if on == device:
            ordinal = observer.ledger.find(device, address, now)
            if ordinal is not None:
                names = found.setdefault(ordinal, {}).setdefault(owner_, set())
                if name:
                    names.add(name)
    return found


def replay(log, device, nr_births):
    """The stack of brackets around each birth, outermost first."""
    stacks, stack, born = [], [], 0
    for op, token, clock in log:
        stacks.extend([tuple(stack)] * (clock[device] - born))
        born = max(born, clock[device])
        if op == "+":
            stack.append(token)
        elif op == "-":
            token["end"] = clock[device]
            if token["what"] == "backward":
                end_nodes(stack, clock[device])
            stack = [t for t in stack if t is not token]
        else:
            end_nodes(stack, clock[device])
            stack.append(token)
    stacks.extend([()] * (nr_births - len(stacks)))
    return stacks


def end_nodes(stack, now):
    """A node ends where the next one of its pass begins, and with it what was left open inside it."""
    while any(t["what"] == "backward" for t in stack) and stack[-1]["what"] != "backward":
        stack.pop()["end"] = now


def label(ordinal, birth, stack, sightings):
    """[requested bytes, owner or None, names, where]"""
    if birth.is_library:
        return [birth.requested, "workspace/cublas", [], "library"]
    where = describe(stack)
    named = next((o for o in ORDER if o in sightings), None)
    made = from_stack(ordinal, birth, stack)
    if any(t["what"] == "capture" for t in stack) and named not in OVER_CAPTURE:
        return [birth.requested, "graph pools", [], where]
    if named == "activations" and made and made.startswith("activations"):
        return [birth.requested, made, [], where]
    if named:
        return [birth.requested, named, sorted(sightings[named]), where]
    return [birth.requested, made, [], where]


def describe(stack):
    words = [t.get("path") or t.get("type") or t.get("name") or t["what"] for t in stack if t["what"] != "call"]
    return " < ".join(reversed(words[-3:]))


def died_within(birth, token):
    return 0 <= birth.death <= token.get("end", -1)


def is_cast(birth, token):
    return any(0 <= birth.requested - size < SLACK for size in token["casts"])


def from_stack(ordinal, birth, stack):
    is_differentiable = False
    for token in reversed(stack):
        what = token["what"]
        if what == "call":
            if token["of_logits"]:
                return "logits"
            if is_cast(birth, token):
                return "weights/cast"
            if token["is_builtin"] and died_within(birth, token):
                return "workspace/other"
            is_differentiable = is_differentiable or token["has_grad"]
        elif what == "function":
            return owner(token["role"])
        elif what == "module":
            return of_module(birth, stack)
        elif what == "node":
            return of_node(birth, token)
        elif what == "backward":
            return "activation gradients"
        elif what == "step":
            if is_differentiable:  # a closure that evaluates the model
                break
            return "workspace/optimizer" if died_within(birth, token) else "optimizer"
        elif what == "load":
            return "weights"
    return "activations/other" if is_differentiable else None


def of_node(birth, token):
    if token["of_logits"]:
        return "logits"
    if died_within(birth, token):
        return "workspace/other"
    return "activation gradients"


def of_module(birth, stack):
    chain = []  # innermost first, up to where the modules end
    for token in reversed(stack):
        if token["what"] == "module":
            chain.append(token)
        elif token["what"] == "function":
            return owner(chain[0]["role"]) if chain and chain[0]["role"] == "norm" else owner(token["role"])
        elif token["what"] != "call":
            break
    if is_cast(birth, chain[0]):
        return "weights/cast"
    if chain[0]["role"] == "norm":
        return "activations/norm"
    final = next((t["role"] for t in chain if t["is_final"] and t["role"] != "norm"), None)
    role = final or next((t["role"] for t in chain if t["role"] and t["role"] != "norm"), None)
    if role is None or role not in KINDS:
        return owner(role) if role else "activations/other"
    return owner(role)
