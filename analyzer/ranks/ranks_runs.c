/* SPDX-License-Identifier: MIT */
#include "analyzer/ranks/ranks_runs.h"

#include <string.h>

#include "analyzer/analysis/ended.h"
#include "analyzer/analysis/program_name.h"
#include "analyzer/base/sort.h"
#include "analyzer/base/util.h"
#include "analyzer/ranks/folder.h"
#include "analyzer/ranks/readers.h"

static int is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static int has_rank(const struct vt_ranks_run *run, int64_t number)
{
	for (uint32_t i = 0; i < run->nr; i++)
		if (run->ranks[i]->number == number)
			return 1;
	return 0;
}

/* The latest one that it can belong to. */
static struct vt_ranks_run *find_run(struct vt_ranks_runs *runs, const struct vt_rank *rank)
{
	for (uint32_t i = runs->nr; i-- > 0;) {
		struct vt_ranks_run *run = &runs->items[i];

		if (run->world_size == (uint32_t)rank->world_size &&
		    is_same(run->ranks[0]->job, rank->job) && !has_rank(run, rank->number))
			return run;
	}
	return NULL;
}

static void add(struct vt_ranks_runs *runs, const struct vt_rank *rank)
{
	struct vt_ranks_run *run = find_run(runs, rank);

	if (!run) {
		runs->items = vt_xrealloc(runs->items, (runs->nr + 1) * sizeof(*runs->items));
		run = &runs->items[runs->nr++];
		*run = (struct vt_ranks_run){ .world_size = (uint32_t)rank->world_size };
	}
	run->ranks = vt_xrealloc(run->ranks, (run->nr + 1) * sizeof(*run->ranks));
	run->ranks[run->nr++] = rank;
}

int vt_ranks_runs_is_running(const struct vt_ranks_runs *runs)
{
	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (!runs->files[i].problem && vt_ended_is_running(runs->files[i].ended))
			return 1;
	return 0;
}

int vt_ranks_runs_compare_starts(const void *a, const void *b)
{
	const struct vt_rank *x = *(const struct vt_rank *const *)a;
	const struct vt_rank *y = *(const struct vt_rank *const *)b;

	if (x->start_realtime_ns != y->start_realtime_ns)
		return x->start_realtime_ns < y->start_realtime_ns ? -1 : 1;
	return strcmp(x->file, y->file);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct vt_rank *x = *(const struct vt_rank *const *)a;
	const struct vt_rank *y = *(const struct vt_rank *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Python's multiprocessing starts its processes so: ranks, and workers beside who trains. */
static int is_spawned(const struct vt_rank *rank)
{
	return !rank->problem && rank->command &&
	       strstr(rank->command, "\"--multiprocessing-fork\"") != NULL;
}

/* Of what it had in blocks; where there are none, of the device. */
static int used_less(const struct vt_rank *one, const struct vt_rank *other)
{
	if (one->allocated_bytes != other->allocated_bytes)
		return one->allocated_bytes < other->allocated_bytes;
	return one->peak_bytes < other->peak_bytes;
}

/* It started the others and did no work itself: each of them used more. */
static int is_starter(const struct vt_ranks_runs *runs, const struct vt_rank *rank)
{
	int has_spawned = 0;

	if (is_spawned(rank))
		return 0;
	for (uint32_t i = 0; i < runs->nr_files; i++) {
		const struct vt_rank *child = &runs->files[i];

		if (!is_spawned(child))
			continue;
		has_spawned = 1;
		if (!used_less(rank, child))
			return 0;
	}
	return has_spawned;
}

static int is_of_one_process(const struct vt_rank *one, const struct vt_rank *other)
{
	return one->pid == other->pid && one->start_time_ns == other->start_time_ns &&
	       one->start_realtime_ns == other->start_realtime_ns &&
	       one->number == other->number && is_same(one->host, other->host) &&
	       is_same(one->command, other->command);
}

/* Whether it says more of their process; of equal ones the one that is not a snapshot. */
static int says_more(const struct vt_rank *one, const struct vt_rank *other)
{
	if (one->events != other->events)
		return one->events > other->events;
	if (one->is_snapshot != other->is_snapshot)
		return other->is_snapshot != 0;
	return one < other;
}

/*
 * A process has one recording: others of it are copies, or made by `vtrace snapshot`, and no
 * ranks.
 */
static void find_copies(struct vt_ranks_runs *runs)
{
	for (uint32_t i = 0; i < runs->nr_files; i++) {
		struct vt_rank *file = &runs->files[i];

		for (uint32_t k = 0; k < runs->nr_files && !file->is_copy; k++) {
			const struct vt_rank *other = &runs->files[k];

			if (k == i || file->problem || other->problem || other->is_copy)
				continue;
			file->is_copy =
				is_of_one_process(file, other) && says_more(other, file);
		}
	}
}

int vt_ranks_runs_is_process(const struct vt_rank *file)
{
	return !file->problem && !file->is_copy;
}

/* Processes of a pool, a spawn without variables: as good as ranks where there are no others. */
static void number_here(struct vt_ranks_runs *runs)
{
	int64_t number = 0;

	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (runs->files[i].number != VT_RANK_NONE &&
		    vt_ranks_runs_is_process(&runs->files[i]))
			return;
	runs->is_numbered_here = 1;
	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (vt_ranks_runs_is_process(&runs->files[i]) && !is_starter(runs, &runs->files[i]))
			runs->files[i].number = number++;
}

static int64_t end_of(const struct vt_rank *rank)
{
	return rank->start_realtime_ns + rank->duration_ns;
}

/* Whether one program can have started both: on one host, the same script, or spawned by one. */
static int is_of_one_program(const struct vt_rank *one, const struct vt_rank *other)
{
	char *name = vt_program_name(one->command), *other_name = vt_program_name(other->command);
	int is_one = is_same(one->host, other->host) &&
		     (!strcmp(name, other_name) || is_spawned(one) || is_spawned(other));

	free(name);
	free(other_name);
	return is_one;
}

/*
 * Processes of one start live at the same time.  `by_start`: the recordings without a rank, by
 * their starts.
 */
static int is_unrelated(const struct vt_rank **by_start, uint32_t nr)
{
	int64_t last_end = nr ? end_of(by_start[0]) : 0;

	for (uint32_t i = 1; i < nr; i++) {
		if (by_start[i]->start_realtime_ns > last_end ||
		    !is_of_one_program(by_start[0], by_start[i]))
			return 1;
		if (end_of(by_start[i]) > last_end)
			last_end = end_of(by_start[i]);
	}
	return 0;
}

static void add_all(struct vt_ranks_runs *runs)
{
	const struct vt_rank **by_start =
		vt_xcalloc((size_t)runs->nr_files + 1, sizeof(*by_start));
	uint32_t nr = 0;

	for (uint32_t i = 0; i < runs->nr_files; i++)
		if (vt_ranks_runs_is_process(&runs->files[i]) &&
		    runs->files[i].number != VT_RANK_NONE)
			by_start[nr++] = &runs->files[i];
	vt_sort(by_start, nr, vt_ranks_runs_compare_starts);
	runs->is_unrelated = runs->is_numbered_here && is_unrelated(by_start, nr);
	for (uint32_t i = 0; i < nr; i++)
		add(runs, by_start[i]);
	for (uint32_t i = 0; i < runs->nr; i++)
		vt_sort(runs->items[i].ranks, runs->items[i].nr, compare_numbers);
	free(by_start);
}

struct reading {
	struct vt_ranks_runs *runs;
	const struct vt_rank_options *options;
};

static char *read_rank(const char *file, void *context)
{
	const struct reading *reading = context;
	struct vt_diag diag = { 0 };
	struct vt_rank rank;
	char *text;

	if (vt_rank_read(&rank, file, reading->options, &diag))
		rank.problem = vt_xstrdup(diag.text);
	text = vt_rank_pack(&rank);
	vt_rank_release(&rank);
	return text;
}

static void take_rank(uint32_t index, const char *text, size_t len, const char *problem,
		      void *context)
{
	struct vt_rank *rank = &((struct reading *)context)->runs->files[index];
	char *file = rank->file;

	if (vt_rank_unpack(rank, text, len))
		rank->problem = vt_xstrdup(problem);
	rank->file = file;
}

static void read_ranks(struct vt_ranks_runs *runs, const struct vt_rank_options *options)
{
	struct reading reading = { runs, options };
	struct vt_readers_work work = { .nr = runs->nr_files, .read = read_rank,
					.take = take_rank, .context = &reading };
	const char **files = vt_xcalloc((size_t)runs->nr_files + 1, sizeof(*files));

	for (uint32_t i = 0; i < runs->nr_files; i++)
		files[i] = runs->files[i].file;
	work.files = files;
	vt_readers_run(&work);
	free(files);
}

static int read_files(struct vt_ranks_runs *runs, const char *path,
		      const struct vt_rank_options *options, struct vt_diag *diag)
{
	struct vt_folder folder = { 0 };
	int is_folder = vt_folder_is_one(path);
	int rc = is_folder ? vt_folder_list(&folder, path, diag) : 0;

	runs->nr_files = is_folder ? folder.nr : 1;
	runs->files = vt_xcalloc((size_t)runs->nr_files + 1, sizeof(*runs->files));
	for (uint32_t i = 0; i < runs->nr_files; i++)
		runs->files[i].file = vt_xstrdup(is_folder ? folder.files[i] : path);
	vt_folder_release(&folder);
	if (!rc)
		read_ranks(runs, options);
	return rc;
}

static void choose(struct vt_ranks_runs *runs, uint32_t wanted)
{
	if (wanted && wanted <= runs->nr)
		runs->chosen = &runs->items[wanted - 1];
	for (uint32_t i = 0; i < runs->nr && !wanted; i++)
		if (!runs->chosen || runs->items[i].nr >= runs->chosen->nr)
			runs->chosen = &runs->items[i];
}

static void sort_out(struct vt_ranks_runs *runs, uint32_t wanted)
{
	find_copies(runs);
	number_here(runs);
	add_all(runs);
	choose(runs, wanted);
}

void vt_ranks_runs_of(struct vt_ranks_runs *runs, const struct vt_rank *rank)
{
	memset(runs, 0, sizeof(*runs));
	runs->nr_files = 1;
	runs->files = vt_xcalloc(1, sizeof(*runs->files));
	runs->files[0] = *rank;
	sort_out(runs, 0);
}

int vt_ranks_runs_init(struct vt_ranks_runs *runs, const char *path,
		       const struct vt_rank_options *options, uint32_t wanted,
		       struct vt_diag *diag)
{
	memset(runs, 0, sizeof(*runs));
	if (read_files(runs, path, options, diag))
		return -1;
	sort_out(runs, wanted);
	if (runs->chosen)
		return 0;
	if (runs->nr)
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no run %u in this folder, it has %u",
			    path, wanted, runs->nr);
	else if (vt_folder_is_one(path))
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: none of %u recordings can be read; %s",
			    path, runs->nr_files, runs->files[0].problem);
	else
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s", runs->files[0].problem);
	return -1;
}

void vt_ranks_runs_release(struct vt_ranks_runs *runs)
{
	for (uint32_t i = 0; i < runs->nr; i++)
		free(runs->items[i].ranks);
	for (uint32_t i = 0; i < runs->nr_files; i++)
		vt_rank_release(&runs->files[i]);
	free(runs->items);
	free(runs->files);
	memset(runs, 0, sizeof(*runs));
}

uint32_t *vt_ranks_run_missing(const struct vt_ranks_run *run, uint32_t *nr)
{
	uint32_t *missing = vt_xcalloc((size_t)run->world_size + 1, sizeof(*missing)), at = 0;

	*nr = 0;
	for (uint32_t i = 0; i < run->world_size; i++) {
		while (at < run->nr && run->ranks[at]->number < (int64_t)i)
			at++;
		if (at == run->nr || run->ranks[at]->number != (int64_t)i)
			missing[(*nr)++] = i;
	}
	return missing;
}

const char *vt_ranks_runs_reason(const struct vt_ranks_runs *runs, const struct vt_rank *file)
{
	const struct vt_ranks_run *run = runs->chosen;

	if (file->problem)
		return file->problem;
	if (file->is_copy)
		return "a copy or snapshot of another recording here";
	if (file->number == VT_RANK_NONE)
		return runs->is_numbered_here ? "no rank: the parent of the others" :
						"no rank: not started by a launcher";
	for (uint32_t i = 0; i < run->nr; i++)
		if (run->ranks[i] == file)
			return NULL;
	return has_rank(run, file->number) ? "another run: the rank exists twice" :
					     "another run";
}
