/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay queue
 *
 * A binary heap of the numbers of frames.  Frames do not move: free ones stand behind those that
 * wait in the same array of numbers, so that the one at its end of the heap is the next to be filled.
 */
#include "netns/relay_queue.h"

#include <stdlib.h>

#include "runtime/base/error.h"

struct mr_relay_queue {
	uint32_t limit, n;
	uint64_t came; /* frames so far */
	uint32_t *order; /* n in the heap, then those that are free */
	struct mr_relay_frame *frames;
};

struct mr_relay_queue *mr_relay_queue_new(uint32_t limit)
{
	struct mr_relay_queue *queue = calloc(1, sizeof(*queue));

	mr_assert(queue);
	queue->limit = limit;
	queue->order = calloc(limit, sizeof(*queue->order));
	queue->frames = calloc(limit, sizeof(*queue->frames)); /* fresh pages of the kernel's */
	mr_assert(queue->order && queue->frames);
	for (uint32_t i = 0; i < limit; i++)
		queue->order[i] = i;
	return queue;
}

struct mr_relay_queue *mr_relay_queue_free(struct mr_relay_queue *queue)
{
	if (!queue)
		return NULL;
	free(queue->order);
	free(queue->frames);
	free(queue);
	return NULL;
}

static struct mr_relay_frame *at(const struct mr_relay_queue *queue, uint32_t place)
{
	return &queue->frames[queue->order[place]];
}

static bool is_before(const struct mr_relay_queue *queue, uint32_t a, uint32_t b)
{
	const struct mr_relay_frame *x = at(queue, a), *y = at(queue, b);

	return x->due_ns != y->due_ns ? x->due_ns < y->due_ns : x->number < y->number;
}

static void swap(struct mr_relay_queue *queue, uint32_t a, uint32_t b)
{
	const uint32_t frame = queue->order[a];

	queue->order[a] = queue->order[b];
	queue->order[b] = frame;
}

struct mr_relay_frame *mr_relay_queue_room(struct mr_relay_queue *queue)
{
	return queue->n < queue->limit ? at(queue, queue->n) : NULL;
}

/* The one behind the heap is in it from now on. */
static void take_in(struct mr_relay_queue *queue)
{
	uint32_t place = queue->n++;

	while (place > 0 && is_before(queue, place, (place - 1) / 2)) {
		swap(queue, place, (place - 1) / 2);
		place = (place - 1) / 2;
	}
}

void mr_relay_queue_push(struct mr_relay_queue *queue)
{
	mr_assert(queue->n < queue->limit);
	at(queue, queue->n)->number = queue->came++;
	take_in(queue);
}

void mr_relay_queue_drop(struct mr_relay_queue *queue, uint64_t came_before_ns)
{
	const uint32_t n = queue->n;

	queue->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (at(queue, i)->came_ns < came_before_ns)
			continue;
		swap(queue, i, queue->n);
		take_in(queue);
	}
}

const struct mr_relay_frame *mr_relay_queue_first(const struct mr_relay_queue *queue)
{
	return queue->n > 0 ? at(queue, 0) : NULL;
}

void mr_relay_queue_pop(struct mr_relay_queue *queue)
{
	uint32_t place = 0;

	mr_assert(queue->n > 0);
	swap(queue, 0, --queue->n);
	for (;;) {
		uint32_t least = place;

		for (uint32_t child = 2 * place + 1; child <= 2 * place + 2; child++)
			if (child < queue->n && is_before(queue, child, least))
				least = child;
		if (least == place)
			return;
		swap(queue, place, least);
		place = least;
	}
}

size_t mr_relay_queue_waiting(const struct mr_relay_queue *queue)
{
	return queue->n;
}
