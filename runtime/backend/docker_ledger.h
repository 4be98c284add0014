/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, ledger: which prepared containers there are, whose each is, and how the pool does
 *
 * A prepared container belongs to nobody that lives: what it is stands in a record, a file named
 * after it in the folder "pool" beside the leases.  Who holds a record's lock (OFD) works with the
 * container; everybody else leaves both alone.
 *
 *   making   written before the engine is asked for anything
 *   ready    it waits; of all states the only one in which a record may be free
 *   used     a run has taken it, and nobody takes it again
 *
 * A free record that is not ready was its owner's when he died: the container goes, then the
 * record.  A container without a record goes, too.  So whatever dies at whatever moment, what is left is
 * known for what it is.
 *
 * Counters are a file beside the records, in the same hands one after the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/supervise/lease.h"

struct json_t;
struct mr_error;

enum mr_docker_phase { MR_DOCKER_MAKING = 'm', MR_DOCKER_READY = 'r', MR_DOCKER_USED = 'u' };

struct mr_docker_record {
	char id[MR_RUN_ID_SIZE];
	enum mr_docker_phase state;
	struct json_t *facts; /* owned: key, engine, container, image, uid, gid, ready_ns, until_ns
				 (CLOCK_BOOTTIME), limits */
	int fd; /* holds the lock; -1 */
};

/* The folder, made where it is missing: descriptor or negative errno. */
int mr_docker_ledger_open(struct mr_error *err);

/* A new record, making, held.  facts: stolen. */
int mr_docker_record_begin(int dir_fd, struct json_t *facts, struct mr_docker_record *ret,
			   struct mr_error *err);
/* Take hold of one: 0; 1 somebody holds it; 2 there is none. */
int mr_docker_record_hold(int dir_fd, const char *id, struct mr_docker_record *ret,
			  struct mr_error *err);
/* Look at one without touching it: 0, or 2 when there is none.  *ret_held: somebody works with it. */
int mr_docker_record_look(int dir_fd, const char *id, struct mr_docker_record *ret, bool *ret_held,
			  struct mr_error *err);
/* Its facts as they are now, and ready; still held. */
int mr_docker_record_ready(struct mr_docker_record *record, struct mr_error *err);
int mr_docker_record_use(struct mr_docker_record *record, struct mr_error *err);
/* The container is gone: so is the record. */
void mr_docker_record_drop(int dir_fd, struct mr_docker_record *record);
/* Let go of it and leave it as it is. */
void mr_docker_record_release(struct mr_docker_record *record);
/* Remove one by name, where its owner is known to be dead. */
void mr_docker_record_forget(int dir_fd, const char *id);
uint64_t mr_docker_record_number(const struct mr_docker_record *record, const char *name);
const char *mr_docker_record_text(const struct mr_docker_record *record, const char *name);

/* Ids of all records: an array, malloc'd. */
int mr_docker_ledger_list(int dir_fd, char (**ret)[MR_RUN_ID_SIZE], size_t *ret_n,
			  struct mr_error *err);

/* Counters, held from open to close, so keep it short.  Waits for others: who is to be sure of his
 * time sets an alarm. */
struct mr_docker_counters {
	int fd;
	struct json_t *values; /* owned; change them with mr_docker_counters_add() and by hand */
};
int mr_docker_counters_open(int dir_fd, struct mr_docker_counters *ret, struct mr_error *err);
void mr_docker_counters_add(struct mr_docker_counters *counters, const char *name, int64_t n);
/* Write them back. */
int mr_docker_counters_close(struct mr_docker_counters *counters, struct mr_error *err);

/* One of the pool's fillers at a time for each place (0 to 255): waits.  The descriptor holds it. */
int mr_docker_ledger_queue(int dir_fd, unsigned int place, bool wait, struct mr_error *err);
