/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loop: one epoll, callbacks by descriptor
 *
 * A source is embedded in its owner's struct and lives as long as the owner says.
 * Removing a source from inside any callback is safe: events that epoll_wait has
 * already returned for it are dropped.  Timers are timerfds of the owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/clock.h" /* the time that timers go by */

struct mr_error;
struct mr_loop;

struct mr_source {
	int fd; /* -1: not in the loop */
	uint32_t events;
	void (*on_event)(struct mr_source *source, uint32_t events);
	void *owner;
};

int mr_loop_new(struct mr_loop **ret, struct mr_error *err);
struct mr_loop *mr_loop_free(struct mr_loop *loop);

/* Watch fd for events (EPOLLIN ...).  The descriptor stays the caller's. */
int mr_loop_add(struct mr_loop *loop, struct mr_source *source, int fd, uint32_t events,
		void (*on_event)(struct mr_source *, uint32_t), void *owner, struct mr_error *err);
int mr_loop_modify(struct mr_loop *loop, struct mr_source *source, uint32_t events,
		   struct mr_error *err);
/* No-op for a source that is not in the loop. */
void mr_loop_remove(struct mr_loop *loop, struct mr_source *source);

/* Readable when there is something to call back for: for those who wait elsewhere.  Borrowed. */
int mr_loop_fd(const struct mr_loop *loop);
/* Wait for events once (timeout_ms -1: for ever) and call back. Number handled, or negative errno. */
int mr_loop_run_once(struct mr_loop *loop, int timeout_ms, struct mr_error *err);
/* Call back for what is there already and what comes of that, for `ns` of this process's own processor time
 * at most; nothing is waited for.  0, or negative errno: ETIMEDOUT where there was more. */
int mr_loop_drain(struct mr_loop *loop, uint64_t ns, struct mr_error *err);

/* A timerfd on CLOCK_BOOTTIME (a suspended host does not stretch a limit), unarmed. */
int mr_timer_open(struct mr_error *err);
/* Fire once when mr_now_ns() is this; 0 disarms. */
int mr_timer_arm(int timer_fd, uint64_t at_ns, struct mr_error *err);
/* Clear the expiration count. */
void mr_timer_ack(int timer_fd);
