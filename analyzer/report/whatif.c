/* SPDX-License-Identifier: MIT */
#include "analyzer/report/whatif.h"

#include <fnmatch.h>
#include <string.h>

#include "analyzer/model/when.h"
#include "analyzer/replay/requests.h"
#include "analyzer/replay/streams.h"

static int is_below(const char *owner, const char *wanted)
{
	size_t len = strlen(wanted);

	if (!fnmatch(wanted, owner, 0))
		return 1;
	return !strncmp(owner, wanted, len) && owner[len] == '/';
}

static double factor_of(struct vt_whatif *whatif, const struct vt_whatif_options *options,
			uint32_t allocation)
{
	struct vt_attribution *attribution = &whatif->analysis->attribution;
	struct vt_verdict verdict = vt_attribution_judge(attribution, allocation);
	const char *owner = vt_attribution_owner(attribution, verdict.owner);

	for (size_t i = 0; i < options->nr_scales; i++)
		if (is_below(owner, options->scales[i].owner))
			return options->scales[i].factor;
	return 1;
}

/* Requests by allocation, NULL where none is changed. */
static uint64_t *scaled_requests(struct vt_whatif *whatif, struct vt_whatif_device *device,
				 const struct vt_whatif_options *options)
{
	const struct vt_tape *tape = &device->tape;
	uint64_t *requests;

	if (!options->nr_scales)
		return NULL;
	requests = vt_xcalloc((size_t)tape->model->nr_allocations + 1, sizeof(*requests));
	for (size_t i = 0; i < tape->steps.len; i++) {
		const struct vt_tape_step *step = &tape->steps.items[i];
		double factor;

		if (step->op != VT_TAPE_TAKE)
			continue;
		factor = factor_of(whatif, options, step->allocation);
		requests[step->allocation] =
			factor == 1 ? step->bytes : (uint64_t)((double)step->bytes * factor);
		device->scaled_bytes += factor == 1 ? 0 : step->bytes;
	}
	return requests;
}

static int read_settings(struct vt_settings *settings, const struct vt_tape *tape,
			 const struct vt_whatif_options *options, struct vt_diag *diag)
{
	*settings = tape->settings;
	if (options->settings) {
		vt_settings_init(settings, NULL);
		settings->has_open_list = tape->settings.has_open_list;
		if (vt_settings_parse(settings, options->settings, diag))
			return -1;
	}
	if (options->changes && vt_settings_parse(settings, options->changes, diag))
		return -1;
	if (settings->is_native)
		return 0;
	vt_diag_set(
		diag, VT_EXIT_USAGE,
		"backend:cudaMallocAsync leaves placing to the driver, which cannot be replayed");
	return -1;
}

static int play(struct vt_whatif *whatif, struct vt_whatif_device *device,
		const struct vt_whatif_options *options, struct vt_diag *diag)
{
	struct vt_tape *tape = &device->tape;
	struct vt_replay_options recorded, asked;
	uint64_t *requests;

	vt_requests_find(&device->requests, tape);
	device->nr_streams = vt_streams_find(tape);
	vt_replay_options_init(&recorded, tape);
	recorded.is_compared = 1;
	vt_replay_run(&device->recorded, tape, &recorded);
	vt_replay_options_init(&asked, tape);
	if (read_settings(&asked.settings, tape, options, diag))
		return -1;
	if (options->memory_bytes) {
		uint64_t reserve = tape->device_bytes - tape->capacity_bytes;

		asked.capacity_bytes =
			options->memory_bytes > reserve ? options->memory_bytes - reserve : 0;
	}
	requests = scaled_requests(whatif, device, options);
	asked.request_bytes = requests;
	vt_replay_run(&device->predicted, tape, &asked);
	device->settings = asked.settings;
	device->capacity_bytes = asked.capacity_bytes;
	free(requests);
	return 0;
}

static int add_device(struct vt_whatif *whatif, int number, const struct vt_whatif_options *options,
		      struct vt_diag *diag)
{
	struct vt_whatif_device *device = &whatif->devices[whatif->nr_devices++];

	if (vt_tape_init(&device->tape, &whatif->analysis->timeline, number, diag))
		return -1;
	return play(whatif, device, options, diag);
}

int vt_whatif_init(struct vt_whatif *whatif, struct vt_analysis *analysis,
		   const struct vt_whatif_options *options, struct vt_diag *diag)
{
	const struct vt_model *model = &analysis->model;

	memset(whatif, 0, sizeof(*whatif));
	whatif->analysis = analysis;
	whatif->devices = vt_xcalloc((size_t)model->nr_devices + 1, sizeof(*whatif->devices));
	if (options->device != VT_WHEN_ALL_DEVICES)
		return add_device(whatif, options->device, options, diag);
	for (uint32_t i = 0; i < model->nr_devices; i++)
		if (vt_tape_has_blocks(model, model->devices[i].id) &&
		    add_device(whatif, model->devices[i].id, options, diag))
			return -1;
	/* Nothing to replay: the tape of the first device says why. */
	return whatif->nr_devices ? 0 : add_device(whatif, 0, options, diag);
}

void vt_whatif_release(struct vt_whatif *whatif)
{
	for (uint32_t i = 0; i < whatif->nr_devices; i++)
		vt_tape_release(&whatif->devices[i].tape);
	free(whatif->devices);
	memset(whatif, 0, sizeof(*whatif));
}
