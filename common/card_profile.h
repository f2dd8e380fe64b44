/* SPDX-License-Identifier: MIT */
#ifndef VT_COMMON_CARD_PROFILE_H
#define VT_COMMON_CARD_PROFILE_H

/*
 * A card as simulator/profiles.ini, or a file of the user's with the same keys, describes it.  The
 * simulated driver and the vtrace command read it with the same code, so that both take and refuse
 * the same things.  No malloc: the driver reads it inside a foreign process.
 */

#include <stddef.h>
#include <stdint.h>

#define VT_CARD_MAX_DEVICES 8
/* With the NUL behind it: what is longer describes no card. */
#define VT_CARD_MAX_FILE_BYTES (64 * 1024)
/* Of a card whose context was not measured; published figures go from 107 to 616 MiB. */
#define VT_CARD_CONTEXT_BYTES (410ull << 20)
/* "Around 10KB per kernel node": NVIDIA, of the cache of graphs in its cudax (CCCL, #3768). */
#define VT_CARD_GRAPH_NODE_BYTES 10000
/*
 * On H100 with NVLink.  Logs of vLLM 0.19 there: 490 to 520 MiB for each communicator of 2 or 4
 * ranks; NVIDIA/nccl #1685, eight ranks: 0.51 GB before the first all-to-all, then 0.47 GB for each
 * further peer.  Of other cards nothing is known by communicator.
 */
#define VT_CARD_NCCL_BYTES (490ull << 20)

struct vt_card_profile {
	char name[64];   /* the section: h100-80g */
	char device[96]; /* what cuDeviceGetName says */
	char source
		[256]; /* where total_bytes is from; "assumed..." where it is not known */
	uint64_t total_bytes;
	uint64_t usable_bytes; /* what programs and contexts can take together */
	uint64_t context_bytes;
	uint64_t other_bytes;  /* of each device, taken by processes that are not simulated */
	uint64_t module_bytes; /* that each loaded module adds to the context */
	uint64_t graph_node_bytes; /* that each kernel of an executable graph adds */
	uint64_t nccl_bytes;   /* of a communicator of NCCL, for each peer; 0: not known */
	uint64_t l2_bytes;     /* 0: not known, as the clocks and the bus */
	uint64_t shared_per_block_optin_bytes;
	uint64_t shared_per_sm_bytes;
	int capability; /* 90: 9.0 */
	int nr_sms;
	int max_threads_per_sm;
	int max_blocks_per_sm;
	int clock_khz;
	int memory_clock_khz;
	int memory_bus_bits;
	int driver_version; /* 13000: CUDA 13.0 */
	int nr_devices;
	char routing[16];   /* of tokens to experts; "": not chosen */
	int rank, nr_ranks; /* of a job, the others of which are not there; 0 ranks: none */
	int is_context_assumed; /* context_bytes is VT_CARD_CONTEXT_BYTES */
};

/* One line for the user, without the name of what was read. */
struct vt_card_error {
	char text[256];
};

/*
 * Reads one section of the text of an INI file; `name` NULL: the only one that it has.  What the
 * section leaves out becomes what the capability implies, or a stated default.  Returns 0, or -1
 * with `error` filled: an unknown name or key names the nearest that are known.
 */
int vt_card_profile_read(struct vt_card_profile *card, const char *text, const char *name,
			 struct vt_card_error *error);

/*
 * Applies "key=value[,key=value...]" to a card that was read: the keys of the file, and memory=,
 * other=, module=, graph_node=, nccl=, count=, rank=,
 * routing=, driver=.  0, or -1 with `error` filled.
 */
int vt_card_profile_change(struct vt_card_profile *card, const char *options,
			   struct vt_card_error *error);

/*
 * "NAME[,key=value...]" or "FILE.ini[,key=value...]": the length of the name, and whether it is a
 * file: it then has a slash or ends in ".ini".
 */
size_t vt_card_profile_split(const char *choice, int *is_file);

#endif
