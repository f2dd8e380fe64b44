/* SPDX-License-Identifier: MIT */
#include "analyzer/report/pins_print.h"

#include <stdlib.h>

#include "analyzer/base/units.h"
#include "analyzer/model/producer.h"
#include "analyzer/output/lines.h"

char *vt_pins_summary(const struct vt_frag_pin *pin, const struct vt_attribution *attribution)
{
	char pinned[VT_UNITS_MAX], size[VT_UNITS_MAX];

	return vt_xasprintf("%s beside %u block%s of %s, %s",
			    vt_units_bytes(pinned, sizeof(pinned), pin->pinned_bytes), pin->blocks,
			    pin->blocks == 1 ? "" : "s",
			    vt_units_bytes(size, sizeof(size), pin->size_bytes),
			    vt_attribution_owner(attribution, pin->owner));
}

void vt_pins_print(const struct vt_frag_device *device, const struct vt_attribution *attribution,
		   const struct vt_describe *describe, size_t most, unsigned most_lines, FILE *out)
{
	size_t shown = device->pins.len < most ? device->pins.len : most;

	if (!shown)
		return;
	fprintf(out,
		"\nPINNED BY  top %zu of %zu call sites, by the free memory in segments with their "
		"live blocks\n",
		shown, device->pins.len);
	for (size_t i = 0; i < shown; i++) {
		const struct vt_frag_pin *pin = &device->pins.items[i];
		const struct vt_allocation *a = &device->trace->model->allocations[pin->allocation];
		char *summary = vt_pins_summary(pin, attribution);

		fprintf(out, "  %zu  %s\n", i + 1, summary);
		vt_lines_print(vt_producer_lines(describe, a), most_lines, "       ", "", out);
		free(summary);
	}
}
