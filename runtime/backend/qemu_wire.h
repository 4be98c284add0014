/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wire: what goes through the one serial port between menace-qemu and its guest
 *
 * Frames: a type, three bytes of zero, the size of what follows (little endian), that many
 * bytes.  The guest is hostile: a decoder holds one frame at most, and whatever is not a frame
 * that this side may send, in the size that this type may have, is an error of the stream from
 * which nothing recovers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_buf;
struct mr_error;

#define MR_WIRE_VERSION 1
#define MR_WIRE_HEAD 8
#define MR_WIRE_BODY_MAX 65536 /* of any frame */
#define MR_WIRE_PORT "menace" /* name of the virtio port */

/* TYPE(name, sender, least size, greatest size) */
/* clang-format off */
#define MR_WIRE_TYPES(TYPE) \
	TYPE(SETUP,     HOST,  2, 65536) /* JSON: what the guest needs to know */ \
	TYPE(ENTROPY,   HOST,  32, 256)  /* fresh random bytes */ \
	TYPE(SPEC,      HOST,  1, 65536) /* a piece of the spec */ \
	TYPE(START,     HOST,  0, 0)     /* that was all of it */ \
	TYPE(INPUT,     HOST,  1, 65536) /* standard input, asked for by WANT */ \
	TYPE(INPUT_END, HOST,  0, 0) \
	TYPE(SIGNAL,    HOST,  1, 1)     /* number of a signal for the run */ \
	TYPE(HELLO,     GUEST, 2, 128)   /* version of this protocol (one byte), kernel release */ \
	TYPE(STARTED,   GUEST, 0, 0)     /* the run's clock begins */ \
	TYPE(WANT,      GUEST, 0, 0)     /* one frame of INPUT has room */ \
	TYPE(OUT,       GUEST, 1, 65536) /* what the payload wrote to standard output */ \
	TYPE(ERR,       GUEST, 1, 65536) /* and to standard error */ \
	TYPE(RESULT,    GUEST, 1, 65536) /* a piece of the result */ \
	TYPE(FAIL,      GUEST, 1, 500)   /* why the guest cannot do the run */ \
	TYPE(END,       GUEST, 0, 0)     /* the result is whole */
/* clang-format on */

enum mr_wire_type {
#define TYPE(name, ...) MR_WIRE_##name,
	MR_WIRE_TYPES(TYPE)
#undef TYPE
};
enum mr_wire_side { MR_WIRE_HOST, MR_WIRE_GUEST };

/* The head of a frame; type and size are ours and are asserted. */
void mr_wire_head(unsigned char ret[MR_WIRE_HEAD], enum mr_wire_type type, size_t size);
/* Add a frame to what is to be sent; or a text, in as many frames as it takes. */
void mr_wire_queue(struct mr_buf *queue, enum mr_wire_type type, const void *body, size_t size);
void mr_wire_queue_text(struct mr_buf *queue, enum mr_wire_type type, const char *text);

struct mr_wire {
	enum mr_wire_side sender; /* whose frames are read */
	size_t n; /* bytes of the frame at hand */
	unsigned char buf[MR_WIRE_HEAD + MR_WIRE_BODY_MAX];
};

/* One whole frame; body is only good within the call.  Negative ends the stream. */
typedef int mr_wire_fn(void *owner, enum mr_wire_type type, const unsigned char *body, size_t size,
		       struct mr_error *err);

/* Begin to read what this side sends. */
void mr_wire_init(struct mr_wire *wire, enum mr_wire_side sender);
/* Take what came, in pieces as they come.  MR_E_PROTO: it is no frame; or what `take` said. */
int mr_wire_feed(struct mr_wire *wire, const void *data, size_t size, mr_wire_fn *take, void *owner,
		 struct mr_error *err);
