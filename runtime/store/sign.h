/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures: Ed25519
 *
 * The one place that includes libsodium.  A key file holds one line, "menace-ed25519
 * SEED" with 64 hex digits; it is read only when nobody else can read it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_error;

#define MR_SIGN_PUBLIC_SIZE 65 /* 64 lower-case digits and NUL */
#define MR_SIGN_TEXT_SIZE 129 /* a signature: 128 digits and NUL */

struct mr_sign_key {
	unsigned char secret[64];
	char public_hex[MR_SIGN_PUBLIC_SIZE];
};

/* Make a new key file (0600); one that is there is refused. */
int mr_sign_key_make(const char *path, struct mr_sign_key *ret, struct mr_error *err);
int mr_sign_key_read(const char *path, struct mr_sign_key *ret, struct mr_error *err);
/* Overwrite the secret. */
void mr_sign_key_forget(struct mr_sign_key *key);

int mr_sign(const struct mr_sign_key *key, const char *text, size_t size,
	    char ret_hex[MR_SIGN_TEXT_SIZE], struct mr_error *err);
/* Malformed keys and signatures are false too. */
bool mr_sign_is_good(const char *public_hex, const char *text, size_t size, const char *hex);
