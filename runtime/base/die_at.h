/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Death at a chosen step
 *
 * In a test build a process kills itself when it reaches a step that the environment variable
 * MENACE_DIE_AT names: "TABLE.STEP", or several with a space between, of which each process dies at
 * the first it reaches.  A step has not begun when its process dies.  "list" prints the names of all
 * steps.  They are those of the tables that do the work: a row of such a table begins with its name,
 * MR_DIE_TABLE() makes the table known, MR_DIE_AT() stands before the call of a row.
 *
 * In all other builds both macros are empty: no environment may end what is shipped.
 */
#pragma once

#include <stddef.h>

/* Write MR_DIE_TABLE(table, first row, number of rows); after the table; rows may have no name. */
#ifdef MENACE_TEST_BUILD
#include <stdbool.h>

struct mr_die_table {
	const char *name;
	const void *rows;
	size_t n, row_size;
	struct mr_die_table *next;
};

void mr_die_table_add(struct mr_die_table *table);
/* Is this step named?  Then it says so to standard error and never returns. */
void mr_die_at(const struct mr_die_table *table, const char *step);
/* Was the list asked for?  Then it has been printed. */
bool mr_die_at_list(void);

#define MR_DIE_TABLE(table, first, count)                                                        \
	_Static_assert(offsetof(__typeof__(first), name) == 0, "a row begins with its name");    \
	static struct mr_die_table die_table_##table = { #table, &(first), count, sizeof(first), \
							 NULL };                                 \
	__attribute__((constructor)) static void add_die_table_##table(void)                     \
	{                                                                                        \
		mr_die_table_add(&die_table_##table);                                            \
	}                                                                                        \
	_Static_assert(1, "")
#define MR_DIE_AT(table, step) mr_die_at(&die_table_##table, step)
#else
#define MR_DIE_TABLE(table, first, count) \
	_Static_assert(offsetof(__typeof__(first), name) == 0, "a row begins with its name")
#define MR_DIE_AT(table, step) ((void)0)
#endif
