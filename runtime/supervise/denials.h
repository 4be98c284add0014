/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Denials: what the sandbox refused, from every layer, in one format
 *
 * Equal denials (layer, what, object, comm) are one row with a count.  The table
 * is bounded whatever the payload does, its sums are exact all the same.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct json_t;

enum mr_denial_layer {
	MR_DENIAL_SECCOMP,
	MR_DENIAL_LANDLOCK,
	MR_DENIAL_MOUNT,
	MR_DENIAL_NETWORK,
	MR_DENIAL_LIMITS,
	MR_DENIAL_LAYERS_,
};

#define MR_DENIALS_MAX_ROWS 256
#define MR_DENIALS_MAX_OVERFLOW 64
#define MR_DENIAL_MAX_OBJECT 4096
#define MR_DENIAL_MAX_TEXT 512 /* what, rule, reason, allow: each cut to this */
#define MR_DENIAL_MAX_COMM 16

/* One denial as a layer saw it.  Strings are borrowed for the call; NULL is "not known". */
struct mr_denial {
	enum mr_denial_layer layer;
	const char *what; /* system call or operation: "mount", "connect" */
	const char *object; /* path or address as text; hostile bytes are welcome */
	int errnum; /* what the payload got; 0 when it was killed or cannot be told */
	pid_t pid; /* as the supervisor sees it */
	const char *comm;
	const char *rule; /* row or set that denied it */
	const char *reason; /* why that rule is there */
	const char *allow; /* how to allow it, or NULL when nothing does */
	/* Of the network: where to, apart from object, which is for people. */
	const char *address; /* as text, without port; NULL: none or not known */
	const char *name; /* of the host asked for */
	uint16_t port; /* with address; 0: none */
	uint64_t time_ns; /* when, on the clock of the run's other times */
};

struct mr_denials_row;

/* All members are private to denials.c. */
struct mr_denials {
	struct mr_denials_row *rows; /* allocated as needed, at most MR_DENIALS_MAX_ROWS */
	size_t n_rows;
	struct mr_denials_row *overflow; /* by layer and what only */
	size_t n_overflow;
	uint64_t total;
	uint64_t dropped;
	uint64_t by_layer[MR_DENIAL_LAYERS_];
};

/* Allocates nothing; `*tbl = (struct mr_denials){ 0 }` does the same. */
void mr_denials_init(struct mr_denials *tbl);
void mr_denials_deinit(struct mr_denials *tbl);

/* Count one denial.  Never fails: what finds no room (or no memory) for a row of its own is
 * counted as dropped, and still by layer and what, so that a flood of one kind cannot hide
 * that another kind happened.  Of equal denials the first keeps its pid, errno and texts. */
void mr_denials_add(struct mr_denials *tbl, const struct mr_denial *denial);

/* Count n denials of which nothing else is known: dropped, under this layer and what. */
void mr_denials_lose(struct mr_denials *tbl, enum mr_denial_layer layer, const char *what,
		     uint64_t n);

/* All denials, dropped ones included. */
uint64_t mr_denials_total(const struct mr_denials *tbl);
/* Denials of one layer, dropped ones included. */
uint64_t mr_denials_of_layer(const struct mr_denials *tbl, enum mr_denial_layer layer);

/* "seccomp", "landlock", "mount", "network", "limits". */
const char *mr_denials_layer_name(enum mr_denial_layer layer);

/* New reference:
 *   total, dropped, by_layer {name: count}
 *   rows      [{layer, what, object, errno: {name, number} or null, pid, comm, rule, reason,
 *             allow, count, first_ns}] in order of first appearance; null where not known;
 *             those of the network have address, port and name, too;
 *             what is not UTF-8 is shown escaped with the exact bytes in "..._base64";
 *             "object_truncated": true when the object was longer than is kept
 *   overflow  [{layer, what, count}] of the dropped ones */
struct json_t *mr_denials_to_json(const struct mr_denials *tbl);

/* The i-th row as an event of type "denial", as trail.h has them; new reference, NULL when there is
 * none. */
struct json_t *mr_denials_event(const struct mr_denials *tbl, size_t i);
