/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Document: the result of a run that no kernel of ours has measured
 *
 * All members of schema menace.result/1, null where nothing is known.  Who knows more puts
 * it in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/supervise/verdict.h"

struct json_t;
struct mr_capture;
struct mr_error;
struct mr_spec;

struct mr_document {
	const struct mr_spec *spec;
	const char *run_id;
	uint64_t start_real_ns; /* 0: now */
	struct mr_verdict verdict;
	const struct mr_error *error; /* NULL: none */
	const struct mr_capture *out, *err; /* NULL: nothing came */
};
/* New reference. */
struct json_t *mr_document_make(const struct mr_document *facts);
/* Does a result with this reason (NULL: none) say that the program has not begun, so that nothing
 * is known of it? */
bool mr_document_not_begun(const char *reason);
