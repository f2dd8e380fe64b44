# SPDX-License-Identifier: MIT
"""Edits of a program's source, each as somebody would make it, and what each must and must not change.

An edit takes a version, a random generator and the ids of the lines that had memory (`hot`), and returns the versions
before and after. Its kind: "same" bytes at the same places; "moved", the same bytes at places of other names; "bytes".
"""
import ast
import re

from versions import SIMPLE, Impossible, Line, fresh

EDITS = {}


def edit(kind):
    def note(function):
        EDITS[function.__name__] = (kind, function)
        return function
    return note


def choose(rng, candidates):
    candidates = list(candidates)
    if not candidates:
        raise Impossible
    return rng.choice(candidates)


def is_hot(version, node, hot):
    return any(line.id in hot for line in version.lines()[node.lineno - 1:node.end_lineno])


def first_line(node):
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])


def functions(version, hot):
    return [n for n in ast.walk(version.tree()) if isinstance(n, ast.FunctionDef) and is_hot(version, n, hot)]


def bodies(tree):
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            if isinstance(getattr(node, name, None), list):
                yield node, getattr(node, name)


def statements(version, hot, kinds=SIMPLE):
    """Hot simple statements, each with the node that it stands in."""
    for node, body in bodies(version.tree()):
        for statement in body:
            if isinstance(statement, kinds) and not isinstance(node, ast.ClassDef) and is_hot(version, statement, hot):
                yield node, statement


def rename(version, tree, old, new, nodes):
    """`nodes` says where the name stands: pairs of line and column."""
    lines = version.lines()
    for row, column in sorted(set(nodes), reverse=True):
        text = lines[row - 1].text
        assert text[column:column + len(old)] == old, (text, column, old)
        lines[row - 1] = Line(text[:column] + new + text[column + len(old):], lines[row - 1].id)
    return version.with_lines(lines)


def defined_at(version, node):
    return node.lineno, version.lines()[node.lineno - 1].text.index(node.name)


def names(tree, name):
    return [(n.lineno, n.col_offset) for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]


def loaded(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def stored(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def indented(lines, by="    "):
    return [Line(by + line.text if line.text else "", line.id) for line in lines]


def span(version, node):
    return version.lines()[first_line(node) - 1:node.end_lineno]


def training(version):
    """The body that has the loop of the steps, and the index of that loop in it."""
    tree = version.tree()
    for body in [n.body for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "main"] + [tree.body]:
        for i, statement in enumerate(body):
            if isinstance(statement, ast.For) and ".backward()" in ast.unparse(statement):
                return body, i
    raise Impossible


def before_loop(version, rng, *texts):
    """The version with these lines somewhere in front of the loop of the steps."""
    body, loop = training(version)
    ready = [i for i in range(loop + 1) if body[i].lineno > 1 and not isinstance(body[i], (ast.Import, ast.ImportFrom))
             and not any(isinstance(s, (ast.ClassDef, ast.FunctionDef, ast.ImportFrom)) for s in body[i:loop])]
    at = body[choose(rng, ready)]
    indent = version.lines()[at.lineno - 1].indent
    return version.insert(at.lineno, fresh(*(indent + text for text in texts)))


def kept(rng, name, taken=()):
    size = choose(rng, (n for n in range(300, 3000) if n not in taken))
    return size, f"{name} = torch.zeros({size}, 1024, device=\"cuda\")"


# Edits of the text alone.

@edit("same")
def comment_in_function(version, rng, hot):
    statement = choose(rng, (s for f in functions(version, hot) for s in f.body))
    indent = version.lines()[first_line(statement) - 1].indent
    lines = [f"{indent}# What follows was measured." for _ in range(rng.randint(1, 12))]
    return version, version.insert(first_line(statement), fresh(*lines))


@edit("same")
def lines_on_top(version, rng, hot):
    at = choose(rng, (n for n in version.tree().body if isinstance(n, (ast.ClassDef, ast.FunctionDef, ast.For))))
    return version, version.insert(first_line(at), fresh("import math  # noqa", *[""] * rng.randint(1, 30)))


@edit("same")
def docstring(version, rng, hot):
    function = choose(rng, functions(version, hot))
    indent = version.lines()[function.body[0].lineno - 1].indent
    return version, version.insert(function.body[0].lineno, fresh(f'{indent}"""What it does.', "", f'{indent}"""'))


@edit("same")
def statement_over_two_lines(version, rng, hot):
    def calls(statement):
        return [n for n in ast.walk(statement) if isinstance(n, ast.Call) and (n.args or n.keywords)
                and version.lines()[n.lineno - 1].text[n.func.end_col_offset:][:1] == "("]
    _, statement = choose(rng, ((n, s) for n, s in statements(version, hot) if s.lineno == s.end_lineno and calls(s)))
    line = version.lines()[statement.lineno - 1]
    at = choose(rng, calls(statement)).func.end_col_offset + 1
    return version, version.replaced(statement.lineno, statement.lineno, [
        Line(line.text[:at], line.id), Line(line.indent + "        " + line.text[at:], line.id)])


@edit("same")
def functions_swapped(version, rng, hot):
    def pairs():
        for _, body in bodies(version.tree()):
            for a, b in zip(body, body[1:]):
                if isinstance(a, ast.FunctionDef) and isinstance(b, ast.FunctionDef) and (
                        is_hot(version, a, hot) or is_hot(version, b, hot)):
                    yield a, b
    a, b = choose(rng, pairs())
    between = version.lines()[a.end_lineno:first_line(b) - 1]
    return version, version.replaced(first_line(a), b.end_lineno, span(version, b) + between + span(version, a))


@edit("same")
def variable_renamed(version, rng, hot):
    def locals_():
        for function in functions(version, hot):
            outer = {n for f in ast.walk(function) if isinstance(f, (ast.Global, ast.Nonlocal)) for n in f.names}
            for name in sorted(stored(function) - outer):
                yield function, name
    function, name = choose(rng, locals_())
    arguments = [(a.lineno, a.col_offset) for a in ast.walk(function) if isinstance(a, ast.arg) and a.arg == name]
    return version, rename(version, function, name, name + "_of_it", names(function, name) + arguments)


@edit("same")
def file_renamed(version, rng, hot):
    files = {("fit.py" if name == version.main else name): lines for name, lines in version.files.items()}
    return version, type(version)(files, "fit.py")


def wrapped(version, rng, hot, *headers, footer=()):
    _, statement = choose(rng, ((n, s) for n, s in statements(version, hot) if not isinstance(s, ast.ImportFrom)))
    indent = version.lines()[statement.lineno - 1].indent
    return version, version.replaced(statement.lineno, statement.end_lineno, [
        *fresh(*(indent + header for header in headers)), *indented(span(version, statement)),
        *fresh(*(indent + line for line in footer))])


@edit("same")
def wrapped_in_if(version, rng, hot):
    return wrapped(version, rng, hot, "if torch is not None:")


@edit("same")
def wrapped_in_with(version, rng, hot):
    return wrapped(version, rng, hot, "with __import__('contextlib').nullcontext():")


@edit("same")
def wrapped_in_try(version, rng, hot):
    return wrapped(version, rng, hot, "try:", footer=("finally:", "    pass"))


@edit("same")
def wrapped_in_loop(version, rng, hot):
    return wrapped(version, rng, hot, "# Once, for now.", "for only_once in range(1):")


@edit("same")
def decorated(version, rng, hot):
    function = choose(rng, (f for f in functions(version, hot) if not f.decorator_list))
    top = next(n for n in version.tree().body if n.lineno <= function.lineno <= n.end_lineno)
    indent = version.lines()[function.lineno - 1].indent
    after = version.insert(function.lineno, fresh(indent + "@noted"))
    call = fresh("        return function(*arguments, **keywords)", transparent=True)
    return version, after.insert(first_line(top), [
        *fresh("def noted(function):", "    def inner(*arguments, **keywords):"), *call,
        *fresh("    return inner", "", "")])


@edit("same")
def statements_swapped(version, rng, hot):
    sizes = []
    lines = []
    for name in ("first_kept", "second_kept", "third_kept"):
        size, text = kept(rng, name, sizes)
        sizes.append(size)
        lines.append(text)
    base = before_loop(version, rng, *lines)
    rows = [i for i, line in enumerate(base.lines()) if "_kept = " in line.text]
    i, k = rng.sample(rows, 2)
    mine = base.lines()
    mine[i], mine[k] = mine[k], mine[i]
    return base, base.with_lines(mine)


@edit("same")
def call_split(version, rng, hot):
    """An inner call gets a statement of its own in front; its result is not kept any longer than before."""
    def inner():
        for _, s in statements(version, hot, (ast.Assign, ast.Return)):
            value = s.value
            while isinstance(value, ast.Call) and value.args and s.lineno == s.end_lineno:
                value = value.args[0]
                if isinstance(value, ast.Call) and not any(isinstance(n, (ast.GeneratorExp, ast.Starred, ast.Lambda))
                                                           for n in ast.walk(value)):
                    yield s, value
    statement, value = choose(rng, inner())
    line = version.lines()[statement.lineno - 1]
    held = Line(f"{line.indent}held = [{line.text[value.col_offset:value.end_col_offset]}]", line.id)
    rest = Line(line.text[:value.col_offset] + "held.pop()" + line.text[value.end_col_offset:], line.id)
    return version, version.replaced(statement.lineno, statement.lineno, [held, rest])


# Names and places that change, without bytes.

@edit("moved")
def function_renamed(version, rng, hot):
    tree = version.tree()
    function = choose(rng, (n for n in tree.body if isinstance(n, ast.FunctionDef) and is_hot(version, n, hot)))
    return version, rename(version, tree, function.name, function.name + "_whole",
                           [defined_at(version, function), *names(tree, function.name)])


@edit("moved")
def method_renamed(version, rng, hot):
    tree = version.tree()
    method = choose(rng, (f for c in tree.body if isinstance(c, ast.ClassDef) for f in c.body
                          if isinstance(f, ast.FunctionDef) and is_hot(version, f, hot)
                          and f.name not in ("forward", "__init__")))
    uses = [(n.end_lineno, n.end_col_offset - len(method.name)) for n in ast.walk(tree)
            if isinstance(n, ast.Attribute) and n.attr == method.name]
    return version, rename(version, tree, method.name, method.name + "_in", [defined_at(version, method), *uses])


@edit("moved")
def class_renamed(version, rng, hot):
    tree = version.tree()
    found = choose(rng, (n for n in tree.body if isinstance(n, ast.ClassDef) and is_hot(version, n, hot)))
    return version, rename(version, tree, found.name, found.name + "V2",
                           [defined_at(version, found), *names(tree, found.name)])


@edit("moved")
def moved_to_another_file(version, rng, hot):
    body = version.tree().body
    definitions = {n.name: n for n in body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    globals_ = set().union(*(stored(n) for n in body if isinstance(n, (ast.For, ast.With))), *(
        stored(n) for n in body if isinstance(n, ast.Assign) and not all(t.isupper() for t in stored(n))))
    wanted = {choose(rng, (n for n in definitions if is_hot(version, definitions[n], hot) and n != "main"))}
    while more := {name for n in wanted for name in loaded(definitions[n]) if name in definitions} - wanted:
        wanted |= more
    if any(loaded(definitions[n]) & globals_ for n in wanted):
        raise Impossible
    copied = [n for n in body if isinstance(n, (ast.Import, ast.ImportFrom)) or (
        isinstance(n, (ast.Assign, ast.AugAssign)) and all(t.isupper() for t in stored(n) - {"key", "value", "word"}))]
    other, mine = [], version.lines()
    for node in copied:
        other += fresh(*(line.text for line in span(version, node)))
    for name in sorted(wanted, key=lambda n: -definitions[n].lineno):
        node = definitions[name]
        mine[first_line(node) - 1:node.end_lineno] = fresh(f"from parts import {name}")
    for name in sorted(wanted, key=lambda n: definitions[n].lineno):
        other += fresh("", "") + span(version, definitions[name])
    return version, version.with_lines(mine).with_lines(other, "parts.py")


@edit("moved")
def method_moved_to_base_class(version, rng, hot):
    tree = version.tree()
    owner, method = choose(rng, ((c, f) for c in tree.body if isinstance(c, ast.ClassDef) for f in c.body
                                 if isinstance(f, ast.FunctionDef) and is_hot(version, f, hot)
                                 and f.name != "__init__" and len(c.body) > 1))
    mine = version.lines()
    header = mine[owner.lineno - 1]
    base = [*fresh(f"class {owner.name}Base(nn.Module):"), *span(version, method), *fresh("", "")]
    del mine[first_line(method) - 1:method.end_lineno]
    mine[owner.lineno - 1] = Line(header.text.replace("(nn.Module)", f"({owner.name}Base)"), header.id)
    return version, version.with_lines(mine[:owner.lineno - 1] + base + mine[owner.lineno - 1:])


@edit("moved")
def put_into_main(version, rng, hot):
    body = version.tree().body
    last = max(i for i, n in enumerate(body) if isinstance(n, (ast.ClassDef, ast.FunctionDef, ast.ImportFrom)))
    rest = [n for n in body[last + 1:] if not (isinstance(n, ast.Assign) and all(t.isupper() for t in stored(n)))]
    if not rest or not any(isinstance(n, ast.For) for n in rest):
        raise Impossible
    lines = version.lines()
    start = rest[0].lineno
    inside = indented(lines[start - 1:])
    return version, version.with_lines([*lines[:start - 1], *fresh("def main():"), *inside,
                                        *fresh("", ""), *fresh("main()", transparent=True)])


@edit("moved")
def put_into_a_function(version, rng, hot):
    """A statement's value is computed by a new function: a place by another name, called from where it was."""
    def candidates():
        for function in functions(version, hot):
            for statement in ast.walk(function):
                if isinstance(statement, (ast.Assign, ast.Return)) and isinstance(statement.value, ast.Call) \
                        and is_hot(version, statement, hot) and "super()" not in ast.unparse(statement) \
                        and not any(isinstance(n, (ast.GeneratorExp, ast.ListComp, ast.Lambda, ast.NamedExpr))
                                    for n in ast.walk(statement)):
                    yield function, statement
    function, statement = choose(rng, candidates())
    arguments = {a.arg for a in function.args.args}
    used = ", ".join(sorted(loaded(statement.value) & (stored(function) | arguments)))
    lines = span(version, statement)
    start = lines[0].text[:statement.value.col_offset]
    body = [Line("    return " + lines[0].text[statement.value.col_offset:], lines[0].id), *lines[1:]]
    call = fresh(f"{start}computed({used})", transparent=True)
    after = version.replaced(statement.lineno, statement.end_lineno, call)
    top = next(n for n in version.tree().body if n.lineno <= function.lineno <= n.end_lineno)
    return version, after.insert(first_line(top), [*fresh(f"def computed({used}):"), *body, *fresh("", "")])


# Edits that change bytes.

@edit("bytes")
def kept_tensor_inserted(version, rng, hot):
    return version, before_loop(version, rng, kept(rng, "kept_tensor")[1])


@edit("bytes")
def kept_tensor_inserted_between(version, rng, hot):
    (a, first), (b, second) = kept(rng, "first_kept"), kept(rng, "second_kept")
    base = before_loop(version, rng, first, second)
    row = next(i for i, line in enumerate(base.lines(), 1) if line.text.endswith(second))
    indent = base.lines()[row - 1].indent
    return base, base.insert(row, fresh(indent + kept(rng, "between", (a, b))[1]))


@edit("bytes")
def kept_tensor_replaced(version, rng, hot):
    """The same statement keeps more."""
    size, text = kept(rng, "kept_tensor")
    base = before_loop(version, rng, text)
    return base, base.with_lines(Line(line.text.replace(f"zeros({size},", f"zeros({size + rng.randint(20, 900)},"),
                                      line.id) for line in base.lines())


@edit("bytes")
def kept_tensors_swapped_and_grown(version, rng, hot):
    base, swapped = statements_swapped(version, rng, hot)
    text = choose(rng, (line.text for line in base.lines() if "_kept = " in line.text))
    grown = re.sub(r"zeros\((\d+)", lambda m: f"zeros({int(m[1]) + 4000}", text)
    return base, swapped.with_lines(Line(grown, line.id) if line.text == text else line for line in swapped.lines())


@edit("bytes")
def operator_inserted_in_forward(version, rng, hot):
    function = choose(rng, (f for f in functions(version, hot) if f.name == "forward" and len(f.args.args) > 1))
    x = function.args.args[1].arg
    indent = version.lines()[function.body[0].lineno - 1].indent
    return version, version.insert(function.body[0].lineno, fresh(
        f"{indent}{x} = torch.sin({x}) if {x}.is_floating_point() else {x}"))


@edit("bytes")
def result_kept_in_forward(version, rng, hot):
    """A line that allocates in front of one that does, in a function that many blocks go through."""
    function, statement = choose(rng, ((f, s) for f in functions(version, hot) if f.name == "forward"
                                       for s in f.body if isinstance(s, SIMPLE)))
    indent = version.lines()[statement.lineno - 1].indent
    return version, version.insert(statement.lineno, fresh(
        f"{indent}self.noted = torch.ones({rng.randint(200, 900)}, 256, device=\"cuda\")"))


@edit("bytes")
def leak(version, rng, hot):
    body, loop = training(version)
    indent = version.lines()[body[loop].lineno - 1].indent
    inner = version.lines()[body[loop].body[0].lineno - 1].indent
    after = version.insert(body[loop].body[0].lineno, fresh(
        f"{inner}leaked.append(torch.ones({rng.randint(100, 900)}, 1024, device=\"cuda\"))"))
    return version, after.insert(body[loop].lineno, fresh(f"{indent}leaked = []"))


@edit("bytes")
def without_del(version, rng, hot):
    node = choose(rng, (n for n in ast.walk(version.tree()) if isinstance(n, ast.Delete)))
    return version, version.replaced(node.lineno, node.end_lineno, [])


@edit("bytes")
def gradients_kept(version, rng, hot):
    line = choose(rng, (i for i, x in enumerate(version.lines(), 1) if x.text.strip() == "optimizer.zero_grad()"))
    mine = version.lines()[line - 1]
    other = Line(mine.indent + "optimizer.zero_grad(set_to_none=False)", mine.id)
    return version, version.replaced(line, line, [other])


@edit("bytes")
def loss_without_graph(version, rng, hot):
    """A line more at the end of a step: a second pass, without a graph."""
    line, text = choose(rng, ((i, x) for i, x in enumerate(version.lines(), 1)
                              if re.match(r"\s*optimizer\.step\(\)$", x.text)))
    return version, version.insert(line + 1, fresh(
        f"{text.indent}spread = torch.cat([p.detach().flatten().float() for g in optimizer.param_groups "
        "for p in g[\"params\"]])"))


def substitution(kind):
    """An edit of a line by the program's own table (programs.py)."""
    def apply(version, rng, hot):
        import programs
        found = [(old, new) for table in programs.PROGRAMS.values() for old, new in table.get(kind, ())
                 if sum(old in line.text for line in version.lines()) == 1]
        old, new = choose(rng, found)
        return version, version.with_lines(Line(x.text.replace(old, new), x.id) for x in version.lines())
    apply.__name__ = kind
    return edit("bytes")(apply)


for name in ("batch", "width", "depth", "dtype", "optimizer", "checkpointing", "settings"):
    substitution(name)


def both(first, second):
    """One edit behind another."""
    def apply(version, rng, hot):
        base, after = EDITS[first][1](version, rng, hot)
        if base is not version:
            raise Impossible
        unchanged, last = EDITS[second][1](after, rng, hot)
        if unchanged is not after:
            raise Impossible
        return version, last
    return apply
