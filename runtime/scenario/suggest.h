/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggest: profiles for a module, by the words in its name and its text
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;

struct mr_suggest_opts {
	bool user_misuse; /* that profile may be suggested */
	struct json_t *keywords; /* object of word to a profile or a list: replace those of
					* keywords.def, word by word; or NULL */
};

/* name: a path or a dotted name; text: of the Python module, or NULL.
 * *ret: {"name", "profiles": [name], "matches": [{keyword, where, found, line, profiles}],
 * "fallback": nothing matched, so all are suggested}, new reference.  where is path, import,
 * decorator or constant.  MR_E_USAGE: keywords names an unknown profile. */
int mr_suggest(const char *name, const char *text, size_t size, const struct mr_suggest_opts *opts,
	       struct json_t **ret, struct mr_error *err);
