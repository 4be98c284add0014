/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk: the Python files below a folder, in the order of their paths' bytes, folder by folder
 *
 * No symbolic link is followed.  Hidden folders and __pycache__ are passed by.  What is left out is told, and of
 * it apart what should have been looked at: links and hidden files are left out by rule.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/json.h"

struct mr_error;

#define MR_SECTION_FILE_MAX (1u << 20) /* bytes of one file */
#define MR_SECTION_FILES_MAX 20000
#define MR_SECTION_ALL_MAX (256u << 20) /* bytes of all files */
#define MR_SECTION_DEPTH_MAX 64
#define MR_SECTION_NAMES_MAX 1000000 /* in all folders, of whatever */
#define MR_SECTION_TOLD_MAX 1000 /* of what is left out */

/* A file; path is relative and UTF-8; data has a NUL after it and goes to whoever takes it (sets it
 * NULL). */
typedef int mr_section_file_fn(const char *path, char **data, size_t size, void *owner,
			       struct mr_error *err);

/* *ret_left_out: {"count", "missed", "first": [{"path", "why"}]}, new reference.  Fails when the folder itself
 * cannot be read, and with what fn fails with. */
int mr_section_walk(const char *folder, mr_section_file_fn *fn, void *owner, json_t **ret_left_out,
		    struct mr_error *err);
