# SPDX-License-Identifier: MIT
"""vtrace estimate --against: a plan beside a recorded run, and what a difference belongs to."""
import json

import pytest

from combinations import GPU
from recording import BUILD, PYTHON, WORKLOADS, record, record_python, vtrace

CONFIG = {"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
          "num_key_value_heads": 4, "intermediate_size": 1408, "vocab_size": 32000}
SIZES = ("--batch", "8", "--seq", "512")
MIB = 2**20


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory, config):
    return record_python(tmp_path_factory.mktemp("trained"), "planned_run.py", config, "--train", *SIZES,
                         profile=GPU).database


def estimate(config, database, *options):
    return vtrace("estimate", config, "--gpu", GPU, "--against", database, *options)


def against(config, database, *options):
    done = estimate(config, database, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["against"]


def rows(found, stage):
    return {row["owner"]: row for s in found["stages"] if s["name"] == stage for row in s["owners"]}


def test_a_plan_that_meets_has_nothing_to_explain(config, trained):
    found = against(config, trained, "--train", *SIZES)
    assert [stage["name"] for stage in found["stages"]] == ["load", "forward", "backward", "optimizer"]
    assert abs(found["difference_bytes"]) < 0.02 * found["measured_bytes"]
    assert found["nearest"] == [] and found["notes"] == []
    for stage in found["stages"]:
        assert {row["reason"] for row in stage["owners"]} == {"met"}, stage
        assert sum(row["measured_bytes"] for row in stage["owners"]) == stage["measured_bytes"]
        assert sum(row["planned_bytes"] for row in stage["owners"]) == pytest.approx(stage["planned_bytes"], abs=16)
        assert stage["difference_bytes"] == stage["planned_bytes"] - stage["measured_bytes"]
    assert all(row["term"] for row in rows(found, "backward").values() if row["planned_bytes"] > MIB)


@pytest.mark.parametrize("option", ("--loss copied", "--keep-logits yes", "--batch 4", "--seq 1024",
                                    "--attention eager", "--optimizer momentum", "--accumulate 2"))
def test_a_wrong_setting_is_named(config, trained, option):
    """The plan with one wrong setting is led back to the right one, and to no other."""
    name, value = option.split()
    sizes = [word for i, word in enumerate(SIZES) if name not in SIZES[i - i % 2:i - i % 2 + 1]]
    right = dict(zip(SIZES[::2], SIZES[1::2])) | {
        "--loss": "upcast", "--keep-logits": "no", "--attention": "sdpa", "--optimizer": "adamw", "--accumulate": "1"}
    found = against(config, trained, "--train", *sizes, name, value)
    assert found["nearest"] == [{"option": name[2:], "value": right[name]}]
    assert abs(found["nearest_bytes"] - found["measured_bytes"]) < 0.02 * found["measured_bytes"]
    reasons = {row["reason"] for stage in found["stages"] for row in stage["owners"]}
    assert reasons == {"met", "setting"}
    assert (found["notes"] != []) == (name in SIZES)


def test_an_option_explains_one_owner(config, tmp_path):
    """A run that keeps its logits beside a plan of a third of the layers, whose differences are larger."""
    kept = record_python(tmp_path, "planned_run.py", config, "--train", *SIZES, "--keep-logits",
                         profile=GPU).database
    alone = against(config, kept, "--train", *SIZES)
    assert alone["nearest"] == [{"option": "keep-logits", "value": "yes"}]
    other = tmp_path / "config.json"
    other.write_text(json.dumps(CONFIG | {"num_hidden_layers": 2}))
    found = against(other, kept, "--train", *SIZES)
    assert found["nearest"] == []
    row = rows(found, "backward")["logits"]
    assert row["reason"] == "option" and row["option"] == {"option": "keep-logits", "value": "yes"}
    assert row["explained"] == "as with --keep-logits yes"
    assert "as with --keep-logits yes" in estimate(other, kept, "--train", *SIZES).stdout
    assert rows(found, "backward")["activations/mlp"]["reason"] == "term"


def test_what_no_setting_explains_belongs_to_a_term(config, trained, tmp_path):
    other = tmp_path / "config.json"
    other.write_text(json.dumps(CONFIG | {"intermediate_size": 2816}))
    found = against(other, trained, "--train", *SIZES)
    row = rows(found, "backward")["activations/mlp"]
    assert row["reason"] == "term" and row["term"] == "Ldense*T*(4*i*e)"
    share = row["measured_bytes"] / row["planned_bytes"]
    assert 0.49 < share < 0.53
    said = f"{share:.2f} of the planned bytes, mostly Ldense*T*(4*i*e)"
    assert row["explained"].startswith(said)
    assert said in estimate(other, trained, "--train", *SIZES).stdout


def test_the_card_is_the_recorded_one_where_none_is_asked_for(config, trained):
    """Its multiprocessors and workspaces are in the plan."""
    command = ("estimate", config, "--against", trained, "--json", "--train", *SIZES)
    cards = (("--gpu", GPU), ("--gpu", "t4-16g"), ())
    asked, other, none = (json.loads(vtrace(*command, *card).stdout) for card in cards)
    assert none == asked != other


def test_the_text_has_the_same_figures(config, trained):
    found = against(config, trained, "--train", *SIZES)
    lines = [line.split() for line in estimate(config, trained, "--train", *SIZES).stdout.splitlines()]
    for name, part in (("peak", found), *((stage["name"], stage) for stage in found["stages"])):
        shown = [f"{part[key] / 2**30:.3f}" for key in ("planned_bytes", "measured_bytes")]
        assert [name, *shown] in [line[:3] for line in lines]


def refused(done, *words):
    assert done.returncode == 3, (done.returncode, done.stdout)
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and done.stdout == "", done.stderr
    for word in words:
        assert word in lines[0], lines[0]
    return True


def test_another_type_is_refused(config, trained):
    assert refused(estimate(config, trained, "--train", *SIZES, "--dtype", "fp32"), "bfloat16", "--dtype bf16")


def test_a_plan_of_the_other_mode_is_refused(config, trained, tmp_path):
    assert refused(estimate(config, trained, *SIZES), "it is a training run: use --train")
    forward = record_python(tmp_path, "planned_run.py", config, *SIZES, profile=GPU).database
    assert refused(estimate(config, forward, "--train", *SIZES), "no complete training step")
    found = against(config, forward, *SIZES)
    assert abs(found["difference_bytes"]) < 0.03 * found["measured_bytes"]


def test_a_run_of_the_driver_alone_is_refused(config, tmp_path):
    done = record(tmp_path, BUILD / "tests" / "workloads" / "driver_client", "2")
    assert refused(estimate(config, done.database, "--train"), "no blocks of a framework")


def test_a_killed_run_is_compared_as_far_as_it_went(config, tmp_path):
    """After its first step: the optimizer's states, which the plan has all along, come at its end."""
    text = (f"import os, runpy, sys; sys.argv = ['x', {str(config)!r}, '--train', '--steps', '1', "
            f"*{list(SIZES)!r}]; runpy.run_path({str(WORKLOADS / 'planned_run.py')!r}, run_name='__main__'); "
            "os.kill(os.getpid(), 9)")
    database = record(tmp_path, PYTHON, "-c", text, profile=GPU).database
    found = against(config, database, "--train", *SIZES)
    assert found["steps"] == 1 and found["ended"] == "signal 9"
    assert any("one training step" in note for note in found["notes"])
    assert any("signal 9" in note for note in found["notes"])
    assert rows(found, "backward")["optimizer"]["measured_bytes"] == 0
    assert rows(found, "optimizer")["optimizer"]["reason"] == "met"


def test_overhead_of_a_recorded_run(config, trained, tmp_path):
    """What the machine took there, instead of a band; what the user says counts more."""
    def plan(*more):
        done = vtrace("estimate", config, "--json", "--train", *SIZES, "--overhead", trained, *more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def owners(*more):
        return {o["owner"]: o for o in plan("--data-parallel", "2", *more)["peak"]["owners"]}

    context = owners()["context"]
    assert context["low_bytes"] == context["bytes"] == context["high_bytes"] == 512 * MIB
    assert owners()["workspace/cublas"]["bytes"] == 64 * MIB and "communication" not in owners()
    assert owners("--context", "1GiB")["context"]["bytes"] == 1024 * MIB
    assert owners("--communication", "300MiB")["communication"]["bytes"] == 300 * MIB
    assert refused(vtrace("estimate", config, "--overhead", tmp_path / "absent.db"), "absent.db")
    driver = record(tmp_path, BUILD / "tests" / "workloads" / "driver_client", "2").database
    assert refused(vtrace("estimate", config, "--overhead", driver), "no blocks of a framework")


@pytest.mark.parametrize("more", (("--what-if", "batch=1,2"), ("--params", "7B")))
def test_it_is_one_plan_of_one_model(trained, config, more):
    done = vtrace("estimate", *(() if "--params" in more else (config,)), "--against", trained, *more)
    assert done.returncode == 2 and "--against needs a MODEL" in done.stderr


def test_what_is_no_recording(config, tmp_path):
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"SQLite format 3\0" + bytes(100))
    assert refused(estimate(config, junk, "--train"), str(junk))
    assert refused(estimate(config, tmp_path / "absent.db", "--train"), "absent.db")
