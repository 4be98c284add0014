/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result file: where the result of -o goes
 */
#pragma once

#include <stdbool.h>

struct json_t;
struct mr_cli;
struct mr_error;

struct mr_result_file {
	int fd; /* a stream, -1: none */
	bool is_own; /* the stream is ours to close */
	int dir_fd; /* the folder of a file that is made in the end, -1: none */
	char *name; /* of that file, in the folder */
	const char *target; /* as the caller gave it */
};
#define MR_RESULT_FILE_INIT             \
	{                               \
		.fd = -1, .dir_fd = -1, \
	}

/* The place of the result, before anything runs: "-", "FD:N" or a file.  An old file is gone then, so that it
 * is not taken for the result of a run that fails.  MR_E_USAGE for a bad place. */
int mr_result_file_open(const struct mr_cli *cli, struct mr_result_file *ret, struct mr_error *err);
bool mr_result_file_is_wanted(const struct mr_result_file *file);
/* The whole document, or no file.  Says itself what failed. */
int mr_result_file_write(struct mr_result_file *file, const struct json_t *result);
void mr_result_file_deinit(struct mr_result_file *file);
