/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256, as hex text
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;

#define MR_HASH_HEX_SIZE 65 /* 64 lower-case digits and NUL */

void mr_hash_hex(const void *buf, size_t size, char ret_hex[MR_HASH_HEX_SIZE]);

/* Hash an open regular file from its beginning; the file offset does not move.  Reads at most
 * max_bytes: a longer file is an outcome, not an error, and returns 1 with ret_hex untouched.
 * *ret_bytes (may be NULL) gets the number of bytes hashed. */
int mr_hash_fd(int fd, uint64_t max_bytes, char ret_hex[MR_HASH_HEX_SIZE], uint64_t *ret_bytes,
	       struct mr_error *err);
