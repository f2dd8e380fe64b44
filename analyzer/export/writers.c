/* SPDX-License-Identifier: MIT */
#include "analyzer/export/writers.h"

#include "analyzer/analysis/program_name.h"
#include "analyzer/base/util.h"
#include "analyzer/model/when.h"

/* Asking for the time of every event would take longer than writing it. */
#define EVENTS_PER_LOOK 4096

int vt_writer_continues(struct vt_writer_job *job, uint64_t done, uint64_t all)
{
	if (done % EVENTS_PER_LOOK)
		return 1;
	vt_progress_share(&job->progress, done, all);
	return !ferror(job->out);
}

int vt_writer_has_device(const struct vt_writer_job *job, int device)
{
	return job->device == VT_WHEN_ALL_DEVICES || job->device == device;
}

char *vt_writer_program(const struct vt_writer_job *job)
{
	char *command = vt_db_run_get(job->analysis->db, "command");
	char *rank = vt_db_run_get(job->analysis->db, "rank");
	char *program = vt_program_name(command);
	char *name = rank ? vt_xasprintf("rank %s, %s", rank, program) : vt_xstrdup(program);

	free(program);
	free(rank);
	free(command);
	return name;
}

const char *vt_writer_device_name(char *out, int device)
{
	snprintf(out, 16, "cuda:%d", device);
	return out;
}
