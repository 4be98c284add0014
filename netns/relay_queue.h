/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay queue: frames that wait, the first due first
 *
 * Of frames with one due time the one that came first goes first.  Times are the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/tun.h"

struct mr_relay_frame {
	uint64_t came_ns, due_ns;
	uint64_t number; /* in order of coming; the queue's */
	uint32_t size;
	uint8_t bytes[MR_TUN_FRAME_MAX];
};

struct mr_relay_queue;

/* Memory for `limit` frames, which is not used before they come. */
struct mr_relay_queue *mr_relay_queue_new(uint32_t limit);
/* NULL is accepted.  Returns NULL. */
struct mr_relay_queue *mr_relay_queue_free(struct mr_relay_queue *queue);

/* Where the next frame goes, NULL: it is full.  It is in once mr_relay_queue_push() says so. */
struct mr_relay_frame *mr_relay_queue_room(struct mr_relay_queue *queue);
void mr_relay_queue_push(struct mr_relay_queue *queue);
/* The first one, borrowed; NULL: none. */
const struct mr_relay_frame *mr_relay_queue_first(const struct mr_relay_queue *queue);
void mr_relay_queue_pop(struct mr_relay_queue *queue);
/* Those that came before that time wait no longer. */
void mr_relay_queue_drop(struct mr_relay_queue *queue, uint64_t came_before_ns);
size_t mr_relay_queue_waiting(const struct mr_relay_queue *queue);
