/* SPDX-License-Identifier: MIT */
#include "analyzer/report/whatif.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "analyzer/base/owner_path.h"
#include "analyzer/base/parallel.h"
#include "analyzer/model/when.h"

/* Everything is added up in signed 64-bit numbers; a block of more is none of this world. */
#define MAX_REQUEST 0x1p56

static int is_below(const char *owner, const char *wanted)
{
	return !fnmatch(wanted, owner, 0) ||
	       vt_owner_path_is_below(owner, wanted, strlen(wanted));
}

/* The index of the scale for a block, options->nr_scales where there is none. */
static size_t scale_of(struct vt_whatif *whatif, uint32_t allocation)
{
	const struct vt_whatif_options *options = whatif->options;
	struct vt_attribution *attribution = &whatif->analysis->attribution;
	struct vt_verdict verdict = vt_attribution_judge(attribution, allocation);
	const char *owner = vt_attribution_owner(attribution, verdict.owner);
	size_t i = 0;

	while (i < options->nr_scales && !is_below(owner, options->scales[i].owner))
		i++;
	return i;
}

/* Only a factor of 0 leaves a block out. */
static int scale(uint64_t *request, uint64_t bytes, const struct vt_whatif_scale *by,
		 struct vt_diag *diag)
{
	double scaled = (double)bytes * by->factor;

	if (scaled >= MAX_REQUEST) {
		vt_diag_set(diag, VT_EXIT_USAGE, "--scale %s=%g: no device has that much memory",
			    by->owner, by->factor);
		return -1;
	}
	*request = scaled >= 1 ? (uint64_t)scaled : by->factor > 0;
	return 0;
}

/* What is left of a row takes a byte, too. */
static int resize(uint64_t *request, double factor, struct vt_diag *diag)
{
	double resized = ceil((double)*request * factor);

	if (resized >= MAX_REQUEST) {
		vt_diag_set(diag, VT_EXIT_USAGE, "--batch: no device has that much memory");
		return -1;
	}
	*request = (uint64_t)resized;
	return 0;
}

static int change_request(struct vt_whatif *whatif, struct vt_whatif_device *device,
			  const struct vt_trace_step *step, uint64_t *request, struct vt_diag *diag)
{
	const struct vt_whatif_options *options = whatif->options;
	size_t by = options->nr_scales ? scale_of(whatif, step->allocation) : 0;
	uint64_t bytes = vt_trace_bytes(device->trace, step);
	double factor = 1;

	*request = bytes;
	if (whatif->is_resized)
		factor = vt_scalings_factor(&whatif->scalings, step->allocation, whatif->is);
	if (factor != 1) {
		device->met_batch.bytes += bytes;
		device->met_batch.blocks++;
		if (resize(request, factor, diag))
			return -1;
	}
	if (by == options->nr_scales)
		return 0;
	device->scaled_bytes += bytes;
	device->met[by].bytes += bytes;
	device->met[by].blocks++;
	return scale(request, *request, &options->scales[by], diag);
}

/* By allocation, and of those that failed by their number; NULL where none is changed. */
struct requests {
	uint64_t *bytes;
	uint64_t *failed;
};

static uint64_t request_of(const void *context, const struct vt_trace_step *step)
{
	const struct requests *requests = context;

	return (step->op == VT_TRACE_TAKE ? requests->bytes : requests->failed)[step->allocation];
}

static int change_requests(struct vt_whatif *whatif, struct vt_whatif_device *device,
			   struct requests *requests, struct vt_diag *diag)
{
	const struct vt_trace *trace = device->trace;

	if (!whatif->options->nr_scales && !whatif->is_resized)
		return 0;
	requests->bytes =
		vt_xcalloc((size_t)trace->model->nr_allocations + 1, sizeof(*requests->bytes));
	requests->failed = vt_xcalloc((size_t)trace->model->nr_ooms + 1, sizeof(*requests->failed));
	for (size_t i = 0; i < trace->steps.len; i++) {
		const struct vt_trace_step *step = &trace->steps.items[i];

		if (step->op == VT_TRACE_TAKE &&
		    change_request(whatif, device, step, &requests->bytes[step->allocation], diag))
			return -1;
		if (step->op != VT_TRACE_FAILED)
			continue;
		requests->failed[step->allocation] = vt_trace_bytes(trace, step);
		if (whatif->is_resized &&
		    resize(&requests->failed[step->allocation],
			   vt_scalings_factor_of_failed(&whatif->scalings, step->allocation,
							whatif->is),
			   diag))
			return -1;
	}
	return 0;
}

/* An owner that has nothing here is a mistake, not an answer. */
static int check_scales(const struct vt_whatif *whatif, struct vt_diag *diag)
{
	const struct vt_whatif_options *options = whatif->options;

	for (size_t i = 0; i < options->nr_scales; i++) {
		uint32_t blocks = 0;

		for (uint32_t j = 0; j < whatif->nr_devices; j++)
			blocks += whatif->devices[j].met[i].blocks;
		if (blocks)
			continue;
		vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: no block is owned by \"%s\"%s",
			    vt_db_path(whatif->analysis->db), options->scales[i].owner,
			    i ? ", or an earlier option applies to all of them" : "");
		return -1;
	}
	return 0;
}

static int read_settings(struct vt_settings *settings, const struct vt_trace *trace,
			 const struct vt_whatif_options *options, struct vt_diag *diag)
{
	*settings = trace->settings;
	if (options->settings) {
		vt_settings_init(settings, NULL);
		settings->has_open_list = trace->settings.has_open_list;
		if (vt_settings_parse_known(settings, options->settings, diag))
			return -1;
	}
	if (options->changes && vt_settings_parse_known(settings, options->changes, diag))
		return -1;
	if (settings->is_native)
		return 0;
	vt_diag_set(
		diag, VT_EXIT_USAGE,
		"backend:cudaMallocAsync leaves placing to the driver, which cannot be replayed");
	return -1;
}

/* The rest of the device keeps what it has: the context, other processes, an unseen limit. */
static void change_memory(struct vt_replay_options *asked, const struct vt_trace *trace,
			  uint64_t memory_bytes)
{
	uint64_t reserve = trace->device_bytes > trace->capacity_bytes
				   ? trace->device_bytes - trace->capacity_bytes
				   : 0;

	asked->device_bytes = memory_bytes;
	asked->capacity_bytes = memory_bytes > reserve ? memory_bytes - reserve : 0;
}

/* Of one device: what the two replays of it have in common. */
struct playing {
	struct vt_whatif *whatif;
	struct vt_whatif_device *device;
	struct vt_diag *diag;
	int rc;
};

static int play_asked(const struct playing *playing)
{
	const struct vt_whatif_options *options = playing->whatif->options;
	struct vt_whatif_device *device = playing->device;
	struct requests requests = { 0 };
	struct vt_replay_options asked;
	int rc;

	vt_replay_options_init(&asked, device->trace);
	if (read_settings(&asked.settings, device->trace, options, playing->diag))
		return -1;
	if (options->memory_bytes)
		change_memory(&asked, device->trace, options->memory_bytes);
	rc = change_requests(playing->whatif, device, &requests, playing->diag);
	if (requests.bytes) {
		asked.request_of = request_of;
		asked.request_context = &requests;
	}
	if (!rc)
		vt_replay_run(&device->predicted, device->trace, &asked);
	device->settings = asked.settings;
	device->capacity_bytes = asked.capacity_bytes;
	free(requests.bytes);
	free(requests.failed);
	return rc;
}

/* Beside each other: neither changes the trace, and only the second asks for owners. */
static void play_one(void *context, size_t number)
{
	struct playing *playing = context;

	if (number)
		vt_traces_recorded(playing->device->ready);
	else
		playing->rc = play_asked(playing);
}

static int play(struct vt_whatif *whatif, struct vt_whatif_device *device, struct vt_diag *diag)
{
	struct playing playing = { .whatif = whatif, .device = device, .diag = diag };
	const struct vt_model *model = device->trace->model;

	for (uint32_t i = 0; i < model->nr_ooms; i++)
		device->nr_failed += model->ooms[i].device == device->trace->device;
	vt_parallel_run(2, play_one, &playing);
	device->recorded = vt_traces_recorded(device->ready);
	return playing.rc;
}

static int add_device(struct vt_whatif *whatif, int number, struct vt_diag *diag)
{
	struct vt_whatif_device *device = &whatif->devices[whatif->nr_devices++];

	device->met = vt_xcalloc(whatif->options->nr_scales + 1, sizeof(*device->met));
	device->ready = vt_traces_get(&whatif->analysis->traces, number, diag);
	if (!device->ready)
		return -1;
	device->trace = &device->ready->trace;
	return play(whatif, device, diag);
}

static int add_devices(struct vt_whatif *whatif, struct vt_diag *diag)
{
	const struct vt_model *model = &whatif->analysis->model;

	if (whatif->options->device != VT_WHEN_ALL_DEVICES)
		return add_device(whatif, whatif->options->device, diag);
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_trace_has_blocks(model, model->devices[i].id) &&
		    add_device(whatif, model->devices[i].id, diag))
			return -1;
	/* Nothing to replay: the trace of the first device says why. */
	return whatif->nr_devices ? 0 : add_device(whatif, 0, diag);
}

/* Rows are whole. */
static int find_batch(struct vt_whatif *whatif, struct vt_diag *diag)
{
	const struct vt_whatif_options *options = whatif->options;
	double rows = (double)options->batch;

	if (!options->batch && options->batch_times == 0)
		return 0;
	if (vt_scalings_init(&whatif->scalings, &whatif->analysis->attribution, options->was, diag))
		return -1;
	whatif->is = whatif->scalings.was;
	if (!options->batch)
		rows = (double)whatif->is.batch * options->batch_times;
	if (rows < 1 || rows != floor(rows) || rows >= MAX_REQUEST) {
		vt_diag_set(diag, VT_EXIT_USAGE,
			    "--batch x%g: %llu recorded rows would become %g, not a valid batch",
			    options->batch_times, (unsigned long long)whatif->is.batch, rows);
		return -1;
	}
	whatif->is.batch = (uint64_t)rows;
	whatif->is_resized = 1;
	return 0;
}

void vt_whatif_prepare(struct vt_analysis *analysis, int device)
{
	const struct vt_model *model = &analysis->model;

	for (uint32_t i = 0; i < model->nr_devices; i++) {
		int number = model->devices[i].id;
		struct vt_trace_ready *ready;

		if ((device != VT_WHEN_ALL_DEVICES && device != number) ||
		    !vt_trace_has_blocks(model, number))
			continue;
		ready = vt_traces_get(&analysis->traces, number, NULL);
		if (ready)
			vt_traces_recorded(ready);
	}
}

static int has_trace(struct vt_whatif *whatif, struct vt_diag *diag)
{
	struct vt_traces *traces = &whatif->analysis->traces;
	const struct vt_model *model = &whatif->analysis->model;
	int device = whatif->options->device;

	for (uint32_t i = 0; device == VT_WHEN_ALL_DEVICES && i < model->nr_devices; i++)
		if (vt_trace_has_blocks(model, model->devices[i].id))
			device = model->devices[i].id;
	return vt_traces_get(traces, device == VT_WHEN_ALL_DEVICES ? 0 : device, diag) != NULL;
}

int vt_whatif_init(struct vt_whatif *whatif, struct vt_analysis *analysis,
		   const struct vt_whatif_options *options, struct vt_diag *diag)
{
	memset(whatif, 0, sizeof(*whatif));
	whatif->analysis = analysis;
	whatif->options = options;
	whatif->devices =
		vt_xcalloc((size_t)analysis->model.nr_devices + 1, sizeof(*whatif->devices));
	/* What cannot be replayed at all needs no batch. */
	if (!has_trace(whatif, diag) || find_batch(whatif, diag) || add_devices(whatif, diag))
		return -1;
	return check_scales(whatif, diag);
}

void vt_whatif_release(struct vt_whatif *whatif)
{
	for (uint32_t i = 0; i < whatif->nr_devices; i++)
		free(whatif->devices[i].met);
	vt_scalings_release(&whatif->scalings);
	free(whatif->devices);
	memset(whatif, 0, sizeof(*whatif));
}
