/* SPDX-License-Identifier: MIT */
#include "preload/journal_plain.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/journal_disk.h"
#include "preload/sys.h"

#define BATCH_SLOTS ((64u << 10) / VT_SLOT_BYTES)
#define BATCH_NS 20000000u
#define WRITE_WAIT_NS 2000000000ull

/* Of the header: the program's part lies before the importer's. */
#define PROGRAM_BYTES offsetof(struct vt_journal_header, imported_slots)
#define IMPORTER_BYTES (sizeof(struct vt_journal_header) - PROGRAM_BYTES)

static struct {
	struct vt_journal_header *header;
	unsigned char *slots;
	uint64_t written_slots;		/* that the file has (atomic) */
	uint64_t released_chunks;	/* whose memory was given back */
	uint64_t written_ns;		/* when (atomic) */
	uint64_t writing_ns;		/* since when a thread writes, 0: none does (atomic) */
} g;

void vt_journal_plain_start(struct vt_journal_header *header, unsigned char *slots)
{
	g.header = header;
	g.slots = slots;
	g.written_slots = 0;
	g.released_chunks = 0;
	g.written_ns = 0;
	g.writing_ns = 0;
}

static uint64_t head_slots(void)
{
	return __atomic_load_n(&g.header->head_slots, __ATOMIC_ACQUIRE);
}

static const struct vt_record *record_at(uint64_t slot)
{
	return (const void *)(g.slots + slot * VT_SLOT_BYTES);
}

static int is_committed(uint64_t slot)
{
	return __atomic_load_n(&record_at(slot)->commit, __ATOMIC_ACQUIRE) ==
	       vt_record_commit(slot);
}

int vt_journal_plain_is_due(void)
{
	uint64_t written = __atomic_load_n(&g.written_slots, __ATOMIC_RELAXED);

	/* The end waits for what it has written; late frees may follow. */
	if (__atomic_load_n(&g.header->state, __ATOMIC_RELAXED) != VT_JOURNAL_RECORDING)
		return 1;
	return head_slots() - written >= BATCH_SLOTS ||
	       vt_sys_now_ns(CLOCK_MONOTONIC) -
			       __atomic_load_n(&g.written_ns, __ATOMIC_RELAXED) >= BATCH_NS;
}

/* Up to the first record that another thread has not finished. */
static uint64_t committed_end(uint64_t from)
{
	uint64_t head = head_slots();

	while (from < head && is_committed(from))
		from += record_at(from)->nr_slots;
	return from;
}

/* Everything below `end` was committed: nobody writes there any more. */
static void release(uint64_t end)
{
	uint64_t chunks = end / VT_CHUNK_SLOTS;

	if (chunks == g.released_chunks)
		return;
	vt_sys_advise(g.slots + g.released_chunks * VT_CHUNK_BYTES,
		      (chunks - g.released_chunks) * VT_CHUNK_BYTES, MADV_DONTNEED);
	g.released_chunks = chunks;
}

static int write_out(int fd)
{
	uint64_t from = g.written_slots;
	struct vt_journal_header header = *g.header;
	/* What was not written when the recording ended was counted as lost. */
	uint64_t end = header.state == VT_JOURNAL_OFF ? from : committed_end(from);
	int err = 0;

	if (end > from)
		err = vt_sys_write_at(fd, record_at(from), (end - from) * VT_SLOT_BYTES,
				      VT_JOURNAL_HEADER_BYTES + from * VT_SLOT_BYTES);
	/* The header last: what it counts is in the file. */
	header.head_slots = end;
	if (!err)
		err = vt_sys_write_at(fd, &header, PROGRAM_BYTES, 0);
	if (err)
		return err;
	__atomic_store_n(&g.written_slots, end, __ATOMIC_RELEASE);
	__atomic_store_n(&g.written_ns, vt_sys_now_ns(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
	release(end);
	return 0;
}

/*
 * Returns 0 when the caller writes, 1 while another thread does, -ETIMEDOUT if that one does not
 * come back (journal.c says how).  The header of an ended recording is then written all the same.
 */
static int begin_writing(void)
{
	uint64_t since_ns = 0;
	uint64_t now_ns = vt_sys_now_ns(CLOCK_MONOTONIC);

	if (__atomic_compare_exchange_n(&g.writing_ns, &since_ns, now_ns, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return 0;
	if (now_ns < since_ns || now_ns - since_ns <= WRITE_WAIT_NS)
		return 1;
	return __atomic_load_n(&g.header->state, __ATOMIC_RELAXED) == VT_JOURNAL_OFF ? 0
										      : -ETIMEDOUT;
}

int vt_journal_plain_write(void)
{
	int fd;
	int err = begin_writing();

	if (err)
		return err < 0 ? err : 0;
	fd = vt_journal_disk_open();
	err = fd < 0 ? fd : write_out(fd);
	if (fd >= 0)
		vt_sys_close(fd);
	__atomic_store_n(&g.writing_ns, 0, __ATOMIC_RELEASE);
	return err;
}

void vt_journal_plain_read(void)
{
	int fd = vt_journal_disk_open();

	if (fd < 0)
		return;
	vt_sys_read_at(fd, (char *)g.header + PROGRAM_BYTES, IMPORTER_BYTES, PROGRAM_BYTES);
	vt_sys_close(fd);
}

uint64_t vt_journal_plain_nr_unwritten(void)
{
	uint64_t head = head_slots();
	uint64_t nr = 0;

	for (uint64_t slot = g.written_slots; slot < head && is_committed(slot);
	     slot += record_at(slot)->nr_slots)
		nr += record_at(slot)->type == VT_RECORD_EVENT ||
		      record_at(slot)->type == VT_RECORD_MARK;
	return nr;
}
