/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache: what files of a folder were found to hold, by the hash of their contents
 *
 * One file for each folder that was looked at, FOLDER/NAME.json, with what was in it the last time; it is
 * replaced as a whole.  FOLDER is the caller's alone; what cannot be used of it counts for nothing.
 */
#pragma once

#include "runtime/base/json.h"

struct mr_error;

#define MR_SECTION_CACHES_MAX 64 /* the oldest ones go */

/* {"SHA256": {"sections"} or {"error"}}, new reference; empty where there is none of this version. */
json_t *mr_section_cache_load(const char *folder, const char *name, const char *version);
/* Replace it.  Makes the folder (0700); MR_E_DENIED where others can write it. */
int mr_section_cache_save(const char *folder, const char *name, const char *version, json_t *files,
			  struct mr_error *err);
