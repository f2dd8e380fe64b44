/* SPDX-License-Identifier: MIT */
#include "analyzer/diff/compared.h"

uint64_t vt_diff_magnitude(const uint64_t *bytes)
{
	return bytes[VT_DIFF_NEW] > bytes[VT_DIFF_BASE] ?
		       bytes[VT_DIFF_NEW] - bytes[VT_DIFF_BASE] :
		       bytes[VT_DIFF_BASE] - bytes[VT_DIFF_NEW];
}

int vt_diff_is_change(const struct vt_diff_device *device, const uint64_t *bytes,
		      uint64_t noise_bytes)
{
	uint64_t magnitude = vt_diff_magnitude(bytes);

	return magnitude > device->noise_bytes && magnitude > noise_bytes;
}

int vt_diff_is_owner_change(const struct vt_diff_device *device,
			    const struct vt_diff_owner *owner)
{
	return vt_diff_is_change(device, owner->bytes, owner->noise_bytes);
}

int vt_diff_is_place_change(const struct vt_diff_device *device, const struct vt_change *place)
{
	return vt_diff_is_change(device, place->bytes, place->noise_bytes);
}

int vt_diff_has_several(const struct vt_diff *diff)
{
	return diff->nr_recordings[VT_DIFF_BASE] > 1 || diff->nr_recordings[VT_DIFF_NEW] > 1;
}

static int is_use_change(const struct vt_diff_device *device)
{
	return vt_diff_is_change(device, device->peak_bytes, device->peak_noise_bytes);
}

int vt_diff_is_block_change(const struct vt_diff_device *device)
{
	for (uint32_t i = 0; i < device->nr_owners; i++)
		if (vt_diff_is_owner_change(device, &device->owners[i]))
			return 1;
	for (uint32_t i = 0; i < device->changes.nr; i++)
		if (vt_diff_is_place_change(device, &device->changes.items[i]))
			return 1;
	return 0;
}

int vt_diff_is_different(const struct vt_diff *diff)
{
	for (uint32_t d = 0; d < diff->nr_devices; d++)
		if (vt_diff_is_block_change(&diff->devices[d]) || is_use_change(&diff->devices[d]))
			return 1;
	return 0;
}
