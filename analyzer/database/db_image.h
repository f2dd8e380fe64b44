/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_IMAGE_H
#define VT_ANALYZER_DB_IMAGE_H

/*
 * The bytes of an SQLite file that has one table of whole numbers, made in memory: SQLite reads it
 * and writes what it reads.  Nothing of it reaches a disk.  https://www.sqlite.org/fileformat2.html
 *
 *  I1  Page 1 is SQLite's own, with the table's definition; the table's root is page 2.
 *  I2  The table is of one or two levels: a root that is a leaf, or one above all leaves.
 */

#include <stddef.h>
#include <stdint.h>

#include "analyzer/base/util.h"

#define VT_DB_IMAGE_PAGE_BYTES 65536u
#define VT_DB_IMAGE_COLUMNS    32u
/* Of the widest rows, in the leaves that one root has room for. */
#define VT_DB_IMAGE_MOST_ROWS 900000u

struct vt_db_row {
	int64_t values[VT_DB_IMAGE_COLUMNS]; /* the first is the row's id */
	uint32_t nulls;			     /* a bit per column */
};

struct vt_db_leaf {
	uint32_t page;
	int64_t last_id;
};

struct vt_db_image {
	unsigned char *bytes;
	size_t nr_pages, max_pages;
	unsigned int nr_columns;
	VT_VECTOR(struct vt_db_leaf) leaves;
	uint32_t cells_start; /* of the last leaf: its cells fill it from the end */
	uint32_t nr_cells;
};

/* `page` is page 1 (I1), VT_DB_IMAGE_PAGE_BYTES long. */
void vt_db_image_init(struct vt_db_image *image, const void *page, unsigned int nr_columns);
void vt_db_image_release(struct vt_db_image *image);

/* An empty table; rows, ids ascending, at most VT_DB_IMAGE_MOST_ROWS; the file is complete. */
void vt_db_image_begin(struct vt_db_image *image);
void vt_db_image_add(struct vt_db_image *image, const struct vt_db_row *row);
void vt_db_image_finish(struct vt_db_image *image);

#endif
