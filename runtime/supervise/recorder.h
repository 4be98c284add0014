/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorder: what a program used, so that a policy can be made of it
 *
 * System calls by number, paths with what was done to them, addresses, and the
 * peaks that nothing else measures.  A path that the run itself made cannot be named
 * in a policy, which is resolved before the start: it counts for its folder, as far
 * up as that was there before.  Bounded; what finds no room, or cannot be read, makes it
 * incomplete.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_t;
struct mr_notify;

#define MR_RECORDER_MAX_PATHS 65536
#define MR_RECORDER_MAX_HOSTS 1024

struct mr_recorder {
	uint64_t calls[8]; /* bit per number */
	struct json_t *paths; /* path: enum mr_policy_access bits */
	struct json_t *program; /* those of them that are the program itself */
	struct json_t *made; /* paths that the run made */
	struct json_t *moves; /* folders that something went between: [{FROM}, {TO}] */
	struct json_t *hosts; /* [{host, port, protocol}] by their text */
	int pool_fd; /* file system of the writable places, borrowed; or -1 */
	uint64_t nofile_peak; /* 0: not known */
	uint64_t disk_peak; /* bytes */
	bool knows_disk;
	bool full; /* something found no room, or could not be read */
};

void mr_recorder_init(struct mr_recorder *recorder, int pool_fd);
void mr_recorder_deinit(struct mr_recorder *recorder);
/* The call that is being answered, which goes on. */
void mr_recorder_note_call(struct mr_recorder *recorder, const struct mr_notify *notify);
/* access: of enum mr_policy_access; a folder's path ends in a slash. */
void mr_recorder_note_path(struct mr_recorder *recorder, const char *path, unsigned int access);
/* A file that runs because the caller asked for it. */
void mr_recorder_note_program(struct mr_recorder *recorder, const char *path);
/* The run is about to make this path. */
void mr_recorder_note_made(struct mr_recorder *recorder, const char *path);
/* Something is moved or linked from one folder to another: Landlock wants both to grant the same. */
void mr_recorder_note_move(struct mr_recorder *recorder, const char *from, const char *to);
/* At the end, while the file system is still there. */
void mr_recorder_finish(struct mr_recorder *recorder);
/* The member "access" of a result; new reference:
 *   syscalls [name], paths [{path, access}], program [path], hosts [{host, port, protocol}],
 *   sorted;
 *   peak {nofile, disk_bytes}, null where not known; complete */
struct json_t *mr_recorder_to_json(const struct mr_recorder *recorder);
