/* SPDX-License-Identifier: MIT */
/*
 * A server of many days as its journal, imported as it is written, with VTRACE_KEEP from the
 * environment: what the collector does, with the days' clock run fast.
 *
 * 	server EVENTS HOURS FILE.db [stops]
 *
 * One line of JSON for each hour (what the database said then and what the ledger says) and a last
 * one; "stops": it waits for a line of standard input after each hour's.  The stream is the same
 * each time: killed and begun again, it goes on where the database is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/base/util.h"
#include "analyzer/database/db.h"
#include "analyzer/import/import.h"
#include "tests/lib/journal_builder.h"

#define MIB            (1ull << 20)
#define HOUR_NS        3600000000000ull
#define BATCH_RECORDS  16384
#define NR_WEIGHTS     512
#define WEIGHT_BYTES   (16 * MIB)
#define MOST_REQUESTS  64
#define CACHE_BLOCKS   8
#define CACHE_BYTES    (2 * MIB)
#define LEAK_BYTES     (MIB / 4)
#define EVENTS_A_LEAK  100000
#define WEIGHTS_AT     0x100000000000ull
#define CACHE_AT       0x200000000000ull
#define ACTIVATIONS_AT 0x300000000000ull
#define LEAKS_AT       0x400000000000ull

enum place { WEIGHTS = 1, CACHE, ACTIVATIONS, LEAK, NR_PLACES };
static const char *const names[] = { "", "load", "cache", "forward", "leak" };

static struct server {
	struct builder b;
	struct vt_db *db;
	struct vt_import *import;
	uint64_t nr_events, interval_ns, random;
	uint64_t allocated_bytes, reserved_bytes, nr_live;
	uint64_t most_bytes, most_event;       /* of the run */
	uint64_t hour, hour_bytes, hour_event; /* of this hour */
	uint64_t hour_allocations, hour_failures;
	uint64_t nr_leaks, nr_failures, nr_infos;
	unsigned int nr_requests;
	uint64_t most_disk, most_log;
	uint64_t forgotten_bytes; /* of the journal's memory */
	int stops;
} g;

static void die(const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, g.db ? vt_db_error(g.db) : "");
	exit(1);
}

static uint64_t next_random(uint64_t below)
{
	g.random = g.random * 6364136223846793005ull + 1442695040888963407ull;
	return (g.random >> 33) % below;
}

static uint64_t file_bytes(const char *suffix)
{
	char *path = vt_xasprintf("%s%s", vt_db_path(g.db), suffix);
	struct stat st;
	uint64_t bytes = stat(path, &st) ? 0 : (uint64_t)st.st_size;

	free(path);
	return bytes;
}

static void import_batch(void)
{
	struct vt_diag diag = { 0 };
	uint64_t end = builder_bytes(&g.b) & ~0xffffull, disk;
	int64_t taken;

	do
		taken = vt_import_batch(g.import, builder_header(&g.b), builder_slots(&g.b),
					g.b.nr_slots, 1, BATCH_RECORDS * 2, &diag);
	while (taken > 0);
	if (taken < 0)
		die(diag.text);
	/* As the collector gives the file's chunks back. */
	if (end > g.forgotten_bytes + 8 * MIB) {
		uint64_t from = g.forgotten_bytes ? g.forgotten_bytes : 65536;

		madvise(g.b.bytes + from, end - 4 * MIB - from, MADV_DONTNEED);
		g.forgotten_bytes = end - 4 * MIB;
	}
	disk = file_bytes("") + file_bytes("-wal");
	g.most_disk = disk > g.most_disk ? disk : g.most_disk;
	g.most_log = file_bytes("-wal") > g.most_log ? file_bytes("-wal") : g.most_log;
}

/* What the database says of the hour that ends, beside what the ledger does. */
static void tell_hour(void)
{
	struct vt_import_progress progress;
	char sql[512];

	import_batch();
	/* Begun again, not yet where it was before. */
	vt_import_get_progress(g.import, &progress);
	if (progress.imported_slots > g.b.nr_slots)
		return;
	snprintf(sql, sizeof(sql),
		 "SELECT sum(size_bytes) FROM allocation WHERE kind = 1 AND id <= %llu AND"
		 " (freed_event IS NULL OR freed_event > %llu)",
		 (unsigned long long)g.hour_event, (unsigned long long)g.hour_event);
	printf("{\"hour\": %llu, \"live\": [%llu, %lld], \"most\": [%llu, %lld],"
	       " \"event\": [%llu, %lld], \"allocations\": [%llu, %lld],"
	       " \"failures\": [%llu, %lld], \"most_so_far\": %llu, \"event_so_far\": %llu}\n",
	       (unsigned long long)g.hour, (unsigned long long)g.allocated_bytes,
	       (long long)vt_db_query_int(g.db,
					  "SELECT sum(size_bytes) FROM allocation"
					  " WHERE kind = 1 AND freed_event IS NULL",
					  0),
	       (unsigned long long)g.hour_bytes, (long long)vt_db_query_int(g.db, sql, 0),
	       (unsigned long long)g.hour_event,
	       (long long)vt_db_query_int(g.db,
					  "SELECT max_allocated_event FROM period_peak"
					  " ORDER BY period DESC LIMIT 1",
					  0),
	       (unsigned long long)g.hour_allocations,
	       (long long)vt_db_query_int(g.db,
					  "SELECT allocations FROM period"
					  " ORDER BY id DESC LIMIT 1",
					  0),
	       (unsigned long long)g.hour_failures,
	       (long long)vt_db_query_int(g.db,
					  "SELECT failed_requests FROM period"
					  " ORDER BY id DESC LIMIT 1",
					  0),
	       (unsigned long long)g.most_bytes, (unsigned long long)g.most_event);
	fflush(stdout);
	if (g.stops && getchar() == EOF)
		exit(1);
}

static void count_most(uint64_t event)
{
	if (g.allocated_bytes > g.most_bytes) {
		g.most_bytes = g.allocated_bytes;
		g.most_event = event;
	}
	if (g.allocated_bytes > g.hour_bytes) {
		g.hour_bytes = g.allocated_bytes;
		g.hour_event = event;
	}
}

/* The clock goes on; hours end. */
static void pass_time(void)
{
	uint64_t hour = (g.b.time_ns + g.interval_ns - 1000000) / HOUR_NS + 1;

	if (hour == g.hour)
		return;
	if (g.hour)
		tell_hour();
	g.hour = hour;
	g.hour_bytes = g.allocated_bytes;
	g.hour_event = g.b.nr_events;
	g.hour_allocations = g.hour_failures = 0;
}

static uint64_t say(struct vt_event_record event)
{
	uint64_t number;

	pass_time();
	event.python_stack = event.python_stack ? event.python_stack : ACTIVATIONS;
	event.allocated_bytes = g.allocated_bytes;
	/* Other than an hour ago. */
	event.reserved_bytes = g.reserved_bytes + g.hour * MIB;
	g.b.time_ns += g.interval_ns - 1000;
	number = builder_event(&g.b, event);
	if (number % BATCH_RECORDS == 0)
		import_batch();
	return number;
}

static void allocate(enum vt_kind kind, enum place place, uint64_t address, uint64_t size_bytes)
{
	uint64_t event;

	pass_time();
	if (kind == VT_KIND_BLOCK)
		g.allocated_bytes += size_bytes;
	else
		g.reserved_bytes += size_bytes;
	g.nr_live++;
	event = say((struct vt_event_record){ .op = VT_OP_ALLOC,
					      .kind = (uint16_t)kind,
					      .address = address,
					      .size_bytes = size_bytes,
					      .python_stack = place });
	g.hour_allocations++;
	count_most(event);
}

static void release(uint64_t address, uint64_t size_bytes)
{
	pass_time();
	g.allocated_bytes -= size_bytes;
	g.nr_live--;
	say((struct vt_event_record){ .op = VT_OP_FREE,
				      .kind = VT_KIND_BLOCK,
				      .address = address,
				      .size_bytes = size_bytes });
}

static uint64_t cache_at(unsigned int request, unsigned int block)
{
	return CACHE_AT + ((uint64_t)request * CACHE_BLOCKS + block) * CACHE_BYTES;
}

static void load(void)
{
	allocate(VT_KIND_SEGMENT, WEIGHTS, WEIGHTS_AT, NR_WEIGHTS * WEIGHT_BYTES);
	allocate(VT_KIND_SEGMENT, CACHE, CACHE_AT, MOST_REQUESTS * CACHE_BLOCKS * CACHE_BYTES);
	allocate(VT_KIND_SEGMENT, ACTIVATIONS, ACTIVATIONS_AT, 256 * MIB);
	allocate(VT_KIND_SEGMENT, LEAK, LEAKS_AT, 8192 * MIB);
	for (uint64_t i = 0; i < NR_WEIGHTS; i++)
		allocate(VT_KIND_BLOCK, WEIGHTS, WEIGHTS_AT + i * WEIGHT_BYTES, WEIGHT_BYTES);
}

static void mark(enum vt_mark_kind kind)
{
	pass_time();
	g.b.time_ns += g.interval_ns - 1000;
	builder_mark(&g.b, kind, NR_PLACES);
}

/* One forward of all requests: three activations, one after the other. */
static void forward(void)
{
	mark(VT_MARK_BEGIN);
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t size = (1 + next_random(16)) * MIB / 2 * (i + 1);

		allocate(VT_KIND_BLOCK, ACTIVATIONS, ACTIVATIONS_AT + i * 64 * MIB, size);
		if (next_random(50000) == 0) {
			say((struct vt_event_record){ .op = VT_OP_OUT_OF_MEMORY,
						      .kind = VT_KIND_BLOCK,
						      .size_bytes = 4096 * MIB });
			g.hour_failures++;
			g.nr_failures++;
		}
		release(ACTIVATIONS_AT + i * 64 * MIB, size);
	}
	mark(VT_MARK_END);
}

/* More of them by day than by night. */
static void come_and_go(void)
{
	uint64_t hour_of_day = g.hour % 24;
	uint64_t from_night = hour_of_day < 12 ? hour_of_day : 24 - hour_of_day;
	unsigned int wanted = 8 + (unsigned int)from_night * 4;

	wanted += (unsigned int)next_random(8);
	if (g.nr_requests < wanted) {
		for (unsigned int i = 0; i < CACHE_BLOCKS; i++)
			allocate(VT_KIND_BLOCK, CACHE, cache_at(g.nr_requests, i), CACHE_BYTES);
		g.nr_requests++;
	} else {
		g.nr_requests--;
		for (unsigned int i = 0; i < CACHE_BLOCKS; i++)
			release(cache_at(g.nr_requests, i), CACHE_BYTES);
	}
}

static void serve(void)
{
	uint64_t turn = 0;

	load();
	while (g.b.nr_events < g.nr_events) {
		forward();
		if (++turn % 4 == 0)
			come_and_go();
		if (turn % 500 == 0 && ++g.nr_infos)
			say((struct vt_event_record){ .op = VT_OP_MEMORY_INFO,
						      .kind = VT_KIND_SEGMENT,
						      .size_bytes = 80ull << 30,
						      .extra = (79ull << 30) - g.reserved_bytes });
		if (g.b.nr_events / EVENTS_A_LEAK > g.nr_leaks)
			allocate(VT_KIND_BLOCK, LEAK, LEAKS_AT + g.nr_leaks++ * LEAK_BYTES,
				 LEAK_BYTES);
	}
}

static void define(void)
{
	builder_device(&g.b, 0, "NVIDIA H100 80GB HBM3", 80ull << 30);
	for (uint32_t i = 1; i <= NR_PLACES; i++)
		builder_string(&g.b, i, i < NR_PLACES ? names[i] : "forward");
	for (uint32_t i = 1; i < NR_PLACES; i++) {
		struct vt_python_frame frame = { .code = i };

		builder_python_code(&g.b, i, names[i], i * 10, NULL, 0);
		builder_python_stack(&g.b, i, &frame, 1);
	}
}

static void open_recording(const char *path)
{
	struct vt_diag diag = { 0 };
	size_t bytes = (g.nr_events * 3 + (1 << 20)) * VT_SLOT_BYTES * 2;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		die("no address space");
	builder_init_in(&g.b, memory, bytes);
	if (vt_db_open(&g.db, path, access(path, F_OK) ? VT_DB_CREATE : VT_DB_WRITE, &diag))
		die(diag.text);
}

static uint64_t processor_ns(const struct rusage *usage)
{
	const struct timeval *user = &usage->ru_utime, *kernel = &usage->ru_stime;

	return (uint64_t)(user->tv_sec + kernel->tv_sec) * 1000000000 +
	       (uint64_t)(user->tv_usec + kernel->tv_usec) * 1000;
}

int main(int argc, char **argv)
{
	struct vt_diag diag = { 0 };
	struct rusage usage;

	if (argc < 4)
		return 2;
	g.stops = argc > 4;
	g.nr_events = strtoull(argv[1], NULL, 10);
	g.interval_ns = strtoull(argv[2], NULL, 10) * HOUR_NS / (g.nr_events + 64);
	open_recording(argv[3]);
	define();
	builder_header(&g.b)->head_slots = UINT64_MAX / 2;
	if (vt_import_open(&g.import, g.db, (void *)g.b.bytes, &diag))
		die(diag.text);
	serve();
	tell_hour();
	builder_header(&g.b);
	if (vt_import_finish(g.import, builder_header(&g.b), 0, &diag))
		die(diag.text);
	vt_import_close(g.import);
	vt_db_make_single_file(g.db);
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"events\": %llu, \"live\": %llu, \"blocks\": %llu, \"most\": %llu,"
	       " \"event\": %llu, \"leaks\": %llu, \"failures\": %llu, \"infos\": %llu,"
	       " \"disk\": %llu, \"log\": %llu, \"resident_kib\": %ld, \"processor_ns\": %llu}\n",
	       (unsigned long long)g.b.nr_events, (unsigned long long)g.allocated_bytes,
	       (unsigned long long)g.nr_live, (unsigned long long)g.most_bytes,
	       (unsigned long long)g.most_event, (unsigned long long)g.nr_leaks,
	       (unsigned long long)g.nr_failures, (unsigned long long)g.nr_infos,
	       (unsigned long long)g.most_disk, (unsigned long long)g.most_log, usage.ru_maxrss,
	       (unsigned long long)processor_ns(&usage));
	vt_db_close(g.db);
	return 0;
}
