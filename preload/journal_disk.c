/* SPDX-License-Identifier: MIT */
#include "preload/journal_disk.h"

#include <errno.h>
#include <fcntl.h>

#include "preload/output.h"
#include "preload/sys.h"
#include "preload/text.h"

static struct {
	struct vt_sys_identity identity;
	char path[VT_OUTPUT_MAX];
} g;

/* It contains command lines and file names, which are private. */
#define MODE 0600

const char *vt_journal_disk_path(void)
{
	return g.path;
}

int vt_journal_disk_create(const char *path)
{
	struct vt_text copy;
	int fd;
	int err;

	vt_text_init(&copy, g.path, sizeof(g.path));
	vt_text_add(&copy, path);
	if (copy.is_cut)
		return -ENAMETOOLONG;
	/* With O_EXCL a link of that name is -EEXIST, wherever it leads. */
	fd = vt_sys_open(path, O_RDWR | O_CREAT | O_EXCL, MODE);
	if (fd < 0)
		return fd;
	err = vt_sys_identify(fd, &g.identity);
	if (err) {
		vt_sys_close(fd);
		vt_sys_unlink(path);
		return err;
	}
	return fd;
}

int vt_journal_disk_open(void)
{
	struct vt_sys_identity identity;
	int fd = vt_sys_open(g.path, O_RDWR | O_NOFOLLOW, 0);
	int err;

	if (fd < 0)
		return fd;
	err = vt_sys_identify(fd, &identity);
	if (!err && (identity.device != g.identity.device || identity.inode != g.identity.inode))
		err = -ESTALE;
	if (err) {
		vt_sys_close(fd);
		return err;
	}
	return fd;
}
