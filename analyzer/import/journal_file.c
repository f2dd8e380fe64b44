/* SPDX-License-Identifier: MIT */
#include "analyzer/import/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/base/process.h"
#include "analyzer/base/util.h"

#define LOCK_TRIES    5
#define LOCK_PAUSE_NS 10000000

/* Of the header: the importer's part follows it. */
#define PROGRAM_BYTES offsetof(struct vt_journal_header, imported_slots)

static int refuse(enum vt_journal_refusal refusal, const char *path,
		  const struct vt_journal_header *header, struct vt_diag *diag)
{
	switch (refusal) {
	case VT_JOURNAL_OK:
		return 0;
	case VT_JOURNAL_EMPTY:
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: empty journal, nothing was recorded",
			    path);
		break;
	case VT_JOURNAL_FOREIGN:
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a vtrace journal", path);
		break;
	case VT_JOURNAL_NEWER:
		vt_diag_set(diag, VT_EXIT_UNREADABLE,
			    "%s: written by a newer vtrace: version %u for readers from %u; this "
			    "version (%s) reads %d",
			    path, header->version, header->minimum_reader, VTRACE_VERSION,
			    VT_JOURNAL_VERSION);
		break;
	case VT_JOURNAL_DAMAGED:
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: damaged journal header", path);
		break;
	}
	return -1;
}

/* Reads and checks the header with plain reads. */
static int read_header(int fd, const char *path, struct vt_journal_header *header,
		       struct vt_diag *diag)
{
	struct stat st;
	ssize_t len;

	memset(header, 0, sizeof(*header));
	if (fstat(fd, &st)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (!S_ISREG(st.st_mode)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: not a regular file", path);
		return -1;
	}
	len = pread(fd, header, sizeof(*header), 0);
	if (len < 0) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (len > 0 && len < (ssize_t)sizeof(*header) && header->magic != VT_JOURNAL_MAGIC)
		return refuse(VT_JOURNAL_FOREIGN, path, header, diag);
	if (refuse(vt_journal_check(header, (size_t)len), path, header, diag))
		return -1;
	return st.st_size < VT_JOURNAL_HEADER_BYTES ? refuse(VT_JOURNAL_EMPTY, path, header, diag)
						    : 0;
}

/* Maps what the file has now; unmaps what was mapped before. */
static int map_again(struct vt_journal_file *file, uint64_t bytes)
{
	void *map;

	if (file->is_plain)
		map = mremap(file->map, file->map_bytes, bytes, MREMAP_MAYMOVE);
	else
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
	if (map == MAP_FAILED)
		return -1;
	if (file->map && !file->is_plain)
		munmap(file->map, file->map_bytes);
	file->map = map;
	file->map_bytes = bytes;
	return 0;
}

static int read_exactly(int fd, char *to, uint64_t bytes, uint64_t offset)
{
	while (bytes) {
		ssize_t len = pread(fd, to, bytes, (off_t)offset);

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0) {
			errno = len ? errno : EIO;
			return -1;
		}
		to += len;
		offset += (uint64_t)len;
		bytes -= (uint64_t)len;
	}
	return 0;
}

/*
 * Some file systems (FUSE with direct I/O, some network and shared-folder ones) do not map files
 * shared: what they hold is then read.
 */
static int copy_first(struct vt_journal_file *file, uint64_t bytes)
{
	file->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (file->map == MAP_FAILED) {
		file->map = NULL;
		return -1;
	}
	file->map_bytes = bytes;
	file->is_plain = 1;
	if (read_exactly(file->fd, file->map, sizeof(struct vt_journal_header), 0))
		return -1;
	/* Chunks below were given back. */
	file->read_slots = vt_journal_file_header(file)->imported_slots / VT_CHUNK_SLOTS *
			   VT_CHUNK_SLOTS;
	return 0;
}

/* The program's part of the header, which is ours only to read. */
static int read_program_part(struct vt_journal_file *file)
{
	return file->is_plain ? read_exactly(file->fd, file->map, PROGRAM_BYTES, 0) : 0;
}

/* What lies below `nr_slots` is never written again: what was read once stays. */
static int read_slots(struct vt_journal_file *file, uint64_t nr_slots)
{
	uint64_t offset = VT_JOURNAL_HEADER_BYTES + file->read_slots * VT_SLOT_BYTES;
	uint64_t end = VT_JOURNAL_HEADER_BYTES + nr_slots * VT_SLOT_BYTES;

	if (!file->is_plain || nr_slots <= file->read_slots)
		return 0;
	if (read_exactly(file->fd, (char *)file->map + offset, end - offset, offset))
		return -1;
	file->read_slots = nr_slots;
	return 0;
}

static void write_own_part(struct vt_journal_file *file)
{
	ssize_t len = sizeof(struct vt_journal_header) - PROGRAM_BYTES;

	/* What does not arrive makes the program wait at its end, as long as asked. */
	if (file->is_plain && pwrite(file->fd, (char *)file->map + PROGRAM_BYTES, (size_t)len,
				     PROGRAM_BYTES) != len)
		return;
}

static void release(struct vt_journal_file *file)
{
	if (file->map)
		munmap(file->map, file->map_bytes);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	memset(file, 0, sizeof(*file));
	file->fd = -1;
}

/* Another command may be asking vt_journal_file_is_held, which takes the lock for an instant. */
static int lock(int fd)
{
	struct timespec pause = { 0, LOCK_PAUSE_NS };
	int rc = -1;

	for (int i = 0; i < LOCK_TRIES && (rc = flock(fd, LOCK_EX | LOCK_NB)); i++) {
		if (errno != EWOULDBLOCK)
			break;
		nanosleep(&pause, NULL);
	}
	return rc;
}

static void set_importer(struct vt_journal_file *file, uint32_t pid)
{
	if (file->is_elsewhere)
		return;
	__atomic_store_n(&vt_journal_file_header(file)->importer_pid, pid, __ATOMIC_RELAXED);
	write_own_part(file);
}

int vt_journal_file_is_elsewhere(const struct vt_journal_header *header)
{
	return vt_process_is_elsewhere(header->boot_hash, header->pid_namespace);
}

/* `head` was read before the file's size: what it counts was grown into the file before. */
static uint64_t slots_in_file(struct vt_journal_file *file, uint64_t head)
{
	uint64_t in_file = (file->map_bytes - VT_JOURNAL_HEADER_BYTES) / VT_SLOT_BYTES;

	file->missing_slots = head > in_file ? head - in_file : 0;
	return head - file->missing_slots;
}

enum vt_journal_open vt_journal_file_open(struct vt_journal_file *file, const char *path,
					  struct vt_diag *diag)
{
	enum vt_journal_open rc = VT_JOURNAL_FAILED;
	struct vt_journal_header header;
	struct stat st;

	memset(file, 0, sizeof(*file));
	file->path = vt_xstrdup(path);
	file->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0) {
		/* The caller has seen it: its importer has deleted it since. */
		if (errno == ENOENT)
			rc = VT_JOURNAL_GONE;
		else
			vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (read_header(file->fd, path, &header, diag))
		goto out;
	if (lock(file->fd)) {
		rc = errno == EWOULDBLOCK ? VT_JOURNAL_BUSY : VT_JOURNAL_FAILED;
		if (rc == VT_JOURNAL_FAILED)
			vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		goto out;
	}
	/* The former holder deletes the file before it releases the lock. */
	if (fstat(file->fd, &st) || st.st_nlink == 0) {
		rc = VT_JOURNAL_GONE;
		goto out;
	}
	if (map_again(file, (uint64_t)st.st_size) && copy_first(file, (uint64_t)st.st_size)) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		goto out;
	}
	slots_in_file(file, header.head_slots);
	file->is_elsewhere = vt_journal_file_is_elsewhere(&header);
	set_importer(file, (uint32_t)getpid());
	return VT_JOURNAL_OPENED;
out:
	release(file);
	return rc;
}

void vt_journal_file_close(struct vt_journal_file *file)
{
	if (file->map)
		set_importer(file, 0);
	release(file);
}

int vt_journal_file_peek(const char *path, struct vt_journal_header *header, struct vt_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd < 0) {
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path, strerror(errno));
		return -1;
	}
	rc = read_header(fd, path, header, diag);
	close(fd);
	return rc;
}

int vt_journal_file_is_held(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int is_held;

	if (fd < 0)
		return 0;
	is_held = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return is_held;
}

struct vt_journal_header *vt_journal_file_header(struct vt_journal_file *file)
{
	return file->map;
}

const void *vt_journal_file_slots(struct vt_journal_file *file, uint64_t *nr_slots)
{
	struct stat st;
	uint64_t head;

	if (read_program_part(file))
		return NULL;
	head = __atomic_load_n(&vt_journal_file_header(file)->head_slots, __ATOMIC_ACQUIRE);
	if (fstat(file->fd, &st))
		return NULL;
	if ((uint64_t)st.st_size < VT_JOURNAL_HEADER_BYTES) {
		errno = EIO;
		return NULL;
	}
	if ((uint64_t)st.st_size != file->map_bytes && map_again(file, (uint64_t)st.st_size))
		return NULL;
	*nr_slots = slots_in_file(file, head);
	if (read_slots(file, *nr_slots))
		return NULL;
	return (const char *)file->map + VT_JOURNAL_HEADER_BYTES;
}

void vt_journal_file_publish(struct vt_journal_file *file,
			     const struct vt_import_progress *progress)
{
	struct vt_journal_header *header = vt_journal_file_header(file);

	if (file->is_elsewhere || file->missing_slots)
		return;
	__atomic_store_n(&header->event_count, progress->event_count, __ATOMIC_RELAXED);
	/* Last, with release: who sees this count sees the figures that belong to it. */
	__atomic_store_n(&header->imported_slots, progress->imported_slots, __ATOMIC_RELEASE);
	write_own_part(file);
}

void vt_journal_file_publish_peak(struct vt_journal_file *file, uint64_t slots, uint64_t bytes,
				  int32_t device)
{
	struct vt_journal_header *header = vt_journal_file_header(file);

	if (file->is_elsewhere || file->missing_slots)
		return;
	__atomic_store_n(&header->peak_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&header->peak_device, device, __ATOMIC_RELAXED);
	__atomic_store_n(&header->peak_slots, slots, __ATOMIC_RELEASE);
	write_own_part(file);
}

void vt_journal_file_recycle(struct vt_journal_file *file, uint64_t slot)
{
	uint64_t chunks = slot / VT_CHUNK_SLOTS;
	off_t start = (off_t)(VT_JOURNAL_HEADER_BYTES + file->punched_chunks * VT_CHUNK_BYTES);

	if (file->is_elsewhere || file->missing_slots || chunks <= file->punched_chunks)
		return;
	/* Refused by file systems without holes: the journal is then as large as it was written. */
	fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start,
		  (off_t)((chunks - file->punched_chunks) * VT_CHUNK_BYTES));
	if (file->is_plain)
		madvise((char *)file->map + start, (chunks - file->punched_chunks) * VT_CHUNK_BYTES,
			MADV_DONTNEED);
	file->punched_chunks = chunks;
}

int vt_journal_file_delete(struct vt_journal_file *file)
{
	return unlink(file->path);
}
