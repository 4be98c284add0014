/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output: the end of what a program said, in a row of our own
 */
#pragma once

#include <stddef.h>

struct json_t;

/* Set row[key] to the last max bytes of a stream of a result ("stdout", "stderr"); null: there is none.
 * What is not UTF-8 is told as mr_text_set() tells it, with row[key_base64] beside it. */
void mr_output_tell(struct json_t *row, const char *key, const struct json_t *stream, size_t max);
