/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text: bytes chosen by the payload, as JSON
 *
 * Names, arguments and output of an untrusted program are bytes.  Plain text is
 * UTF-8 without NUL: jansson and most readers of JSON could not take a NUL back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;

/* Valid UTF-8 (no surrogates, nothing overlong) and no NUL. */
bool mr_text_is_plain(const char *buf, size_t size);

/* Length of buf without a UTF-8 sequence that its end cuts; size when there is none. */
size_t mr_text_trim_end(const char *buf, size_t size);
/* Bytes at the beginning of buf, 3 at most, that belong to a sequence begun before it. */
size_t mr_text_trim_start(const char *buf, size_t size);

/* JSON string with the base64 of buf; new reference. */
struct json_t *mr_text_base64(const char *buf, size_t size);

/* Set obj[key] to buf, which is not NULL.  What is not plain text is set twice: obj[key] for people, with each
 * byte outside of ASCII and each NUL as \xNN and a backslash as \\, and obj[key_base64] with
 * the exact bytes; the second member tells the two readings of key apart. */
void mr_text_set(struct json_t *obj, const char *key, const char *buf, size_t size);

/* An error as results show it: code, errno, and message as of mr_text_set(): it may quote any bytes; a
 * character that its own end cuts is left out.  New reference. */
struct json_t *mr_text_error(const struct mr_error *err);
