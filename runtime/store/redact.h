/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction: arguments as they may be kept
 *
 * What follows the name of a secret, as mr_secret_is_name() knows it, is replaced by
 * "[redacted]": --password=X, --token X, API_KEY=X, "Authorization: X", and so are the
 * passwords in scheme://user:X@host.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;

struct mr_redacted {
	struct json_t
		*argv; /* list of texts; bytes that are not UTF-8 as \xNN; owned by the caller */
	size_t bytes; /* of all arguments, with a NUL each, before anything was done */
	bool truncated; /* more than max_bytes: the rest was left out */
};
struct mr_redacted mr_redact_argv(char *const *argv, size_t n, size_t max_bytes);
