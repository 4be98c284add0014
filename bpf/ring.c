/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring
 *
 * The layout is the kernel's ABI (Documentation/bpf/ringbuf.rst): a page with the
 * position of the reader, a page with that of the writers, then the data.  A record
 * has a head of eight bytes, its length with two flags first.
 *
 * The data could be mapped twice over, so that no record is in two pieces; but each
 * page costs a run time to map and to unmap, and a record that is in two is rare and
 * small: it is put together here.
 */
#include "bpf/ring.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/sys.h"
#include "bpf/wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int mr_ring_open(struct mr_ring *ring, int fd, size_t size, struct mr_error *err)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *shared;
	void *own;

	*ring = (struct mr_ring){ .fd = fd, .size = size };
	own = mr_bpf_mmap(fd, (size_t)page, PROT_READ | PROT_WRITE, 0);
	if (own == MAP_FAILED) {
		ring->fd = mr_close(ring->fd);
		return mr_err(err, MR_E_SYS, errno, "map a ring of events: %m");
	}
	ring->consumer = own;
	shared = mr_bpf_mmap(fd, (size_t)page + size, PROT_READ, (size_t)page);
	if (shared == MAP_FAILED) {
		int r = mr_err(err, MR_E_SYS, errno, "map the events of a ring: %m");

		mr_ring_close(ring);
		return r;
	}
	ring->producer = (const void *)shared;
	ring->data = shared + page;
	mr_ring_skip(ring);
	return 0;
}

void mr_ring_skip(struct mr_ring *ring)
{
	ring->oversized = 0;
	__atomic_store_n(ring->consumer, __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

void mr_ring_close(struct mr_ring *ring)
{
	long page = sysconf(_SC_PAGESIZE);

	if (ring->consumer)
		munmap(ring->consumer, (size_t)page);
	if (ring->data)
		munmap((void *)(uintptr_t)(ring->data - page), (size_t)page + ring->size);
	mr_close(ring->fd);
	*ring = (struct mr_ring)MR_RING_INIT;
}

/* In one piece: as it lies, or put together in buf. */
static const void *whole(const struct mr_ring *ring, uint64_t at, size_t size, uint8_t *buf)
{
	size_t begin = at & (ring->size - 1);
	size_t first = ring->size - begin;

	if (size <= first)
		return ring->data + begin;
	memcpy(buf, ring->data + begin, first);
	memcpy(buf + first, ring->data, size - first);
	return buf;
}

size_t mr_ring_read(struct mr_ring *ring,
		    void (*take)(void *owner, const void *record, size_t size), void *owner)
{
	uint8_t buf[MR_WIRE_RECORD_MAX];
	/* Writers who are faster than us would keep us here: what they add now is for the next time. */
	const uint64_t end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	uint64_t at = *ring->consumer;
	size_t n = 0;

	while (at < end) {
		/* Records begin at multiples of eight, so a head is never in two pieces. */
		const uint8_t *head = ring->data + (at & (ring->size - 1));
		uint32_t len =
			__atomic_load_n((const uint32_t *)(const void *)head, __ATOMIC_ACQUIRE);
		size_t size = len & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (len & BPF_RINGBUF_BUSY_BIT || size > ring->size)
			break;
		if (size > sizeof(buf))
			ring->oversized++;
		else if (!(len & BPF_RINGBUF_DISCARD_BIT)) {
			take(owner, whole(ring, at + BPF_RINGBUF_HDR_SZ, size, buf), size);
			n++;
		}
		at += (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
		__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
	}
	return n;
}
