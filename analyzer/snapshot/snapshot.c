/* SPDX-License-Identifier: MIT */
#include "analyzer/snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/progress.h"
#include "analyzer/import/run_keys.h"
#include "analyzer/snapshot/allocator_settings.h"
#include "analyzer/snapshot/device.h"
#include "analyzer/snapshot/unpickle.h"

/* What a file may unpack to: 64 times its size is more than data that is data takes. */
#define MOST_BYTES_PER_BYTE 64
#define MOST_BYTES_FREE	    ((uint64_t)1 << 30)

struct importing {
	struct vt_snapshot_input input;
	struct vt_settings settings;
	struct vt_snapshot_stacks stacks;
	struct vt_writer writer;
	struct vt_device_shared shared;
	VT_VECTOR(struct vt_snapshot_device) devices;
	uint32_t next_annotation;
	VT_VECTOR(uint32_t) open; /* annotations: strings */
	uint64_t first_time_us;	  /* of all entries; 0: none has a time */
	uint64_t nr_entries;
};

int vt_snapshot_is_one(const char *path)
{
	static const char *const suffixes[] = { ".pickle",    ".pkl",	    ".pickle.gz",
						".pkl.gz",    ".pickle.zip", ".pkl.zip" };
	unsigned char head[4];
	int fd = vt_util_open_regular(path);
	ssize_t len = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	/* Databases and journals have names of the user's choice. */
	if (len < (ssize_t)sizeof(head) || !memcmp(head, "SQLi", 4) || !memcmp(head, "VACE", 4))
		return 0;
	if (vt_stream_content(head, (size_t)len) != VT_STREAM_UNKNOWN)
		return 1;
	for (size_t i = 0; i < VT_ARRAY_SIZE(suffixes); i++)
		if (vt_util_has_suffix(path, suffixes[i]))
			return 1;
	return 0;
}

static void show_progress(void *context, uint64_t done, uint64_t all)
{
	vt_progress_share(context, done, all);
}

static int unpack(struct importing *im, const char *path, struct vt_progress *progress,
		  struct vt_diag *diag)
{
	struct vt_stream *stream;
	int rc;

	if (vt_stream_open(&stream, path, diag))
		return -1;
	vt_values_init(&im->input.values,
		       MOST_BYTES_FREE + MOST_BYTES_PER_BYTE * vt_stream_file_bytes(stream));
	rc = vt_unpickle(&im->input.values, stream, &im->input.root,
			    progress ? show_progress : NULL, progress, diag);
	vt_stream_close(stream);
	return rc ? rc : vt_snapshot_input_init(&im->input, diag);
}

/* Devices are those with a trace, and those with a segment. */
static int begin_devices(struct importing *im, struct vt_diag *diag)
{
	uint32_t nr = im->input.traces.len;
	struct vt_snapshot_segment segment;

	for (uint32_t i = 0; i < im->input.segments.len; i++) {
		if (vt_snapshot_segment_read(&im->input, i, &segment, diag))
			return -1;
		if ((uint32_t)segment.device >= nr)
			nr = (uint32_t)segment.device + 1;
	}
	vt_vector_reserve(&im->devices, nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct vt_snapshot_device *device = &im->devices.items[im->devices.len++];
		uint64_t time_us;

		if (vt_snapshot_device_init(device, (int)i, &im->shared, diag))
			return -1;
		time_us = device->start.time_us;
		if (time_us && (!im->first_time_us || time_us < im->first_time_us))
			im->first_time_us = time_us;
	}
	im->writer.time_ns = im->first_time_us * 1000;
	for (uint32_t i = 0; i < nr; i++)
		if (vt_snapshot_device_begin(&im->devices.items[i], diag))
			return -1;
	return 0;
}

/* Time does not go back: entries of several threads are a microsecond out of order now and then. */
static void set_time(struct importing *im, uint64_t time_us)
{
	if (time_us * 1000 > im->writer.time_ns)
		im->writer.time_ns = time_us * 1000;
}

static int take_annotation(struct importing *im, const struct vt_snapshot_annotation *annotation,
			   struct vt_diag *diag)
{
	uint32_t name;

	if (vt_snapshot_stacks_string(&im->stacks, annotation->name, &name)) {
		vt_db_diag(im->writer.db, diag);
		return -1;
	}
	if (!annotation->is_end) {
		vt_vector_push(&im->open, name);
	} else {
		/* Those inside end with it; what was never begun ends nothing. */
		for (size_t i = im->open.len; i-- > 0;)
			if (im->open.items[i] == name) {
				im->open.len = i;
				break;
			}
	}
	im->shared.scope = im->open.len ? im->open.items[im->open.len - 1] : 0;
	set_time(im, annotation->time_us);
	return vt_writer_mark(&im->writer, annotation->is_end ? VT_MARK_END : VT_MARK_BEGIN, name,
			      diag);
}

/* What was annotated up to that time. */
static int take_annotations(struct importing *im, uint64_t until_us, struct vt_diag *diag)
{
	struct vt_snapshot_annotation annotation;

	for (; im->next_annotation < im->input.annotations.len; im->next_annotation++) {
		vt_snapshot_annotation_read(&im->input, im->next_annotation, &annotation);
		if (annotation.is_end < 0)
			continue;
		if (annotation.time_us > until_us)
			return 0;
		if (take_annotation(im, &annotation, diag))
			return -1;
	}
	return 0;
}

/* The next entry of a device, if it has one. */
struct head {
	struct vt_snapshot_entry entry;
	uint32_t index;
	uint32_t nr;
	uint64_t time_us; /* not before that of the entry before it */
};

static int read_head(struct importing *im, struct head *head, uint32_t device,
		     struct vt_diag *diag)
{
	if (head->index == head->nr)
		return 0;
	if (vt_snapshot_entry_read(&im->input, device, head->index, &head->entry, diag))
		return -1;
	if (head->entry.time_us > head->time_us)
		head->time_us = head->entry.time_us;
	return 0;
}

/* Of the devices that have one the one with the earliest entry; -1: none has. */
static int earliest(const struct head *heads, uint32_t nr)
{
	int found = -1;

	for (uint32_t i = 0; i < nr; i++)
		if (heads[i].index < heads[i].nr &&
		    (found < 0 || heads[i].time_us < heads[found].time_us))
			found = (int)i;
	return found;
}

static int follow_traces(struct importing *im, struct vt_diag *diag)
{
	const uint32_t nr = im->input.traces.len;
	struct head *heads = vt_xcalloc(nr + 1u, sizeof(*heads));
	int at, rc = 0;

	for (uint32_t i = 0; i < nr && !rc; i++) {
		heads[i].nr = vt_snapshot_trace(&im->input, i).len;
		rc = read_head(im, &heads[i], i, diag);
	}
	while (!rc && (at = earliest(heads, nr)) >= 0) {
		struct head *head = &heads[at];

		rc = take_annotations(im, head->time_us, diag);
		set_time(im, head->time_us);
		if (!rc)
			rc = vt_snapshot_device_take(&im->devices.items[at], &head->entry, diag);
		head->index++;
		im->nr_entries++;
		if (!rc)
			rc = read_head(im, head, (uint32_t)at, diag);
	}
	free(heads);
	return rc ? rc : take_annotations(im, UINT64_MAX, diag);
}

/* What the traces begin with, for who reads the figures. */
static uint64_t count_earlier(const struct importing *im)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < im->devices.len; i++)
		nr += im->devices.items[i].start.blocks.len;
	return nr;
}

static int end_devices(struct importing *im, struct vt_diag *diag)
{
	int is_known = 0;

	/* All, or none: those with a row come first. */
	for (size_t i = 0; i < im->devices.len; i++)
		is_known |= im->devices.items[i].most_bytes != 0;
	for (size_t i = 0; i < im->devices.len && is_known; i++)
		if (vt_snapshot_device_end(&im->devices.items[i], diag))
			return -1;
	return 0;
}

static int write_run(struct importing *im, struct vt_diag *diag)
{
	struct vt_db *db = im->writer.db;
	const int64_t start_ns = (int64_t)im->first_time_us * 1000;
	struct vt_buffer text;
	int rc = 0;

	vt_buffer_init(&text);
	vt_settings_print(&im->settings, &text);
	rc |= vt_db_run_set(db, "snapshot", vt_util_base_name(im->input.path));
	rc |= vt_db_run_set_int(db, "snapshot_entries", (int64_t)im->nr_entries);
	rc |= vt_db_run_set_int(db, "snapshot_earlier_blocks", (int64_t)count_earlier(im));
	rc |= vt_db_run_set(db, vt_run_key(VT_RUN_ENDED), "snapshot");
	rc |= vt_db_run_set_int(db, vt_run_key(VT_RUN_START_TIME), start_ns);
	rc |= vt_db_run_set_int(db, vt_run_key(VT_RUN_START_REALTIME), start_ns);
	rc |= vt_db_run_set_int(db, vt_run_key(VT_RUN_DURATION),
				(int64_t)im->writer.time_ns - start_ns);
	if (text.len)
		rc |= vt_db_run_set(db, "env:PYTORCH_CUDA_ALLOC_CONF", text.data);
	vt_buffer_release(&text);
	if (rc)
		vt_db_diag(db, diag);
	return rc ? -1 : 0;
}

static void release(struct importing *im)
{
	for (size_t i = 0; i < im->devices.len; i++)
		vt_snapshot_device_release(&im->devices.items[i]);
	vt_vector_release(&im->devices);
	vt_vector_release(&im->open);
	vt_writer_release(&im->writer);
	vt_snapshot_stacks_release(&im->stacks);
}

int vt_snapshot_import(const char *path, struct vt_db *db, struct vt_progress *progress,
		       struct vt_diag *diag)
{
	struct importing im = { .input.path = path };
	int rc = unpack(&im, path, progress, diag);

	if (!rc) {
		vt_allocator_settings_read(&im.settings, &im.input);
		im.shared = (struct vt_device_shared){ .input = &im.input,
						       .stacks = &im.stacks,
						       .writer = &im.writer,
						       .settings = &im.settings };
		vt_snapshot_stacks_init(&im.stacks, &im.input, db);
		rc = vt_writer_init(&im.writer, db, diag) || begin_devices(&im, diag) ||
		     follow_traces(&im, diag) || end_devices(&im, diag) ||
		     write_run(&im, diag) ||
		     vt_writer_finish(&im.writer, diag);
		if (rc)
			vt_db_rollback(db);
		release(&im);
	}
	vt_values_release(&im.input.values);
	return rc ? -1 : 0;
}
