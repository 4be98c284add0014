/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order: what the first process of a prepared container is told to start
 *
 * It comes first on the container's input, which goes on as the payload's.  A head, then texts
 * that each end with a NUL: the working folder, the number of arguments, the arguments, and
 * the variables (NAME=VALUE), which are laid over those that the container has.  The answer is
 * MR_ORDER_TAKEN on the container's output, before the payload starts: without it nothing
 * was started.
 *
 * A head alone (mr_order_ask()) may come before: whether it listens.  The answer is MR_ORDER_READY; from then on until
 * the order it does nothing but wait.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;

#define MR_ORDER_READY "menace: ready\n"
#define MR_ORDER_TAKEN "menace: taken\n"
#define MR_ORDER_MAX (16 << 20)

struct mr_order_head {
	char magic[8];
	uint32_t size; /* of what follows; of this host's byte order, for an engine is local */
	uint32_t zero;
};

/* Head and texts: malloc'd.  NULL: it would be longer than MR_ORDER_MAX. */
char *mr_order_make(const char *folder, char *const *argv, char *const *envp, size_t *ret_size);

/* Likewise, of the question whether it listens. */
char *mr_order_ask(size_t *ret_size);

bool mr_order_head_asks(const struct mr_order_head *head);
bool mr_order_head_is_good(const struct mr_order_head *head);
/* Take the texts apart; text has a NUL behind its size.  *ret_folder and the strings borrow text and environment,
 * the arrays are malloc'd.  MR_E_PROTO. */
int mr_order_parse(char *text, size_t size, char *const *environment, const char **ret_folder,
		   char ***ret_argv, char ***ret_envp, struct mr_error *err);
