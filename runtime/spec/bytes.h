/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes in a document: a string, or {"base64": "..."} where they are no UTF-8
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_json;

/* malloc'd and followed by a NUL; get_text refuses a NUL among them. */
int mr_spec_get_bytes(const struct mr_json *json, char **ret, size_t *ret_size,
		      struct mr_error *err);
int mr_spec_get_text(const struct mr_json *json, char **ret, struct mr_error *err);
/* json is where the text stands, for the message. */
int mr_spec_decode_base64(const struct mr_json *json, const char *text, size_t size, char **ret,
			  size_t *ret_size, struct mr_error *err);
/* The other way round; new reference. */
struct json_t *mr_spec_bytes_json(const char *data, size_t size);
