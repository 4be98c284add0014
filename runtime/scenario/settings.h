/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: keyword_profiles of a settings file
 *
 * The file is JSON, or YAML as such files are written: the mapping at the left margin,
 * its words indented below it, each with a name, a list in brackets or a list of
 * lines that begin with "-".  Other settings are passed over; YAML that is none of
 * this, within the mapping, is refused rather than guessed at.
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;

/* *ret: an object of word to name or list, new reference; NULL: the file has none. */
int mr_settings_keywords(const char *text, size_t size, const char *source, struct json_t **ret,
			 struct mr_error *err);
