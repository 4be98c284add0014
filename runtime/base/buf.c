/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buf
 *
 * Doubles when full, so that a line of any length costs its length.
 */
#include "runtime/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

void mr_buf_addn(struct mr_buf *buf, const char *text, size_t n)
{
	if (buf->len + n + 1 > buf->size) {
		buf->size = (buf->len + n + 1) * 2;
		buf->text = realloc(buf->text, buf->size);
		mr_assert(buf->text);
	}
	memcpy(buf->text + buf->len, text, n);
	buf->len += n;
	buf->text[buf->len] = '\0';
}

void mr_buf_add(struct mr_buf *buf, const char *text)
{
	mr_buf_addn(buf, text, strlen(text));
}

void mr_buf_printf(struct mr_buf *buf, const char *fmt, ...)
{
	mr_auto_free char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	mr_assert(n >= 0);
	mr_buf_addn(buf, text, (size_t)n);
}

void mr_buf_clear(struct mr_buf *buf)
{
	buf->len = 0;
	if (buf->text)
		buf->text[0] = '\0';
}

void mr_buf_deinit(struct mr_buf *buf)
{
	free(buf->text);
	*buf = (struct mr_buf){ 0 };
}
