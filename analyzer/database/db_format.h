/* SPDX-License-Identifier: MIT */
#ifndef VT_ANALYZER_DB_FORMAT_H
#define VT_ANALYZER_DB_FORMAT_H

/*
 * Numbers of SQLite's file format: db_image.h writes tables of whole numbers, db_pages.h reads
 * them, db_check.h reads the header.  https://www.sqlite.org/fileformat2.html
 */

/* The file's header, in page 1. */
#define VT_DB_FILE_HEADER_BYTES	    100
#define VT_DB_PAGE_BYTES_OFFSET	    16 /* two bytes; 1: 65536 */
#define VT_DB_UNUSED_BYTES_OFFSET   20 /* at the end of each page */
#define VT_DB_FILE_PAGES_OFFSET	    28
#define VT_DB_USER_VERSION_OFFSET   60
#define VT_DB_APPLICATION_ID_OFFSET 68

/* A page of a table: its head, where each cell is, the cells. */
#define VT_DB_LEAF                13
#define VT_DB_LEAF_HEAD_BYTES     8u
#define VT_DB_INTERIOR            5
#define VT_DB_INTERIOR_HEAD_BYTES 12u
#define VT_DB_PLACE_BYTES         2u /* of a cell */
#define VT_DB_CHILD_BYTES         4u

/* In the head. */
#define VT_DB_NR_CELLS_OFFSET    3 /* two bytes */
#define VT_DB_CELLS_START_OFFSET 5 /* two bytes; 0: 65536 */
#define VT_DB_LAST_CHILD_OFFSET  8 /* of an interior page: the others are in its cells */

/* Types of a record's columns that are the whole value. */
#define VT_DB_TYPE_NULL 0
#define VT_DB_TYPE_0    8
#define VT_DB_TYPE_1    9

#endif
