# SPDX-License-Identifier: MIT
"""No function that allocates, frees or maps is left out: each is in the recorder's table, or was looked at."""
import pathlib
import re
import subprocess

import pytest

from recording import SOURCE

# Words of functions that give, take or map something.
WORDS = re.compile("Alloc|Free|Map|Create|Import|Reserve|Register|Retain|Destroy|Detach|Release|Open|Close|Load|Reset|"
                   "Trim|Bind|BeginCapture|BeginRecapture|EndCapture|AddNode")
# A graphics interface owns its memory, and lends it.
GRAPHICS = re.compile("^cu(GL|EGL|VDPAU|Graphics)|FromEGLSync")
# Reviewed: none of them changes how much memory a process holds, as far as a call tells that. By reason.
LOOKED_AT = {
    "the 32-bit interface of CUDA 2, which no 64-bit program calls":
        "cuArray3DCreate cuArrayCreate cuMemAlloc cuMemAllocHost cuMemAllocPitch cuMemFree",
    "the driver's own bookkeeping: handles, no memory that is told":
        "cuDeviceRegisterAsyncNotification cuDeviceUnregisterAsyncNotification cuEventCreate cuEventDestroy"
        " cuEventDestroy_v2 cuGraphConditionalHandleCreate cuGraphCreate cuGraphDestroyNode cuLinkCreate"
        " cuLinkCreate_v2 cuLinkDestroy cuLogsRegisterCallback cuLogsUnregisterCallback cuStreamCreate"
        " cuStreamCreateWithPriority cuStreamDestroy cuStreamDestroy_v2 cuSurfObjectCreate cuSurfObjectDestroy"
        " cuTexObjectCreate cuTexObjectDestroy cuTexRefCreate cuTexRefDestroy cuUserObjectCreate cuUserObjectRelease"
        " cuUserObjectRetain cuGraphRetainUserObject cuGraphReleaseUserObject cuCoredumpRegisterCompleteCallback"
        " cuCoredumpRegisterStartCallback cuCoredumpDeregisterCompleteCallback cuCoredumpDeregisterStartCallback"
        " cuDestroyExternalSemaphore cuImportExternalSemaphore cuIpcOpenEventHandle",
    "questions, and descriptions that others use":
        "cuFuncIsLoaded cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams cuMemGetAllocationGranularity"
        " cuMemGetAllocationPropertiesFromHandle cuModuleGetLoadingMode cuTensorMapEncodeIm2col"
        " cuTensorMapEncodeIm2colWide cuTensorMapEncodeTiled cuTensorMapReplaceAddress cuTensorMapSetAllocationClass",
    "captures for a graphics interface":
        "cuStreamBeginCaptureToCig cuStreamEndCaptureToCig",
    "a part of a device's processors; memory is the primary context's":
        "cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxStreamCreate",
    "names for memory that exists, as multicast objects are":
        "cuLogicalEndpointBindAddr cuLogicalEndpointBindMem cuLogicalEndpointCreate cuLogicalEndpointDestroy"
        " cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve cuLogicalEndpointImport cuLogicalEndpointUnbind",
    "code, which the driver loads when it likes":
        "cuFuncLoad",
    "a second reference to the current context; its end is cuCtxDetach's matter":
        "cuCtxAttach",
    "a cache's contents": "cuCtxResetPersistingL2Cache",
    "tiles of sparse arrays: memory of handles that live at least as long as cuMemRelease tells":
        "cuMemMapArrayAsync cuMemMapArrayAsync_ptsz",
}


def table():
    text = (SOURCE / "common" / "cuda_api.def").read_text()
    return set(re.findall(r"^VT_CUDA_API\(\d+, (\w+),", text, re.M))


def simulated():
    """All that the simulator exports: every function of the driver that is known to us."""
    names = set()
    for rows in ("driver_functions.def", "driver_absent.def"):
        for row in re.findall(r"^VTS_\w+\(([^)]*)\)", (SOURCE / "simulator" / rows).read_text(), re.M):
            parts = [part.strip() for part in row.split(",")]
            names |= {parts[2]} | ({parts[2] + parts[4]} if len(parts) > 4 else set())
    return names


def declared(header):
    """Exact symbols: cuda.h renames most functions to their newest ABI."""
    text = header.read_text()
    names = set(re.findall(r"CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(", text))
    renamed = dict(re.findall(r"#\s*define\s+(cu[A-Z]\w*)\s+(cu[A-Z]\w+)\s*$", text, re.M))
    return {renamed.get(name, name) for name in names}


def test_each_function_of_memory_is_recorded_or_was_looked_at():
    words = {name for name in simulated() if WORDS.search(name) and not GRAPHICS.search(name)}
    looked_at = {name for names in LOOKED_AT.values() for name in names.split()}
    assert len(words) > 130
    assert sorted(words - table() - looked_at) == []
    # Nothing stands in both, and nothing that is no function.
    assert sorted(looked_at & table()) == []
    assert sorted(looked_at - simulated()) == []


def test_the_newest_header_has_no_function_that_is_not_known():
    done = subprocess.run([str(SOURCE / "scripts" / "cuda-runtime"), "--cached"], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    header = pathlib.Path(done.stdout.strip()) / "include" / "cuda.h"
    names = {name for name in declared(header) if not name.endswith("_ptsz")}
    assert len(names) > 450
    assert sorted(names - simulated()) == []
