/* SPDX-License-Identifier: MIT */
#include "simulator/driver_resident.h"

#include "simulator/driver_device.h"
#include "simulator/driver_ledger.h"
#include "simulator/driver_scope.h"

static void write_ledger(const struct vts_resident *resident, const char *op)
{
	struct vts_ledger_entry entry = { .op = op,
					  .kind = resident->kind,
					  .size_bytes = resident->size_bytes,
					  .device = resident->device };

	vts_ledger_write(&entry);
}

CUresult vts_resident_load(struct vts_resident *resident, const char *kind, uint64_t size_bytes)
{
	CUdevice device;
	CUresult result;

	*resident = (struct vts_resident){ .kind = kind };
	if (!size_bytes || vts_scope_check() != CUDA_SUCCESS)
		return CUDA_SUCCESS;
	device = vts_scope_context()->device;
	result = vts_device_charge(device, size_bytes);
	if (result)
		return result;
	vts_device_at(device)->resident_bytes += size_bytes;
	resident->size_bytes = size_bytes;
	resident->device = device;
	write_ledger(resident, "load");
	return CUDA_SUCCESS;
}

void vts_resident_unload(const struct vts_resident *resident)
{
	struct vts_device *device = vts_device_at(resident->device);

	if (!resident->size_bytes || device->resident_bytes < resident->size_bytes)
		return;
	device->resident_bytes -= resident->size_bytes;
	vts_device_discharge(resident->device, resident->size_bytes);
	write_ledger(resident, "unload");
}
