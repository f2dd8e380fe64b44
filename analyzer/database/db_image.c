/* SPDX-License-Identifier: MIT */
#include "analyzer/database/db_image.h"

#include <endian.h>
#include <string.h>

#include "analyzer/database/db_format.h"

#define PAGE_BYTES VT_DB_IMAGE_PAGE_BYTES
#define ROOT_PAGE  2u

/* Two sizes, an id, a type per column and as many numbers of eight bytes. */
#define MOST_CELL_BYTES (2 + 9 + 1 + VT_DB_IMAGE_COLUMNS * 9)
#define MOST_KEY_BYTES  (VT_DB_CHILD_BYTES + 9)

_Static_assert((PAGE_BYTES - VT_DB_LEAF_HEAD_BYTES) / (MOST_CELL_BYTES + VT_DB_PLACE_BYTES) *
			       ((PAGE_BYTES - VT_DB_INTERIOR_HEAD_BYTES) /
				(MOST_KEY_BYTES + VT_DB_PLACE_BYTES)) >=
		       VT_DB_IMAGE_MOST_ROWS,
	       "I2");

/* Where a page is, counted from 1. */
static unsigned char *page_at(const struct vt_db_image *image, size_t page)
{
	return image->bytes + (page - 1) * PAGE_BYTES;
}

static void put_number(unsigned char *to, uint32_t value, unsigned int bytes)
{
	for (; bytes-- > 0; value >>= 8)
		to[bytes] = (unsigned char)value;
}

/* Seven bits a byte, highest first, all but the last marked; the ninth byte has eight. */
static unsigned int put_varint(unsigned char *to, uint64_t value)
{
	unsigned int bytes = 1;

	if (value >> 56) {
		to[8] = (unsigned char)value;
		value >>= 8;
		for (unsigned int i = 8; i-- > 0; value >>= 7)
			to[i] = (unsigned char)(0x80 | (value & 0x7f));
		return 9;
	}
	while (value >> 7 * bytes)
		bytes++;
	to[bytes - 1] = (unsigned char)(value & 0x7f);
	for (unsigned int i = bytes - 1; i-- > 0;)
		to[i] = (unsigned char)(0x80 | ((value >>= 7) & 0x7f));
	return bytes;
}

/* SQLite's types of numbers, by how many bytes a number fills: 5 and 7 are stored as more. */
static const struct number_type {
	unsigned char type;
	unsigned char bytes;
	unsigned char shift; /* what moves its first byte to the front of eight */
} number_types[] = {
	{ 1, 1, 56 }, { 1, 1, 56 }, { 2, 2, 48 }, { 3, 3, 40 }, { 4, 4, 32 },
	{ 5, 6, 16 }, { 5, 6, 16 }, { 6, 8, 0 },  { 6, 8, 0 },
};

/* Of 0 and 1 the type says everything. */
static const struct number_type constant_types[] = { { VT_DB_TYPE_0, 0, 0 },
						     { VT_DB_TYPE_1, 0, 0 } };

static const struct number_type *type_of(int64_t value)
{
	uint64_t magnitude = (uint64_t)(value ^ value >> 63);

	if ((uint64_t)value <= 1)
		return &constant_types[value];
	/* One bit more, for the sign. */
	return &number_types[(64u - (unsigned int)__builtin_clzll(magnitude | 1) + 8) / 8];
}

/* A row as a cell of a leaf; returns its length.  `cell` has room for MOST_CELL_BYTES + 8. */
static unsigned int put_cell(unsigned char *cell, const struct vt_db_row *row, unsigned int nr)
{
	unsigned char payload[1 + VT_DB_IMAGE_COLUMNS * 9 + 8];
	unsigned int len = 1 + nr, head;

	/* The row's id is the key: its own column says nothing. */
	payload[0] = (unsigned char)(1 + nr);
	payload[1] = VT_DB_TYPE_NULL;
	for (unsigned int i = 1; i < nr; i++) {
		const struct number_type *type;
		uint64_t big_endian;

		payload[1 + i] = VT_DB_TYPE_NULL;
		if (row->nulls >> i & 1)
			continue;
		type = type_of(row->values[i]);
		payload[1 + i] = type->type;
		big_endian = htobe64((uint64_t)row->values[i] << type->shift);
		memcpy(payload + len, &big_endian, sizeof(big_endian));
		len += type->bytes;
	}
	head = put_varint(cell, len);
	head += put_varint(cell + head, (uint64_t)row->values[0]);
	memcpy(cell + head, payload, len);
	return head + len;
}

static uint32_t add_page(struct vt_db_image *image)
{
	if (image->nr_pages == image->max_pages) {
		image->max_pages *= 2;
		image->bytes = vt_xrealloc(image->bytes, image->max_pages * PAGE_BYTES);
	}
	return (uint32_t)++image->nr_pages;
}

void vt_db_image_init(struct vt_db_image *image, const void *page, unsigned int nr_columns)
{
	memset(image, 0, sizeof(*image));
	image->nr_columns = nr_columns;
	image->max_pages = 4;
	image->bytes = vt_xcalloc(image->max_pages, PAGE_BYTES);
	memcpy(image->bytes, page, PAGE_BYTES);
}

void vt_db_image_release(struct vt_db_image *image)
{
	vt_vector_release(&image->leaves);
	free(image->bytes);
	image->bytes = NULL;
}

static void begin_leaf(struct vt_db_image *image, uint32_t page)
{
	vt_vector_push(&image->leaves, ((struct vt_db_leaf){ page, 0 }));
	image->cells_start = PAGE_BYTES;
	image->nr_cells = 0;
}

/* The start of a page; a start of cells of 65536 is written as 0. */
static void put_head(unsigned char *page, unsigned int kind, uint32_t nr_cells,
		     uint32_t cells_start)
{
	page[0] = (unsigned char)kind;
	put_number(page + 1, 0, 2);
	put_number(page + VT_DB_NR_CELLS_OFFSET, nr_cells, 2);
	put_number(page + VT_DB_CELLS_START_OFFSET, cells_start, 2);
	page[7] = 0;
}

static void finish_leaf(struct vt_db_image *image)
{
	put_head(page_at(image, image->leaves.items[image->leaves.len - 1].page), VT_DB_LEAF,
		 image->nr_cells, image->cells_start);
}

void vt_db_image_begin(struct vt_db_image *image)
{
	image->nr_pages = ROOT_PAGE;
	image->leaves.len = 0;
	begin_leaf(image, ROOT_PAGE);
}

void vt_db_image_add(struct vt_db_image *image, const struct vt_db_row *row)
{
	unsigned char cell[MOST_CELL_BYTES + 8];
	uint32_t len = put_cell(cell, row, image->nr_columns);
	uint32_t places_end = VT_DB_LEAF_HEAD_BYTES + (image->nr_cells + 1) * VT_DB_PLACE_BYTES;
	struct vt_db_leaf *leaf;
	unsigned char *page;

	if (places_end + len > image->cells_start) {
		finish_leaf(image);
		begin_leaf(image, add_page(image));
		places_end = VT_DB_LEAF_HEAD_BYTES + VT_DB_PLACE_BYTES;
	}
	leaf = &image->leaves.items[image->leaves.len - 1];
	leaf->last_id = row->values[0];
	page = page_at(image, leaf->page);
	image->cells_start -= len;
	memcpy(page + image->cells_start, cell, len);
	put_number(page + places_end - VT_DB_PLACE_BYTES, image->cells_start, VT_DB_PLACE_BYTES);
	image->nr_cells++;
}

/* All leaves but the last have a cell with their highest id; the last one's is in the head. */
static void put_root(struct vt_db_image *image)
{
	unsigned char *root = page_at(image, ROOT_PAGE);
	uint32_t nr_cells = (uint32_t)image->leaves.len - 1, cells_start = PAGE_BYTES;
	unsigned char key[MOST_KEY_BYTES];

	for (uint32_t i = 0; i < nr_cells; i++) {
		const struct vt_db_leaf *leaf = &image->leaves.items[i];
		unsigned int len = VT_DB_CHILD_BYTES +
				   put_varint(key + VT_DB_CHILD_BYTES, (uint64_t)leaf->last_id);

		put_number(key, leaf->page, VT_DB_CHILD_BYTES);
		cells_start -= len;
		memcpy(root + cells_start, key, len);
		put_number(root + VT_DB_INTERIOR_HEAD_BYTES + i * VT_DB_PLACE_BYTES, cells_start,
			   VT_DB_PLACE_BYTES);
	}
	put_head(root, VT_DB_INTERIOR, nr_cells, cells_start);
	put_number(root + VT_DB_LAST_CHILD_OFFSET, image->leaves.items[nr_cells].page,
		   VT_DB_CHILD_BYTES);
}

void vt_db_image_finish(struct vt_db_image *image)
{
	finish_leaf(image);
	if (image->leaves.len > 1) {
		uint32_t page = add_page(image);

		memcpy(page_at(image, page), page_at(image, ROOT_PAGE), PAGE_BYTES);
		image->leaves.items[0].page = page;
		put_root(image);
	}
	put_number(image->bytes + VT_DB_FILE_PAGES_OFFSET, (uint32_t)image->nr_pages, 4);
}
