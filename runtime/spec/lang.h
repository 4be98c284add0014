/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Languages: which interpreter runs a snippet
 *
 * A snippet is run by its "#!" line, else by its language; both lookups are over
 * languages.def.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MR_LANG_ARGV_MAX 4

struct mr_error;

struct mr_lang {
	const char *name;
	const char *aliases; /* divided by spaces */
	const char *extensions; /* ".py .pyw" */
	const char
		*argv[MR_LANG_ARGV_MAX + 1]; /* the snippet's file is appended; NULL-terminated */
};

const struct mr_lang *mr_lang_rows(size_t *ret_n);
/* By name or alias, in any case; NULL if unknown. */
const struct mr_lang *mr_lang_find(const char *name);
/* By the extension of a path; NULL if it has none or an unknown one. */
const struct mr_lang *mr_lang_of_path(const char *path);
/* Is it a name or an alias?  MR_E_USAGE with a hint or the names there are. */
int mr_lang_check(const char *name, struct mr_error *err);
