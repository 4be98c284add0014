/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buf: text that grows
 *
 * Zeroed is empty.  Out of memory aborts, as everywhere in runtime/base/str.h.
 */
#pragma once

#include <stddef.h>

struct mr_buf {
	char *text; /* NULL when nothing was added; else with a NUL after len bytes */
	size_t len, size;
};

void mr_buf_addn(struct mr_buf *buf, const char *text, size_t n);
void mr_buf_add(struct mr_buf *buf, const char *text);
void mr_buf_printf(struct mr_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Empty; the memory stays. */
void mr_buf_clear(struct mr_buf *buf);
void mr_buf_deinit(struct mr_buf *buf);
#define mr_auto_buf __attribute__((cleanup(mr_buf_deinit)))
