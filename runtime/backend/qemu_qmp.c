/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QMP
 *
 * Events come between a command and its reply: they are passed over, but for the one that
 * somebody waits for.
 */
#include "runtime/backend/qemu_qmp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"

#define LINE_MAX_BYTES (64 << 10) /* QEMU's replies to what is asked here are far shorter */

static int wait_for(struct mr_qmp *qmp, short events, struct mr_error *err)
{
	for (;;) {
		struct pollfd pfd = { qmp->fd, events, 0 };
		int n;

		if (mr_now_ns() >= qmp->until_ns)
			return mr_err(err, MR_E_KERNEL, ETIMEDOUT,
				      "QEMU does not answer on its control socket");
		n = mr_clock_poll(&pfd, 1, qmp->until_ns);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return mr_err(err, MR_E_SYS, errno, "poll: %m");
	}
}

static int read_more(struct mr_qmp *qmp, struct mr_error *err)
{
	char piece[4096];
	ssize_t n;

	if (qmp->in.len > LINE_MAX_BYTES)
		return mr_err(err, MR_E_KERNEL, EPROTO, "QEMU sent an endless line");
	n = recv(qmp->fd, piece, sizeof(piece), MSG_DONTWAIT);
	if (n > 0) {
		mr_buf_addn(&qmp->in, piece, (size_t)n);
		return 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return wait_for(qmp, POLLIN, err);
	return mr_err(err, MR_E_KERNEL, EPIPE, "QEMU closed its control socket");
}

/* The next line, parsed. */
static int read_line(struct mr_qmp *qmp, json_t **ret, struct mr_error *err)
{
	char *end;
	size_t size;
	int r = 0;

	while (qmp->in.len == 0 || !(end = memchr(qmp->in.text, '\n', qmp->in.len))) {
		r = read_more(qmp, err);
		if (r < 0)
			return r;
	}
	size = (size_t)(end - qmp->in.text) + 1;
	r = mr_json_parse(qmp->in.text, size, "QMP", ret, err);
	memmove(qmp->in.text, qmp->in.text + size, qmp->in.len - size);
	qmp->in.len -= size;
	if (r < 0)
		err->code = MR_E_KERNEL;
	return r;
}

static void keep_event(struct mr_qmp *qmp, json_t *line)
{
	const char *name = json_string_value(json_object_get(line, "event"));

	if (!name || !qmp->wanted || strcmp(name, qmp->wanted) != 0)
		return;
	json_decref(qmp->event);
	qmp->event = json_incref(line);
}

/* A line that is no event. */
static int read_reply(struct mr_qmp *qmp, json_t **ret, struct mr_error *err)
{
	for (;;) {
		mr_auto_json json_t *line = NULL;
		int r = read_line(qmp, &line, err);

		if (r < 0)
			return r;
		if (json_object_get(line, "event")) {
			keep_event(qmp, line);
			continue;
		}
		*ret = mr_take_ptr(line);
		return 0;
	}
}

static int send_text(struct mr_qmp *qmp, const char *text, size_t size, struct mr_error *err)
{
	while (size > 0) {
		ssize_t n = send(qmp->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = 0;

		if (n > 0) {
			text += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN || errno == EINTR) {
			r = wait_for(qmp, POLLOUT, err);
		} else {
			r = mr_err(err, MR_E_KERNEL, errno, "tell QEMU: %m");
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* One line for QEMU; args is consumed. */
static char *order_text(const char *command, json_t *args)
{
	mr_auto_json json_t *order =
		json_pack("{s:s, s:o*}", "execute", command, "arguments", args);
	mr_auto_free char *text = json_dumps(order, JSON_COMPACT);

	mr_assert(text);
	return mr_str_format("%s\n", text);
}

static int take_reply(struct mr_qmp *qmp, const char *command, struct mr_error *err)
{
	mr_auto_json json_t *reply = NULL;
	const char *why;
	int r = read_reply(qmp, &reply, err);

	if (r < 0)
		return r;
	if (json_object_get(reply, "return"))
		return 0;
	why = json_string_value(json_object_get(json_object_get(reply, "error"), "desc"));
	return mr_err(err, MR_E_KERNEL, EREMOTEIO, "QEMU refuses %s: %.200s", command,
		      why ? why : "without a reason");
}

int mr_qmp_do(struct mr_qmp *qmp, const char *command, json_t *args, struct mr_error *err)
{
	mr_auto_free char *text = order_text(command, args);
	int r = send_text(qmp, text, strlen(text), err);

	return r < 0 ? r : take_reply(qmp, command, err);
}

int mr_qmp_give(struct mr_qmp *qmp, const char *name, int fd, struct mr_error *err)
{
	mr_auto_free char *text = order_text("getfd", json_pack("{s:s}", "fdname", name));
	int r = mr_send_msg(qmp->fd, text, strlen(text), &fd, 1);

	if (r < 0)
		return mr_err(err, MR_E_KERNEL, -r, "give QEMU a descriptor: %m");
	return take_reply(qmp, "getfd", err);
}

int mr_qmp_init(struct mr_qmp *qmp, int fd, uint64_t until_ns, struct mr_error *err)
{
	mr_auto_json json_t *greeting = NULL;
	int r;

	*qmp = (struct mr_qmp){ .fd = fd, .until_ns = until_ns };
	r = read_reply(qmp, &greeting, err);
	if (r == 0 && !json_object_get(greeting, "QMP"))
		r = mr_err(err, MR_E_KERNEL, EPROTO, "QEMU does not greet on its control socket");
	return r < 0 ? r : mr_qmp_do(qmp, "qmp_capabilities", NULL, err);
}

void mr_qmp_deinit(struct mr_qmp *qmp)
{
	mr_buf_deinit(&qmp->in);
	json_decref(qmp->event);
	qmp->event = NULL;
}

/* 1: it is not over yet. */
static int judge_migration(const struct mr_qmp *qmp, struct mr_error *err)
{
	const char *status =
		json_string_value(json_object_get(json_object_get(qmp->event, "data"), "status"));

	if (!status || (strcmp(status, "completed") != 0 && strcmp(status, "failed") != 0))
		return 1;
	return strcmp(status, "completed") == 0
		       ? 0
		       : mr_err(err, MR_E_KERNEL, EIO, "QEMU could not move the machine's state");
}

static int wait_for_migration(struct mr_qmp *qmp, struct mr_error *err)
{
	int r;

	while ((r = judge_migration(qmp, err)) > 0) {
		mr_auto_json json_t *line = NULL;

		r = read_line(qmp, &line, err);
		if (r < 0)
			return r;
		keep_event(qmp, line);
	}
	return r;
}

int mr_qmp_migrate(struct mr_qmp *qmp, const char *command, const char *uri, struct mr_error *err)
{
	json_t *wanted =
		json_pack("{s:[{s:s, s:b}, {s:s, s:b}]}", "capabilities", "capability", "events",
			  "state", 1, "capability", "x-ignore-shared", "state", 1);
	int r;

	mr_assert(wanted);
	qmp->wanted = "MIGRATION";
	r = mr_qmp_do(qmp, "migrate-set-capabilities", wanted, err);
	if (r == 0)
		r = mr_qmp_do(qmp, command, json_pack("{s:s}", "uri", uri), err);
	return r < 0 ? r : wait_for_migration(qmp, err);
}
