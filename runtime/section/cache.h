/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache: what files of a folder were found to hold, by the hash of their contents
 *
 * One file for each folder that was looked at, FOLDER/NAME.json, with what was in it the last time; it is
 * replaced as a whole.  FOLDER and its files are the caller's alone; what cannot be used of it counts for
 * nothing, and that is told.  What is loaded is no more than JSON: hold each entry against its file
 * (reply.h).
 */
#pragma once

#include <stddef.h>

#include "runtime/base/json.h"

struct mr_error;

#define MR_SECTION_CACHES_MAX 64 /* the oldest ones go */
#define MR_SECTION_CACHE_MAX (64u << 20) /* bytes of one */

/* {"SHA256": anything}, new reference; empty where there is none of this version.  *ret_size: bytes that were
 * read for it. */
json_t *mr_section_cache_load(const char *folder, const char *name, const char *version,
			      size_t *ret_size);
/* Replace it.  Makes the folder (0700); MR_E_DENIED where others can write it, MR_E_USAGE where it would be
 * too large. */
int mr_section_cache_save(const char *folder, const char *name, const char *version, json_t *files,
			  struct mr_error *err);
