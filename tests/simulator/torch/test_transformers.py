# SPDX-License-Identifier: MIT
"""transformers models from a hand-made configuration: training in bf16, and generation that stops when it should."""
import pytest

FULL = pytest.mark.full


@pytest.mark.parametrize("kind", [pytest.param("llama", marks=FULL), "qwen2"])
def test_training_step(simulate, kind):
    assert "step 2 " in simulate("transformers_step.py", "--kind", kind).output


@FULL
def test_gradient_checkpointing(simulate):
    def peak(*arguments):
        return simulate("transformers_step.py", "--batch", "8", *arguments).number(r"step 2 .* peak (\d+) bytes")

    assert peak("--checkpointing") < peak()


@pytest.mark.parametrize("kind, new", [("llama", 24), pytest.param("qwen2", 24, marks=FULL),
                                       pytest.param("llama", 1, marks=FULL)])
def test_unmodified_generate_stops(simulate, kind, new):
    assert f"generated {new} tokens of {new}" in simulate("generate.py", "--kind", kind, "--new", str(new)).output


@FULL
def test_generate_batch(simulate):
    assert "generated 8 tokens of 8" in simulate("generate.py", "--batch", "3", "--new", "8").output


@FULL
def test_key_value_cache_grows_with_the_text(simulate):
    def peak(new):
        return simulate("generate.py", "--new", str(new)).number(r"peak (\d+) bytes")

    assert peak(64) > peak(4)


def test_sizes_of_every_step_are_known(simulate, tmp_path):
    """What a program may decide by while gradients are off: counting, comparing, masking small integers."""
    script = tmp_path / "decide.py"
    script.write_text(
        "import torch\n"
        "torch.zeros(1, device='cuda')\n"
        "with torch.no_grad():\n"
        "    ids = torch.tensor([[5, 0, 7, 0]], device='cuda')\n"
        "    mask = ids.ne(0)\n"
        "    print(mask.sum().item(), mask.cumsum(-1).tolist(), torch.arange(4, device='cuda').tolist())\n"
        "    print(ids.nonzero().tolist(), ids[mask].tolist(), torch.cat([ids, ids], 1).shape[1])\n"
        "    print(torch.ones(2, dtype=torch.long, device='cuda').mul_(3).tolist(), ids.max().item())\n"
        "    print(torch.rand(3, 9, device='cuda').argmax(-1).tolist())\n")
    assert simulate(script).output.splitlines() == [
        "2 [[1, 1, 2, 2]] [0, 1, 2, 3]",
        "[[0, 0], [0, 2]] [5, 7] 8",
        "[3, 3] 7",
        "[0, 0, 0]",
    ]


def test_control_values_can_be_switched_off(simulate, tmp_path):
    script = tmp_path / "count.py"
    script.write_text(
        "import torch\n"
        "torch.zeros(1, device='cuda')\n"
        "with torch.no_grad():\n"
        "    print(torch.arange(1, 5, device='cuda').sum().item())\n")
    assert simulate(script).output == "10\n"
    assert simulate(script, VTRACE_SIM_CONTROL_VALUES="0").output != "10\n"


def test_training_does_not_meet_control_values(simulate, tmp_path):
    """No frame of ours on the stack of a step, optimizer and checkpointing included."""
    script = tmp_path / "frames.py"
    script.write_text(
        "import sys, torch\n"
        "from torch.utils.checkpoint import checkpoint\n"
        "model = torch.nn.Linear(8, 8).to('cuda')\n"
        "optimizer = torch.optim.AdamW(model.parameters())\n"
        "seen = set()\n"
        "sys.setprofile(lambda frame, event, arg: seen.add(frame.f_code.co_name)\n"
        "               if frame.f_code.co_filename == '<vtrace-simulator>' else None)\n"
        "checkpoint(model, torch.ones(2, 8, device='cuda'), use_reentrant=True)\n"
        "model(torch.ones(2, 8, device='cuda')).sum().backward()\n"
        "optimizer.step()\n"
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
        "sys.setprofile(None)\n"
        "print('__torch_dispatch__' in seen)\n")
    assert simulate(script).output == "False\n"


def test_sizes_that_the_device_decides_collapse(simulate, tmp_path):
    """Where nothing can be known, data-dependent operators answer as for zeros, whatever the memory held before."""
    script = tmp_path / "collapse.py"
    script.write_text(
        "import torch\n"
        "for _ in range(3):\n"
        "    old = torch.full((64,), 2**60).to('cuda')\n"  # what a stale count would be read from
        "    del old\n"
        "    x, big = torch.randn(1000).to('cuda'), torch.randn(100, 64).to('cuda')\n"
        "    ids = torch.tensor([3, 3, 5, 9]).to('cuda')\n"
        "    print(len(x[x > 0]), len(x.nonzero()), tuple(big[big[:, 0] > 0].shape), len(ids.unique()),\n"
        "          len(ids.repeat_interleave(ids)), len(ids.bincount(minlength=4)))\n")
    run = simulate(script)
    assert run.output.splitlines() == ["0 0 (0, 64) 1 0 4"] * 3
    assert "Overriding" not in run.errors


def test_constants_of_a_program_that_compiles(simulate, tmp_path):
    """A serving engine writes how many tokens it sampled and reads it back to decide whether it is done."""
    script = tmp_path / "constants.py"
    script.write_text(
        "import torch\n"
        "torch.zeros(1, device='cuda')\n"
        "compiled = torch.compile(lambda x: x + 1, backend='eager')\n"
        "with torch.inference_mode():\n"
        "    compiled(torch.zeros(3, device='cuda'))\n"
        "    lengths = torch.empty(3, dtype=torch.int32, device='cuda')\n"
        "    print(lengths.new_ones(3).tolist(), torch.full((2, 2), 7, device='cuda').tolist())\n"
        "    print(torch.ones(2, device='cuda').shape)\n")
    assert simulate(script).output.splitlines() == ["[1, 1, 1] [[7, 7], [7, 7]]", "torch.Size([2])"]
