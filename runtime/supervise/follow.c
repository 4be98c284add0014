/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follow, the supervisor's side
 *
 * The first follower of a run gets a timer started that reads the rings twenty times a
 * second: by themselves they wake us only when they fill up.  A follower first gets what
 * the trail holds, then each event from the telemetry's sink, and new denials.
 *
 * A follower has a queue in front of his socket.  Once the socket is full nothing more
 * is tried until it is writable again, so a stopped follower costs one failed call; once
 * the queue is full events are counted and dropped.  At the end the socket's buffer is
 * made large enough for what is queued, so the supervisor can go at once and a slow
 * reader finds it there.
 */
#include "runtime/supervise/follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/event.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/supervise/net_trail.h"
#include "runtime/supervise/state.h"
#include "runtime/supervise/trail.h"

#define ROWS_MAX 4608 /* more than a trail holds */
#define BYTES_MAX (2 * 1024 * 1024)
#define SEND_BUFFER (64 * 1024) /* the kernel doubles it */
#define END_BUFFER (128 * 1024) /* more for the end, as others than root may have it, */
#define LAST_BUFFER (200 * 1024) /* and still more for its last messages */
#define END_BUFFER_ROOT (16 * 1024 * 1024) /* all that can be queued, with the kernel's overhead */
#define LAST_BUFFER_ROOT (20 * 1024 * 1024)
#define PREFIX ".follow-"

_Static_assert(ROWS_MAX > MR_TRAIL_EVENTS_MAX + 2 * MR_TRAIL_PROCESSES_MAX +
				  MR_NET_TRAIL_NAMES_MAX + MR_NET_TRAIL_CONNECTIONS_MAX,
	       "the past fits");

struct follower {
	struct mr_run *run;
	struct mr_source source;
	int fd;
	char *rows[ROWS_MAX]; /* a ring */
	size_t first, n, bytes;
	uint64_t lost; /* since the last message that said so */
	bool gone;
};

struct mr_follow {
	struct mr_sink sink;
	struct mr_run *run;
	struct mr_source timer;
	struct follower *followers[MR_FOLLOWERS_MAX];
	size_t n;
	size_t denials_told;
};

/* --- a follower's queue ------------------------------------------------------------------ */

static void drop_row(struct follower *f)
{
	char *row = f->rows[f->first];

	f->bytes -= strlen(row);
	free(row);
	f->first = (f->first + 1) % ROWS_MAX;
	f->n--;
}

static void free_follower(struct follower *f)
{
	mr_loop_remove(f->run->host->loop, &f->source);
	mr_close(f->fd);
	while (f->n)
		drop_row(f);
	free(f);
}

static bool has_room(const struct follower *f, size_t size)
{
	return f->n < ROWS_MAX && f->bytes + size <= BYTES_MAX;
}

static void append(struct follower *f, char *row)
{
	f->rows[(f->first + f->n++) % ROWS_MAX] = row;
	f->bytes += strlen(row);
}

/* A loss is said in its place, as soon as there is room for that and for what follows it. */
static void push(struct follower *f, const char *row)
{
	char said[64];

	snprintf(said, sizeof(said), "{\"type\":\"lost\",\"count\":%ju}", (uintmax_t)f->lost);
	if (strlen(row) >= MR_FOLLOW_MESSAGE_MAX || f->n + 2 > ROWS_MAX ||
	    !has_room(f, strlen(row) + sizeof(said))) {
		f->lost++;
		return;
	}
	if (f->lost)
		append(f, mr_str_dup(said));
	f->lost = 0;
	append(f, mr_str_dup(row));
}

/* False: the socket takes no more now. */
static bool send_first(struct follower *f)
{
	const char *row = f->rows[f->first];
	ssize_t n = send(f->fd, row, strlen(row), MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS))
		return false;
	if (n < 0 && errno == EMSGSIZE)
		f->lost++;
	else if (n < 0)
		f->gone = true;
	drop_row(f);
	return !f->gone;
}

static void flush(struct follower *f)
{
	struct mr_error err;

	if (f->source.events & EPOLLOUT) /* known to be full */
		return;
	while (f->n && !f->gone && send_first(f))
		;
	if (f->n && !f->gone && mr_loop_modify(f->run->host->loop, &f->source, EPOLLOUT, &err) < 0)
		f->gone = true;
}

/* --- all of them --------------------------------------------------------------------------- */

static void remove_gone(struct mr_follow *follow)
{
	size_t kept = 0;

	for (size_t i = 0; i < follow->n; i++) {
		if (follow->followers[i]->gone)
			free_follower(follow->followers[i]);
		else
			follow->followers[kept++] = follow->followers[i];
	}
	follow->n = kept;
}

/* Takes the reference. */
static void push_all(void *owner, json_t *row)
{
	struct mr_follow *follow = owner;
	mr_auto_free char *text = json_dumps(row, JSON_COMPACT | JSON_ENSURE_ASCII);

	for (size_t i = 0; text && i < follow->n; i++)
		push(follow->followers[i], text);
	json_decref(row);
}

static int on_event(struct mr_sink *sink, const struct mr_event *e)
{
	struct mr_follow *follow = (struct mr_follow *)(void *)sink; /* its first member */

	const struct mr_telemetry *t = &follow->run->telemetry;

	if (e->type == MR_EVENT_dns || e->type == MR_EVENT_tcp)
		push_all(follow,
			 mr_net_trail_show(e, e->pid ? mr_trail_start_of(t->trail, e->pid) : 0));
	else
		mr_trail_show(t->trail, e, push_all, follow);
	return 0;
}

static void push_denials(struct mr_follow *follow)
{
	json_t *row;

	while ((row = mr_denials_event(&follow->run->denials, follow->denials_told))) {
		push_all(follow, row);
		follow->denials_told++;
	}
}

static void stop(struct mr_follow *follow)
{
	int timer = follow->timer.fd;

	follow->run->telemetry.sink = NULL;
	mr_loop_remove(follow->run->host->loop, &follow->timer);
	mr_close(timer);
	follow->run->follow = NULL;
	free(follow);
}

static void on_tick(struct mr_source *source, uint32_t events)
{
	struct mr_follow *follow = source->owner;
	struct mr_error err;

	(void)events;
	mr_timer_ack(source->fd);
	/* What was denied came before what is read behind it. */
	push_denials(follow);
	mr_telemetry_read(&follow->run->telemetry);
	for (size_t i = 0; i < follow->n; i++)
		flush(follow->followers[i]);
	remove_gone(follow);
	if (follow->n == 0)
		stop(follow);
	else if (mr_timer_arm(source->fd, mr_now_ns() + MR_PATIENCE_NS(FOLLOW_TICK), &err) < 0)
		mr_log_warn("run %s: followers: %s", follow->run->id, err.msg);
}

static void on_follower(struct mr_source *source, uint32_t events)
{
	struct follower *f = source->owner;
	struct mr_error err;

	if (events & (EPOLLHUP | EPOLLERR)) {
		f->gone = true; /* the next tick takes it away */
		mr_loop_remove(f->run->host->loop, source);
		return;
	}
	if (mr_loop_modify(f->run->host->loop, source, 0, &err) < 0)
		f->gone = true;
	flush(f);
}

/* --- beginning ------------------------------------------------------------------------------ */

static struct mr_follow *start(struct mr_run *run, struct mr_error *err)
{
	struct mr_follow *follow;
	int timer = mr_timer_open(err);

	if (timer < 0)
		return NULL;
	follow = mr_str_alloc(sizeof(*follow));
	follow->sink.event = on_event;
	follow->run = run;
	if (mr_loop_add(run->host->loop, &follow->timer, timer, EPOLLIN, on_tick, follow, err) <
		    0 ||
	    mr_timer_arm(timer, mr_now_ns() + MR_PATIENCE_NS(FOLLOW_TICK), err) < 0) {
		mr_loop_remove(run->host->loop, &follow->timer);
		mr_close(timer);
		free(follow);
		return NULL;
	}
	run->telemetry.sink = &follow->sink;
	return follow;
}

static void push_own(void *owner, json_t *row)
{
	mr_auto_free char *text = json_dumps(row, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (text)
		push(owner, text);
	json_decref(row);
}

/* His side sorts by time. */
static void push_net_past(struct follower *f, const struct mr_net_trail *net)
{
	mr_auto_json json_t *rows = mr_net_trail_rows(net);
	size_t i;
	json_t *row;

	json_array_foreach (rows, i, row)
		push_own(f, json_incref(row));
	f->lost += mr_net_trail_names_left_out(net) + mr_net_trail_connections_left_out(net);
}

/* What happened before he came. */
static void push_past(struct follower *f, const struct mr_follow *follow)
{
	const struct mr_run *run = f->run;

	push_own(f, json_pack("{s:s, s:s, s:I, s:s?}", "type", "hello", "run_id", run->id,
			      "begin_ns", (json_int_t)run->begin_ns, "unknown",
			      run->telemetry.probe.probes ? NULL : run->telemetry.why.msg));
	mr_trail_replay(run->telemetry.trail, push_own, f);
	push_net_past(f, run->telemetry.net);
	f->lost += mr_trail_events_left_out(run->telemetry.trail) +
		   mr_trail_processes_left_out(run->telemetry.trail);
	for (size_t i = 0; i < follow->denials_told; i++)
		push_own(f, mr_denials_event(&run->denials, i));
}

/* Takes fd. */
static void add_follower(struct mr_run *run, int fd)
{
	struct mr_error err = MR_ERROR_INIT;
	struct follower *f;

	if (!run->follow)
		run->follow = start(run, &err);
	if (!run->follow || run->follow->n == MR_FOLLOWERS_MAX) {
		mr_log_warn("run %s: somebody cannot follow it: %s", run->id,
			    run->follow ? "there are too many already" : err.msg);
		mr_close(fd);
		return;
	}
	f = mr_str_alloc(sizeof(*f));
	f->run = run;
	f->fd = fd;
	if (mr_loop_add(run->host->loop, &f->source, fd, 0, on_follower, f, &err) < 0) {
		mr_log_warn("run %s: a follower: %s", run->id, err.msg);
		mr_close(fd);
		free(f);
		return;
	}
	mr_telemetry_read(&run->telemetry); /* what the others get now is past for this one */
	push_denials(run->follow);
	run->follow->followers[run->follow->n++] = f;
	push_past(f, run->follow);
	flush(f);
}

/* Only root and ourselves can have put it there; the peer's word for it is the kernel's. */
static bool is_allowed(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

static int connect_at(int dir_fd, const char *name, int type)
{
	mr_auto_close int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (fd < 0 || snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d/%s", dir_fd,
			       name) >= (int)sizeof(un.sun_path))
		return -EINVAL;
	if (connect(fd, (const struct sockaddr *)&un, sizeof(un)) < 0)
		return -errno;
	return mr_take_fd(fd);
}

static void take_asker(struct mr_run *run, const char *name)
{
	const int size = SEND_BUFFER;
	mr_auto_close int fd = connect_at(run->host->lease_dir, name, SOCK_SEQPACKET);

	/* A dead one's goes.  Whoever only does not listen yet will ask when he does. */
	if (fd == -ECONNREFUSED)
		mr_follow_sweep(run->host->lease_dir, name);
	if (fd < 0 || !is_allowed(fd))
		return;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
		mr_log_debug("run %s: a follower's buffer: %m", run->id);
	/* One connection each: he takes the name away too, but he may be slow. */
	unlinkat(run->host->lease_dir, name, 0);
	add_follower(run, mr_take_fd(fd));
}

void mr_run_followed(struct mr_run *run)
{
	mr_auto_closedir DIR *dir = NULL;
	int fd = openat(run->host->lease_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char prefix[sizeof(PREFIX) + MR_RUN_ID_SIZE];
	struct dirent *entry;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		mr_close(fd);
		return;
	}
	if (run->state == MR_RUN_DONE)
		return;
	snprintf(prefix, sizeof(prefix), PREFIX "%s-", run->id);
	while ((entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			take_asker(run, entry->d_name);
}

void mr_follow_sweep(int dir_fd, const char *name)
{
	int fd;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return;
	/* The wrong type: somebody who listens is told apart from nobody, and not disturbed. */
	fd = connect_at(dir_fd, name, SOCK_DGRAM);
	if (fd == -ECONNREFUSED)
		unlinkat(dir_fd, name, 0);
	mr_close(fd);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* As root as much as can be queued; others get what the system allows. */
static void widen(int fd, int root_size, int size)
{
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &root_size, sizeof(root_size)) < 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
		mr_log_debug("a follower's buffer: %m");
}

static void send_text(const struct follower *f, const char *text)
{
	if (send(f->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		mr_log_debug("run %s: a follower misses its end: %m", f->run->id);
}

static void send_last(struct follower *f, const char *end)
{
	char said[64];

	widen(f->fd, END_BUFFER_ROOT, END_BUFFER);
	while (f->n && !f->gone && send_first(f))
		;
	f->lost += f->n;
	snprintf(said, sizeof(said), "{\"type\":\"lost\",\"count\":%ju}", (uintmax_t)f->lost);
	widen(f->fd, LAST_BUFFER_ROOT, LAST_BUFFER);
	if (f->lost)
		send_text(f, said);
	send_text(f, end);
}

/* What the kernel's side could not hand over, to anybody. */
static uint64_t count_lost(const struct mr_telemetry *t)
{
	uint64_t lost = 0;

	for (int i = 0; t->has_counts && i < MR_WIRE_TYPE_COUNT_; i++)
		lost += t->counts.lost_full[i] + t->counts.lost_ring[i];
	return lost;
}

void mr_follow_end(struct mr_run *run)
{
	struct mr_follow *follow = run->follow;
	char end[128];

	if (!follow)
		return;
	push_denials(follow);
	snprintf(end, sizeof(end), "{\"type\":\"end\",\"reason\":\"%s\",\"exit_status\":%d}",
		 mr_reason_name(run->verdict.reason), run->verdict.exit_status);
	for (size_t i = 0; i < follow->n; i++) {
		struct follower *f = follow->followers[i];

		f->lost += count_lost(&run->telemetry);
		if (!f->gone)
			send_last(f, end);
		free_follower(f);
	}
	stop(follow);
}
