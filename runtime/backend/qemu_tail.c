/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tail
 */
#include "runtime/backend/qemu_tail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/loop.h"
#include "runtime/supervise/capture.h"

#define CHUNK 16384
#define REST_MAX 64 /* chunks */

void mr_tail_read(struct mr_loop *loop, struct mr_source *source, struct mr_capture *tail)
{
	char buf[CHUNK];
	ssize_t n = read(source->fd, buf, sizeof(buf));

	if (n > 0)
		mr_capture_add(tail, buf, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		mr_loop_remove(loop, source);
}

void mr_tail_read_rest(struct mr_loop *loop, struct mr_source *source, struct mr_capture *tail)
{
	for (int i = 0; i < REST_MAX && source->fd >= 0; i++)
		mr_tail_read(loop, source, tail);
}

static const char *kept_text(const json_t *json)
{
	const char *text = json_string_value(json_object_get(json, "text"));

	return text ? text : mr_json_text_or_empty(json, "tail");
}

void mr_tail_line(const struct mr_capture *tail, char *ret, size_t size)
{
	mr_auto_json json_t *json = mr_capture_to_json(tail);

	snprintf(ret, size, "%s", kept_text(json));
	for (char *p = ret; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = p[1] ? ';' : '\0';
}

bool mr_tail_has(const struct mr_capture *tail, const char *words)
{
	mr_auto_json json_t *json = mr_capture_to_json(tail);

	return strstr(kept_text(json), words);
}
