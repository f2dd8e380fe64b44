/* SPDX-License-Identifier: MIT */
#include "analyzer/planner/tensor_file.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *vt_tensor_file_map(const char *path, size_t *len, struct vt_diag *diag)
{
	int fd = vt_util_open_regular(path);
	void *bytes = MAP_FAILED;
	struct stat st = { 0 };

	if (fd >= 0 && !fstat(fd, &st) && st.st_size >= 8)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	*len = (size_t)st.st_size;
	if (bytes != MAP_FAILED)
		return bytes;
	vt_diag_set(diag, VT_EXIT_UNREADABLE, "%s: %s", path,
		    fd < 0 ? "cannot be read" : "too short for a header");
	return NULL;
}

int vt_tensor_file_open(struct vt_architecture *model, const char *path, struct vt_diag *diag)
{
	size_t len;
	void *bytes = vt_tensor_file_map(path, &len, diag);
	int rc;

	if (!bytes)
		return -1;
	if (!memcmp(bytes, "GGUF", 4))
		rc = vt_gguf_read(model, bytes, len, path, diag);
	else
		rc = vt_safetensors_read(model, bytes, len, len, path, diag);
	munmap(bytes, len);
	return rc;
}
