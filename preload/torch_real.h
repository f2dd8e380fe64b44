/* SPDX-License-Identifier: MIT */
#ifndef VT_PRELOAD_TORCH_REAL_H
#define VT_PRELOAD_TORCH_REAL_H

/*
 * PyTorch's functions that we override or call, and the addresses of the real ones.  Its
 * libraries are dependencies of a Python extension, loaded outside the global scope: "the next one
 * in search order" does not find them, so each is looked up in its own library.
 *
 * Mangled names do not depend on the C++ standard library's string ABI: none has a std::string in
 * it.
 */

/* c10::reportMemoryUsageToProfiler, by signature: before 1.10, until 1.13 (or 2.0), since. */
#define VT_TORCH_REPORT_V1 "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE"
#define VT_TORCH_REPORT_V2 "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define VT_TORCH_REPORT_V3 "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"

/* c10::reportOutOfMemoryToProfiler: 1.13, since. */
#define VT_TORCH_OUT_OF_MEMORY_V1 "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"
#define VT_TORCH_OUT_OF_MEMORY_V2 "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"

/*
 * roundup_power2_divisions(size_t) of c10::cuda::CUDACachingAllocator::CUDAAllocatorConfig until
 * 2.8, of c10::CachingAllocator::AcceleratorAllocatorConfig since: what a request is rounded by.
 */
#define VT_TORCH_DIVISIONS_V1                                                                      \
	"_ZN3c104cuda20CUDACachingAllocator19CUDAAllocatorConfig24roundup_power2_divisionsEm"
#define VT_TORCH_DIVISIONS_V2                                                                      \
	"_ZN3c1016CachingAllocator26AcceleratorAllocatorConfig24roundup_power2_divisionsEm"

/* c10::cuda::getCurrentCUDAStream(c10::DeviceIndex), the calling thread's. */
#define VT_TORCH_CURRENT_STREAM "_ZN3c104cuda20getCurrentCUDAStreamEa"

/* c10::GradMode::is_enabled(), the calling thread's (since 1.9). */
#define VT_TORCH_GRAD_MODE "_ZN3c108GradMode10is_enabledEv"

/*
 * torch::autograd::Engine::evaluate_function: one node of the backward pass, on the thread that
 * runs it.
 */
#define VT_TORCH_EVALUATE                                                                          \
	"_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEE"            \
	"PNS0_4NodeERNS0_11InputBufferERKS2_INS0_10ReadyQueueEE"

/* at::sequence_number::get_and_increment: a forward operation makes its node. */
#define VT_TORCH_NEXT_SEQUENCE "_ZN2at15sequence_number17get_and_incrementEv"

/*
 * at::RecordFunction::currentThreadId(): the number that a node keeps of the thread which makes it
 * (since 1.8).
 */
#define VT_TORCH_THREAD "_ZN2at14RecordFunction15currentThreadIdEv"

/* at::addGlobalCallback(RecordFunctionCallback), at::RecordFunction::name() const: named ranges. */
#define VT_TORCH_ADD_CALLBACK "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
#define VT_TORCH_RANGE_NAME   "_ZNK2at14RecordFunction4nameEv"

/*
 * at::disableCallback and at::reenableCallback(CallbackHandle), and what is asked about a call:
 * at::RecordFunction::num_inputs() const.
 */
#define VT_TORCH_DISABLE_CALLBACK "_ZN2at15disableCallbackEm"
#define VT_TORCH_ENABLE_CALLBACK  "_ZN2at16reenableCallbackEm"
#define VT_TORCH_NR_INPUTS	  "_ZNK2at14RecordFunction10num_inputsEv"

/* The unwinder that PyTorch's exceptions use, wherever it comes from. */
#define VT_TORCH_UNWIND_RESUME	    "_Unwind_Resume"
#define VT_TORCH_UNWIND_PERSONALITY "__gcc_personality_v0"

/* X(name, start of the library's file name); what the library needs is searched as well. */
#define VT_TORCH_FUNCTIONS(X)                                                                      \
	X(REPORT_V1, "libc10.so")                                                                  \
	X(REPORT_V2, "libc10.so")                                                                  \
	X(REPORT_V3, "libc10.so")                                                                  \
	X(OUT_OF_MEMORY_V1, "libc10.so")                                                           \
	X(OUT_OF_MEMORY_V2, "libc10.so")                                                           \
	X(DIVISIONS_V1, "libc10_cuda.so")                                                          \
	X(DIVISIONS_V2, "libc10.so")                                                               \
	X(CURRENT_STREAM, "libc10_cuda.so")                                                        \
	X(GRAD_MODE, "libc10.so")                                                                  \
	X(EVALUATE, "libtorch_cpu.so")                                                             \
	X(NEXT_SEQUENCE, "libtorch_cpu.so")                                                        \
	X(THREAD, "libtorch_cpu.so")                                                               \
	X(ADD_CALLBACK, "libtorch_cpu.so")                                                         \
	X(RANGE_NAME, "libtorch_cpu.so")                                                           \
	X(DISABLE_CALLBACK, "libtorch_cpu.so")                                                     \
	X(ENABLE_CALLBACK, "libtorch_cpu.so")                                                      \
	X(NR_INPUTS, "libtorch_cpu.so")                                                            \
	X(UNWIND_RESUME, "libtorch_cpu.so")                                                        \
	X(UNWIND_PERSONALITY, "libtorch_cpu.so")

enum vt_torch_function {
#define VT_TORCH_ROW(name, library) VT_TORCH_FUNCTION_##name,
	VT_TORCH_FUNCTIONS(VT_TORCH_ROW)
#undef VT_TORCH_ROW
	VT_TORCH_FUNCTION_COUNT,
};

/* Not for others: what was found, NULL = not yet, and the search for what was not. */
extern void *vt_torch_real_known[VT_TORCH_FUNCTION_COUNT]
	__attribute__((visibility("hidden"))); /* atomic */
void *vt_torch_real_search(enum vt_torch_function function, const void *caller);

/*
 * The real address, or NULL where there is none.  `caller` is where a function that we stand in
 * front of was called from, NULL for one that we call ourselves: what is not found under PyTorch's
 * own names is looked for where the caller would have found it.  What was not found is looked for
 * again now and then only, but for a function that the program cannot do without.  Context: hook.
 * Any thread.
 */
static inline void *vt_torch_real_find(enum vt_torch_function function, const void *caller)
{
	void *address = __atomic_load_n(&vt_torch_real_known[function], __ATOMIC_ACQUIRE);

	return address ? address : vt_torch_real_search(function, caller);
}

/*
 * Looks all of them up, once: where no lock of PyTorch's is held, so that later uses need not wait
 * for the dynamic loader's.
 */
void vt_torch_real_prepare(void);

#endif
