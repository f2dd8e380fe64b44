/* SPDX-License-Identifier: MIT */
/*
 * NCCL: communicators that know their size and rank, and collectives that put this rank's own data
 * where the data of all ranks would be.  Clients compare such results (DDP gathers parameter shapes
 * before it starts).
 *
 * Buffers: a communicator takes those of one peer at its first collective, as rings do, and those
 * of each further one that it sends to or receives from (nccl= of the profile).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maths.h"

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, UNIQUE_ID_SIZE = 128 };

struct communicator {
	int nr_ranks;
	int rank;
	int nr_buffers;	    /* at most nr_ranks: of the ring and of each peer */
	uint64_t *buffers;
	char *is_connected; /* by rank: sent to or received from */
};

struct unique_id {
	char bytes[UNIQUE_ID_SIZE];
};

typedef int (*copy_fn)(uint64_t to, uint64_t from, size_t size_bytes, void *stream);
typedef int (*alloc_fn)(uint64_t *address, size_t size_bytes);
typedef int (*free_fn)(uint64_t address);
typedef uint64_t (*bytes_fn)(void);

static struct {
	pthread_once_t once;
	copy_fn copy;
	alloc_fn alloc;
	free_fn release;
	uint64_t peer_bytes;
} g = {.once = PTHREAD_ONCE_INIT};

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	bytes_fn peer_bytes;

	if (!library)
		return;
	peer_bytes = (bytes_fn)dlsym(library, "vts_nccl_bytes");
	g.peer_bytes = peer_bytes ? peer_bytes() : 0;
	*(void **)&g.copy = dlsym(library, "cuMemcpyAsync");
	*(void **)&g.alloc = dlsym(library, "cuMemAlloc_v2");
	*(void **)&g.release = dlsym(library, "cuMemFree_v2");
}

static int get_unique_id(struct unique_id *id)
{
	pid_t pid = getpid();
	void *serial = vts_maths_new_handle();

	memset(id, 0, sizeof(*id));
	memcpy(id->bytes, &pid, sizeof(pid));
	memcpy(id->bytes + sizeof(pid), &serial, sizeof(serial));
	return SUCCESS;
}

static int destroy(struct communicator *communicator)
{
	for (int i = 0; i < communicator->nr_buffers; i++)
		g.release(communicator->buffers[i]);
	free(communicator->buffers);
	free(communicator->is_connected);
	free(communicator);
	return SUCCESS;
}

static int make_communicator(void **answer, int nr_ranks, int rank)
{
	struct communicator *communicator;

	if (nr_ranks < 1)
		return INVALID_ARGUMENT;
	communicator = calloc(1, sizeof(*communicator));
	if (!communicator)
		return SYSTEM_ERROR;
	communicator->nr_ranks = nr_ranks;
	communicator->rank = rank;
	communicator->buffers = calloc((size_t)nr_ranks, sizeof(*communicator->buffers));
	communicator->is_connected = calloc((size_t)nr_ranks, 1);
	if (!communicator->buffers || !communicator->is_connected) {
		destroy(communicator);
		return SYSTEM_ERROR;
	}
	*answer = communicator;
	return SUCCESS;
}

/* The buffers of one more peer, in the context of who calls. */
static int take_buffers(struct communicator *communicator)
{
	pthread_once(&g.once, find_driver);
	if (!g.peer_bytes || !g.alloc)
		return SUCCESS;
	if (g.alloc(&communicator->buffers[communicator->nr_buffers], g.peer_bytes))
		return SYSTEM_ERROR;
	communicator->nr_buffers++;
	return SUCCESS;
}

/* A collective goes round rings: one peer, whoever it is. */
static int join_ring(struct communicator *communicator)
{
	return communicator->nr_ranks == 1 || communicator->nr_buffers
		       ? SUCCESS
		       : take_buffers(communicator);
}

static int connect_peer(struct communicator *communicator, int peer)
{
	int result;

	if (peer < 0 || peer >= communicator->nr_ranks)
		return INVALID_ARGUMENT;
	if (peer == communicator->rank || communicator->is_connected[peer])
		return SUCCESS;
	/* Not connected where memory ran out: a program may catch that and try again. */
	result = take_buffers(communicator);
	communicator->is_connected[peer] = result == SUCCESS;
	return result;
}

static int init_rank(void **answer, int nr_ranks, struct unique_id id, int rank)
{
	(void)id;
	return make_communicator(answer, nr_ranks, rank);
}

static int init_rank_config(void **answer, int nr_ranks, struct unique_id id, int rank,
			    void *config)
{
	(void)id, (void)config;
	return make_communicator(answer, nr_ranks, rank);
}

static int init_rank_scalable(void **answer, int nr_ranks, int rank, int nr_ids, void *ids,
			      void *config)
{
	(void)nr_ids, (void)ids, (void)config;
	return make_communicator(answer, nr_ranks, rank);
}

static int init_all(void **answers, int nr_devices, const int *devices)
{
	int i, error = SUCCESS;

	(void)devices;
	for (i = 0; i < nr_devices && !error; i++)
		error = make_communicator(&answers[i], nr_devices, i);
	return error;
}

/*
 * Only the ranks of this colour could say how many they are: the whole group is assumed to stay
 * together.
 */
static int split(const struct communicator *communicator, int colour, int key, void **answer,
		 void *config)
{
	(void)colour, (void)key, (void)config;
	return make_communicator(answer, communicator->nr_ranks, communicator->rank);
}

static int get_count(const struct communicator *communicator, int *count)
{
	*count = communicator->nr_ranks;
	return SUCCESS;
}

static int get_rank(const struct communicator *communicator, int *rank)
{
	*rank = communicator->rank;
	return SUCCESS;
}

static int get_async_error(const void *communicator, int *error)
{
	(void)communicator;
	*error = SUCCESS;
	return SUCCESS;
}

/*
 * ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, 2
 * x float8.
 */
static size_t size_of(int type)
{
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

	return type >= 0 && type < (int)(sizeof(sizes) / sizeof(sizes[0])) ? sizes[type] : 0;
}

static int copy(void *to, const void *from, size_t size_bytes, void *stream)
{
	pthread_once(&g.once, find_driver);
	if (to == from || !size_bytes || !g.copy)
		return SUCCESS;
	return g.copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, size_bytes, stream)
		       ? SYSTEM_ERROR
		       : SUCCESS;
}

static int all_gather(const void *send, void *receive, size_t count, int type,
		      struct communicator *communicator, void *stream)
{
	size_t size_bytes = count * size_of(type);
	int i, error = join_ring(communicator);

	for (i = 0; i < communicator->nr_ranks && !error; i++)
		error = copy((char *)receive + (size_t)i * size_bytes, send, size_bytes, stream);
	return error;
}

static int all_reduce(const void *send, void *receive, size_t count, int type, int operation,
		      struct communicator *communicator, void *stream)
{
	int error = join_ring(communicator);

	(void)operation;
	return error ? error : copy(receive, send, count * size_of(type), stream);
}

static int reduce(const void *send, void *receive, size_t count, int type, int operation, int root,
		  struct communicator *communicator, void *stream)
{
	int error = join_ring(communicator);

	(void)operation;
	return error || communicator->rank != root
		       ? error
		       : copy(receive, send, count * size_of(type), stream);
}

static int broadcast(const void *send, void *receive, size_t count, int type, int root,
		     struct communicator *communicator, void *stream)
{
	int error = join_ring(communicator);

	return error || communicator->rank != root
		       ? error
		       : copy(receive, send, count * size_of(type), stream);
}

static int reduce_scatter(const void *send, void *receive, size_t count, int type, int operation,
			  struct communicator *communicator, void *stream)
{
	size_t size_bytes = count * size_of(type);

	int error = join_ring(communicator);

	(void)operation;
	return error ? error
		     : copy(receive,
			    (const char *)send + (size_t)communicator->rank * size_bytes,
			    size_bytes, stream);
}

/* Nothing is sent; the peer's buffers are there as if it were. */
static int send_to(const void *send, size_t count, int type, int peer,
		   struct communicator *communicator, void *stream)
{
	(void)send, (void)count, (void)type, (void)stream;
	return connect_peer(communicator, peer);
}

static int receive_from(void *receive, size_t count, int type, int peer,
			struct communicator *communicator, void *stream)
{
	(void)receive, (void)count, (void)type, (void)stream;
	return connect_peer(communicator, peer);
}

static int mem_alloc(void **pointer, size_t size_bytes)
{
	uint64_t address = 0;

	pthread_once(&g.once, find_driver);
	if (!g.alloc || g.alloc(&address, size_bytes))
		return SYSTEM_ERROR;
	*pointer = (void *)(uintptr_t)address;
	return SUCCESS;
}

static int mem_free(void *pointer)
{
	pthread_once(&g.once, find_driver);
	return g.release && !g.release((uint64_t)(uintptr_t)pointer) ? SUCCESS : INVALID_ARGUMENT;
}

const struct vts_maths_function vts_maths_nccl_functions[] = {
	{"ncclGetUniqueId", (void *)get_unique_id},
	{"ncclCommInitRank", (void *)init_rank},
	{"ncclCommInitRankConfig", (void *)init_rank_config},
	{"ncclCommInitRankScalable", (void *)init_rank_scalable},
	{"ncclCommInitAll", (void *)init_all},
	{"ncclCommSplit", (void *)split},
	{"ncclCommCount", (void *)get_count},
	{"ncclCommUserRank", (void *)get_rank},
	{"ncclCommGetAsyncError", (void *)get_async_error},
	{"ncclCommDestroy", (void *)destroy},
	{"ncclCommAbort", (void *)destroy},
	{"ncclAllGather", (void *)all_gather},
	{"ncclAllReduce", (void *)all_reduce},
	{"ncclReduce", (void *)reduce},
	{"ncclBroadcast", (void *)broadcast},
	{"ncclReduceScatter", (void *)reduce_scatter},
	{"ncclSend", (void *)send_to},
	{"ncclRecv", (void *)receive_from},
	{"ncclMemAlloc", (void *)mem_alloc},
	{"ncclMemFree", (void *)mem_free},
	{NULL, NULL},
};
