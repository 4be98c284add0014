/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the reader of spool files, and what takes records out of frames
 *
 * Holds: every byte but line feeds is in exactly one piece, in order; a frame has
 * the hash it says; a payload that is taken for a record gives links that are
 * well-formed JSON, and verification finds nothing wrong.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/record.h"
#include "runtime/store/spool.h"
#include "runtime/store/store.h"
#include "runtime/store/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_payload(const char *text, size_t size)
{
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *record = NULL;
	const struct mr_verify_opts opts = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;

	if (mr_json_parse(text, size, "record", &record, &err) < 0)
		return;
	mr_assert(mr_store_open_memory(&store, &err) == 0);
	mr_assert(mr_store_begin(store, &err) == 0);
	if (mr_record_insert(store, record, &err) < 0) {
		mr_assert(err.code == MR_E_USAGE && err.msg[0]);
		return;
	}
	mr_assert(mr_record_insert(store, record, &err) == 1);
	mr_assert(mr_store_commit(store, &err) == 0);
	if (mr_verify(store, &opts, &report, &err) != 0 || report.runs != 1) {
		fprintf(stderr, "verify: %s%s\n", report.what, err.msg);
		mr_assert(report.runs == 1);
	}
}

static void check_pieces(const char *text, size_t size)
{
	struct mr_spool_piece piece;
	size_t at = 0, end = 0;

	while (mr_spool_next(text, size, &at, &piece)) {
		mr_assert(at > end && at <= size);
		mr_assert(piece.text >= text + end && piece.text + piece.size == text + at);
		for (const char *p = text + end; p < (piece.why ? piece.text : text + end); p++)
			mr_assert(*p == '\n');
		mr_assert(!memchr(piece.text, '\n', piece.size));
		if (!piece.why)
			check_payload(piece.text, piece.size);
		end = at;
	}
	mr_assert(at == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	check_pieces(text, size);
	check_payload(text, size); /* a hash is not guessed: the payload by itself */
	return 0;
}
