# SPDX-License-Identifier: MIT
"""Memory snapshots as PyTorch writes them, made by hand."""

SEGMENT = 0x7F0000000000
MIB = 1 << 20


def frame(line, name="main", filename="train.py"):
    return {"filename": filename, "line": line, "name": name}


def entry(action, address, size, time_us=0, frames=(), **more):
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us, "frames": list(frames),
            **more}


def block(address, size, state="active_allocated", requested=None, frames=()):
    return {"address": address, "size": size, "requested_size": requested or size, "state": state,
            "frames": list(frames)}


def segment(address, blocks, device=0, kind="large", **more):
    total = sum(one["size"] for one in blocks)
    active = sum(one["size"] for one in blocks if one["state"] == "active_allocated")
    return {"device": device, "address": address, "total_size": total, "allocated_size": active, "active_size": active,
            "requested_size": active, "stream": 0, "segment_type": kind, "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": [], "blocks": blocks, **more}


def free(entry_of_block, time_us):
    """Both entries of a free."""
    return [{**entry_of_block, "action": action, "time_us": time_us} for action in ("free_requested", "free_completed")]


def small():
    """A segment of 20 MiB; 4 MiB that stay, 8 MiB that go: at most 12 MiB are allocated."""
    frames = [frame(3), frame(9, "<module>")]
    kept = entry("alloc", SEGMENT, 4 * MIB, 20, frames)
    gone = entry("alloc", SEGMENT + 4 * MIB, 8 * MIB - 100, 30, frames)
    return {
        "segments": [segment(SEGMENT, [block(SEGMENT, 4 * MIB, frames=frames),
                                       block(SEGMENT + 4 * MIB, 16 * MIB, "inactive")])],
        "device_traces": [[entry("segment_alloc", SEGMENT, 20 * MIB, 10, frames), kept, gone, *free(gone, 40)]],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False,
                               "garbage_collection_threshold": 0.0, "roundup_power2_divisions": {"1": 0}},
        "external_annotations": [],
    }
