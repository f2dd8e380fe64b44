/* SPDX-License-Identifier: MIT */
/*
 * The journal.  One mapping of a fixed, large piece of address space: the header page, then slots.
 * The file behind it is shorter; its blocks are allocated by whole chunks and prepared by steps,
 * and `capacity_slots` says how far it may be touched, because touching a mapped page without a
 * block after it on a full disk kills the program (SIGBUS).
 *
 * Growing opens the file by name, allocates, closes (journal_disk.h).  Where the file cannot be
 * mapped shared, the memory is private and is written to the file in batches (journal_plain.h).
 *
 * Reserving is a compare-and-swap on header.head_slots.  A record that does not fit into the rest
 * of a chunk fills that with a pad record first.
 */
#include "preload/journal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/journal_disk.h"
#include "preload/journal_plain.h"
#include "preload/output.h"
#include "preload/sys.h"
#include "preload/text.h"

/* As many events as a number of 32 bits counts. */
#define MOST_ADDRESS_SPACE (512ull << 30)
#define LEAST_ADDRESS_SPACE (16ull << 20)
#define PART_OF_LIMIT 8
/*
 * Where address space is limited it is taken piece by piece, from here on: below what the kernel
 * gives out, above what programs and sanitizers ask for by number.
 */
#define PIECES_START ((unsigned char *)0x140000000000)
#define GROW_WAIT_NS 2000000000ull

/* try_grow(): the file has what it may take of the disk. */
#define AT_LIMIT 2
/* How long until the file is asked again: three system calls, a thousandth of the time at most. */
#define PAUSE_NS 10000000ull

/*
 * A page of a mapped file that is written to for the first time costs 3.5 to 4.2 us (ext4, Linux
 * 6.18, blocks allocated), as much as recording six events.  Zeros that are written there before,
 * by one system call for a step that lies in the file at a multiple of its length, make one large
 * page of it, which one fault maps: 0.8 us a page for both.  In pieces, or beside such a place, it
 * takes several faults; a while apart, each has the file's times to write and the kernel's code and
 * data to bring back into the processor's cache: 2.6 us.  So one event in 2,048 does all of it.
 */
#define STEP_BYTES (256u << 10)
#define STEP_SLOTS (STEP_BYTES / VT_SLOT_BYTES)

/*
 * What the importer has read keeps its page tables in the program, 8 bytes for each page: 256 MiB
 * for 10^9 events.  They go when the range is mapped again, which is done for so much at once.
 */
#define REMAP_SLOTS (16ull * VT_CHUNK_SLOTS)
#define PAGE_SLOTS (4096u / VT_SLOT_BYTES)

static struct {
	struct vt_journal_header *header;	/* start of the mapping, NULL = not open */
	unsigned char *slots;
	size_t mapped_bytes;
	uint64_t limit_slots;		/* that the mapping can hold */
	uint64_t allocated_slots;	/* that the file has blocks for */
	uint64_t capacity_slots;	/* of these, that may be used (atomic) */
	uint64_t remapped_slots;	/* up to here the mapping has no page tables */
	uint64_t next_try_slots;	/* a chunk was refused: when to ask again (atomic) */
	uint32_t is_growing;		/* one thread is in grow() (atomic) */
	uint64_t early_lost;		/* events lost before there was a header (atomic) */
	uint64_t recorded_lost;		/* of those in the header, what records contain (atomic) */
	uint32_t early_process;		/* whose: a fork child's parent's are not its own */
	uint64_t nr_events;		/* recorded (atomic) */
	uint64_t most_bytes;		/* on disk, 0 = no limit */
	uint64_t paused_until_ns;	/* at that limit until then, 0 = not (atomic) */
	uint32_t is_stopping;		/* one thread is or was in stop() (atomic) */
	uint32_t has_said_paused;	/* (atomic) */
	int is_plain;			/* the memory is private */
	int is_in_pieces;		/* each chunk is mapped when it is needed */
} g;

static uint64_t file_bytes(uint64_t slots)
{
	return VT_JOURNAL_HEADER_BYTES + slots * VT_SLOT_BYTES;
}

/* Field 22 of /proc/self/stat; the name before it may hold anything, so count from the last ')'. */
static uint64_t process_start_ticks(void)
{
	char text[1024];
	const char *at;
	uint64_t ticks = 0;

	if (vt_sys_read_file("/proc/self/stat", text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	for (; at && *at >= '0' && *at <= '9'; at++)
		ticks = ticks * 10 + (uint64_t)(*at - '0');
	return ticks;
}

static uint64_t take_early_lost(void)
{
	uint64_t nr = __atomic_exchange_n(&g.early_lost, 0, __ATOMIC_RELAXED);

	return g.early_process == (uint32_t)vt_sys_process_id() ? nr : 0;
}

static void count_early_lost(uint64_t nr_events)
{
	uint32_t process = (uint32_t)vt_sys_process_id();

	if (__atomic_exchange_n(&g.early_process, process, __ATOMIC_RELAXED) != process)
		__atomic_store_n(&g.early_lost, 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&g.early_lost, nr_events, __ATOMIC_RELAXED);
}

static void fill_header(struct vt_journal_header *header)
{
	*header = (struct vt_journal_header){
		.version = VT_JOURNAL_VERSION,
		.minimum_reader = VT_JOURNAL_VERSION,
		.header_bytes = VT_JOURNAL_HEADER_BYTES,
		.slot_bytes = VT_SLOT_BYTES,
		.chunk_bytes = VT_CHUNK_BYTES,
		.pid = (uint32_t)vt_sys_process_id(),
		.process_start_ticks = process_start_ticks(),
		.start_time_ns = vt_sys_now_ns(CLOCK_MONOTONIC),
		.start_realtime_ns = vt_sys_now_ns(CLOCK_REALTIME),
		.lost_events = take_early_lost(),
		.state = VT_JOURNAL_RECORDING,
	};
	/* Last: a file without the magic is one that is still being made. */
	__atomic_store_n(&header->magic, VT_JOURNAL_MAGIC, __ATOMIC_RELEASE);
}

/* Where the program's address space is limited, most of it is the program's. */
static size_t most_address_space(void)
{
	uint64_t part = vt_sys_address_space_limit() / PART_OF_LIMIT;
	size_t most = MOST_ADDRESS_SPACE;

	while (most > part && most / 4 >= LEAST_ADDRESS_SPACE)
		most /= 4;
	return most;
}

/*
 * Address space may be refused (ulimit -v, small machines): take what there is.  It can be touched
 * as far as the file goes: a tool that looks through all readable memory (valgrind's search for
 * leaks, at exit) would otherwise walk through all of it.
 */
static void *map_as_much_as_possible(int fd, int is_plain, size_t *len)
{
	void *memory = NULL;

	for (*len = most_address_space(); *len >= LEAST_ADDRESS_SPACE; *len /= 4) {
		memory = is_plain ? vt_sys_reserve_private(*len) : vt_sys_reserve_file(fd, *len);
		if (memory)
			return memory;
	}
	return NULL;
}

/* The header is a page: a step ends at a multiple in the file, or where the blocks end. */
static uint64_t end_of_step(uint64_t slots)
{
	uint64_t bytes = (file_bytes(slots) / STEP_BYTES + 1) * STEP_BYTES;
	uint64_t end = (bytes - VT_JOURNAL_HEADER_BYTES) / VT_SLOT_BYTES;

	/* No separate step for the page of the last chunk that is left. */
	return end + PAGE_SLOTS < g.allocated_slots ? end : g.allocated_slots;
}

/*
 * Prepares the slots from there on, which have blocks and which nobody uses yet.  Returns where
 * they end.  Where no zeros could be written the blocks are still there.
 */
static uint64_t prepare_step(int fd, uint64_t slots)
{
	uint64_t end = end_of_step(slots);

	if (!g.is_plain)
		vt_sys_fill(fd, file_bytes(slots), (end - slots) * VT_SLOT_BYTES);
	for (uint64_t slot = slots; slot < end; slot += PAGE_SLOTS)
		__atomic_store_n((uint32_t *)(void *)(g.slots + slot * VT_SLOT_BYTES), 0,
				 __ATOMIC_RELAXED);
	return end;
}

/* The first chunk; what comes after it is mapped by allocate_chunk(). */
static void *map_first_piece(int fd, size_t *len)
{
	*len = file_bytes(VT_CHUNK_SLOTS);
	if (vt_sys_address_space_limit() == UINT64_MAX ||
	    vt_sys_map_file_at(PIECES_START, fd, 0, *len))
		return NULL;
	return PIECES_START;
}

static int map_new_file(int fd)
{
	void *memory;
	int err = vt_sys_allocate(fd, 0, file_bytes(VT_CHUNK_SLOTS));

	if (err)
		return err;
	g.is_plain = 0;
	memory = map_first_piece(fd, &g.mapped_bytes);
	g.is_in_pieces = memory != NULL;
	if (!memory)
		memory = map_as_much_as_possible(fd, 0, &g.mapped_bytes);
	if (!memory) {
		g.is_plain = 1;
		memory = map_as_much_as_possible(fd, 1, &g.mapped_bytes);
	}
	if (!memory)
		return -ENOMEM;
	err = vt_sys_allow(memory, file_bytes(VT_CHUNK_SLOTS));
	if (err) {
		vt_sys_unmap(memory, g.mapped_bytes);
		return err;
	}
	/* A fork child must not write into its parent's journal, not even by mistake. */
	vt_sys_advise(memory, g.mapped_bytes, MADV_DONTFORK);
	g.slots = (unsigned char *)memory + VT_JOURNAL_HEADER_BYTES;
	g.limit_slots = ((g.is_in_pieces ? most_address_space() : g.mapped_bytes) -
			 VT_JOURNAL_HEADER_BYTES) / VT_CHUNK_BYTES * VT_CHUNK_SLOTS;
	g.is_growing = 0;
	g.next_try_slots = 0;
	g.remapped_slots = 0;
	g.paused_until_ns = 0;
	g.is_stopping = 0;
	g.has_said_paused = 0;
	g.allocated_slots = VT_CHUNK_SLOTS;
	__atomic_store_n(&g.capacity_slots, prepare_step(fd, 0), __ATOMIC_RELAXED);
	fill_header(memory);
	/* Nothing that is recorded was alive then. */
	g.recorded_lost = ((struct vt_journal_header *)memory)->lost_events;
	if (g.is_plain)
		vt_journal_plain_start(memory, g.slots);
	__atomic_store_n(&g.header, memory, __ATOMIC_RELEASE);
	return 0;
}

void vt_journal_set_limit(uint64_t most_bytes)
{
	g.most_bytes = most_bytes;
}

int vt_journal_open(const char *path)
{
	int fd = vt_journal_disk_create(path);
	int err;

	if (fd < 0)
		return fd;
	err = map_new_file(fd);
	vt_sys_close(fd);
	if (err)
		vt_sys_unlink(path);
	return err;
}

void vt_journal_forget(void)
{
	/*
	 * The kernel did not give the child the mapping (MADV_DONTFORK): there is nothing to unmap.
	 */
	__atomic_store_n(&g.header, NULL, __ATOMIC_RELAXED);
	g.slots = NULL;
	g.is_growing = 0;
	g.nr_events = 0;
}

static void say(const char *what, int error)
{
	char buffer[VT_OUTPUT_MAX + 256];
	struct vt_text text;

	vt_text_init(&text, buffer, sizeof(buffer));
	vt_text_add(&text, "vtrace: recording ");
	vt_text_add(&text, what);
	vt_text_add(&text, "; the program continues: ");
	vt_text_add(&text, vt_journal_disk_path());
	vt_text_add(&text, ": ");
	vt_text_add_error(&text, error);
	vt_text_add_char(&text, '\n');
	vt_text_say(&text);
}

/* Ends the recording for a reason (errno), says so once on standard error. */
static void stop(int error)
{
	struct vt_journal_header *header = vt_journal_header();

	if (!header || __atomic_exchange_n(&g.is_stopping, 1, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&header->off_reason, (uint32_t)error, __ATOMIC_RELAXED);
	/* What is whole may still find its way; after this only the header is written. */
	if (g.is_plain)
		vt_journal_plain_write();
	__atomic_store_n(&header->state, VT_JOURNAL_OFF, __ATOMIC_RELEASE);
	if (g.is_plain) {
		vt_journal_count_lost(vt_journal_plain_nr_unwritten());
		vt_journal_plain_write();
	}
	say("stopped", error);
}

/*
 * The importer may make room again.  Until then events are only counted; the reason stays in the
 * header if it never does.  Only the thread that grows is here, and in resume().
 */
static void pause_at_limit(void)
{
	uint64_t until = vt_sys_now_ns(CLOCK_MONOTONIC_COARSE) + PAUSE_NS;
	uint32_t none = 0;

	if (!__atomic_exchange_n(&g.paused_until_ns, until, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&g.header->off_reason, &none, EFBIG, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void say_paused(void)
{
	if (!__atomic_exchange_n(&g.has_said_paused, 1, __ATOMIC_RELAXED))
		say("paused", EFBIG);
}

static void resume(void)
{
	uint32_t limit = EFBIG;

	/* A reason that stop() gave is the last one. */
	if (__atomic_load_n(&g.is_stopping, __ATOMIC_RELAXED))
		return;
	if (__atomic_exchange_n(&g.paused_until_ns, 0, __ATOMIC_RELAXED))
		__atomic_compare_exchange_n(&g.header->off_reason, &limit, 0, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

static int is_paused(void)
{
	uint64_t until = __atomic_load_n(&g.paused_until_ns, __ATOMIC_RELAXED);

	return until && vt_sys_now_ns(CLOCK_MONOTONIC_COARSE) < until;
}

struct vt_journal_header *vt_journal_header(void)
{
	return __atomic_load_n(&g.header, __ATOMIC_ACQUIRE);
}

int vt_journal_is_recording(void)
{
	struct vt_journal_header *header = vt_journal_header();

	return header && __atomic_load_n(&header->state, __ATOMIC_RELAXED) != VT_JOURNAL_OFF &&
	       !is_paused();
}

void vt_journal_count_lost(uint64_t nr_events)
{
	struct vt_journal_header *header = vt_journal_header();

	if (header)
		__atomic_fetch_add(&header->lost_events, nr_events, __ATOMIC_RELAXED);
	else
		count_early_lost(nr_events);
}

uint64_t vt_journal_take_losses(void)
{
	struct vt_journal_header *header = vt_journal_header();
	uint64_t lost, recorded;

	if (!header)
		return 0;
	lost = __atomic_load_n(&header->lost_events, __ATOMIC_RELAXED);
	recorded = __atomic_load_n(&g.recorded_lost, __ATOMIC_RELAXED);
	if (lost <= recorded || !vt_journal_is_recording() ||
	    !__atomic_compare_exchange_n(&g.recorded_lost, &recorded, lost, 0, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return 0;
	return lost - recorded;
}

void vt_journal_give_back_losses(uint64_t nr_events)
{
	__atomic_fetch_sub(&g.recorded_lost, nr_events, __ATOMIC_RELAXED);
}

uint64_t vt_journal_nr_events(void)
{
	return __atomic_load_n(&g.nr_events, __ATOMIC_RELAXED);
}

/* The memory of the chunk from there on.  Returns 0 or a negative errno. */
static int open_up(int fd, uint64_t slots)
{
	unsigned char *where = g.slots + slots * VT_SLOT_BYTES;
	int err;

	if (!g.is_in_pieces)
		return vt_sys_allow(where, VT_CHUNK_BYTES);
	err = vt_sys_map_file_at(where, fd, file_bytes(slots), VT_CHUNK_BYTES);
	if (!err)
		vt_sys_advise(where, VT_CHUNK_BYTES, MADV_DONTFORK);
	return err;
}

/*
 * Whoever is stopped in the middle of a record that the importer has given up may still write there
 * later: the same memory is mapped in its place, in one call.
 */
static void drop_page_tables(int fd)
{
	uint64_t imported = __atomic_load_n(&g.header->imported_slots, __ATOMIC_ACQUIRE);
	uint64_t end = imported / VT_CHUNK_SLOTS * VT_CHUNK_SLOTS, from = g.remapped_slots;
	unsigned char *where = g.slots + from * VT_SLOT_BYTES;

	if (g.is_plain || end > g.allocated_slots || end < from + REMAP_SLOTS)
		return;
	if (!vt_sys_map_file_again(where, fd, file_bytes(from), (end - from) * VT_SLOT_BYTES))
		vt_sys_advise(where, (end - from) * VT_SLOT_BYTES, MADV_DONTFORK);
	g.remapped_slots = end;
}

/* Returns 0, AT_LIMIT or a negative errno. */
static int allocate_chunk(int fd)
{
	uint64_t slots = g.allocated_slots;
	int err;

	/* What the importer gave back does not count. */
	if (g.most_bytes && vt_sys_disk_bytes(fd) + VT_CHUNK_BYTES > g.most_bytes)
		return AT_LIMIT;
	err = vt_sys_allocate(fd, file_bytes(slots), VT_CHUNK_BYTES);
	if (!err)
		err = open_up(fd, slots);
	if (!err)
		g.allocated_slots = slots + VT_CHUNK_SLOTS;
	drop_page_tables(fd);
	return err;
}

/* Makes the step after the present capacity.  Only one thread is here.  As allocate_chunk(). */
static int grow(void)
{
	uint64_t capacity = __atomic_load_n(&g.capacity_slots, __ATOMIC_RELAXED);
	uint64_t half, end;
	int err = 0;
	int fd;

	if (capacity >= g.limit_slots)
		return -EFBIG;
	fd = vt_journal_disk_open();
	if (fd < 0)
		return fd;
	if (capacity == g.allocated_slots)
		err = allocate_chunk(fd);
	if (!err) {
		half = g.allocated_slots - VT_CHUNK_SLOTS / 2;
		end = prepare_step(fd, capacity);
		__atomic_store_n(&g.capacity_slots, end, __ATOMIC_RELEASE);
		/* What fails here is met again, and reported, when the chunk is needed. */
		if (capacity < half && end >= half && g.allocated_slots < g.limit_slots)
			allocate_chunk(fd);
	}
	vt_sys_close(fd);
	return err;
}

/* Returns 0 if this thread grew the file, 1 if another one is at it, or what grow() said. */
static int try_grow(uint64_t wanted_slots, int is_needed)
{
	int err = 0;

	if (__atomic_exchange_n(&g.is_growing, 1, __ATOMIC_ACQUIRE))
		return 1;
	if (__atomic_load_n(&g.capacity_slots, __ATOMIC_RELAXED) < wanted_slots) {
		err = grow();
		if (!err)
			resume();
		else if (err == AT_LIMIT && is_needed)
			pause_at_limit();
	}
	__atomic_store_n(&g.is_growing, 0, __ATOMIC_RELEASE);
	return err;
}

/* Waits until the file holds that many slots.  Returns 0 or -1: then the record is lost. */
static int need_capacity(uint64_t slots)
{
	uint64_t give_up_ns = 0;
	int err;

	while (__atomic_load_n(&g.capacity_slots, __ATOMIC_ACQUIRE) < slots) {
		if (!vt_journal_is_recording())
			return -1;
		err = try_grow(slots, 1);
		if (err < 0)
			stop(-err);
		else if (err == AT_LIMIT)
			say_paused();
		if (err < 0 || err == AT_LIMIT)
			return -1;
		if (err == 0)
			continue;
		/*
		 * The growing thread may never come back (cancelled, a jump out of a signal handler
		 * that met it there, a kill aimed at one thread).  Nobody else can grow then: it
		 * ends here, or every later event would wait as long and be lost.
		 */
		if (!give_up_ns)
			give_up_ns = vt_sys_now_ns(CLOCK_MONOTONIC) + GROW_WAIT_NS;
		else if (vt_sys_now_ns(CLOCK_MONOTONIC) > give_up_ns)
			stop(ETIMEDOUT);
		vt_sys_yield();
	}
	return 0;
}

/* Half of the last step is used: have the next one ready before anybody needs it. */
static void prepare_next_step(uint64_t head)
{
	uint64_t capacity = __atomic_load_n(&g.capacity_slots, __ATOMIC_RELAXED);
	int err;

	if (head + STEP_SLOTS / 2 <= capacity || capacity >= g.limit_slots ||
	    head < __atomic_load_n(&g.next_try_slots, __ATOMIC_RELAXED))
		return;
	/*
	 * A failure here is met again, and reported, when the space is really needed.  Not at every
	 * event: a file system that is nearly full may take long to find that out (tmpfs: 0.5 ms).
	 */
	err = try_grow(capacity + 1, 0);
	if (err < 0 || err == AT_LIMIT)
		__atomic_store_n(&g.next_try_slots, head + VT_CHUNK_SLOTS / 8, __ATOMIC_RELAXED);
}

static void write_pad(uint64_t slot, uint64_t nr_slots)
{
	struct vt_record *pad = (void *)(g.slots + slot * VT_SLOT_BYTES);

	pad->nr_slots = (uint32_t)nr_slots;
	pad->type = VT_RECORD_PAD;
	__atomic_store_n(&pad->commit, vt_record_commit(slot), __ATOMIC_RELEASE);
}

void *vt_journal_reserve(size_t bytes, uint64_t *slot)
{
	struct vt_journal_header *header = vt_journal_header();
	uint64_t need = vt_record_slots(bytes);
	uint64_t head;
	uint64_t take;

	if (!header || bytes > VT_RECORD_MAX_BYTES || !vt_journal_is_recording())
		return NULL;
	head = __atomic_load_n(&header->head_slots, __ATOMIC_RELAXED);
	for (;;) {
		uint64_t left = VT_CHUNK_SLOTS - head % VT_CHUNK_SLOTS;

		take = need <= left ? need : left;
		if (need_capacity(head + take))
			return NULL;
		if (!__atomic_compare_exchange_n(&header->head_slots, &head, head + take, 1,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		if (take == need)
			break;
		write_pad(head, take);
		head += take;
	}
	prepare_next_step(head + take);
	*slot = head;
	return g.slots + head * VT_SLOT_BYTES;
}

static void write_batch(void)
{
	int err = vt_journal_plain_write();

	if (err)
		stop(-err);
}

static void seal(struct vt_record *record, size_t bytes, enum vt_record_type type)
{
	record->nr_slots = vt_record_slots(bytes);
	record->type = (uint16_t)type;
	record->sum = vt_record_sum(record);
}

static void publish(struct vt_record *record, uint64_t slot, enum vt_record_type type)
{
	/* Release: whoever sees the commit word sees the record. */
	__atomic_store_n(&record->commit, vt_record_commit(slot), __ATOMIC_RELEASE);
	if (type == VT_RECORD_EVENT || type == VT_RECORD_MARK)
		__atomic_fetch_add(&g.nr_events, 1, __ATOMIC_RELAXED);
	if (g.is_plain && vt_journal_plain_is_due())
		write_batch();
}

void vt_journal_commit(void *record, uint64_t slot, size_t bytes, enum vt_record_type type)
{
	seal(record, bytes, type);
	publish(record, slot, type);
}

void vt_journal_exchange(void)
{
	if (!g.is_plain)
		return;
	write_batch();
	vt_journal_plain_read();
}

int vt_journal_append(void *record, size_t bytes, enum vt_record_type type)
{
	const size_t commit_bytes = sizeof(((struct vt_record *)0)->commit);
	const int is_whole = bytes % VT_SLOT_BYTES == 0;
	uint64_t slot;
	void *place;

	/* Summed up where it is: what has just been written to a page of the file reads slowly. */
	if (is_whole)
		seal(record, bytes, type);
	place = vt_journal_reserve(bytes, &slot);
	if (!place)
		return -1;
	memcpy((char *)place + commit_bytes, (const char *)record + commit_bytes,
	       bytes - commit_bytes);
	if (!is_whole)
		seal(place, bytes, type);
	publish(place, slot, type);
	return 0;
}
