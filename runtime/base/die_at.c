/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Death at a chosen step: the half that only test builds have
 *
 * The tables are known before main().  A step may be one between vfork() and exec(), so nothing here
 * allocates or locks.
 */
#include "runtime/base/die_at.h"

#ifdef MENACE_TEST_BUILD
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define VARIABLE "MENACE_DIE_AT"
#define NAME_MAX_SIZE 80

static struct mr_die_table *tables;

void mr_die_table_add(struct mr_die_table *table)
{
	struct mr_die_table **end = &tables;

	while (*end)
		end = &(*end)->next;
	*end = table;
}

static bool is_word_of(const char *word, const char *words)
{
	const size_t size = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += size)
		if ((p == words || p[-1] == ' ') && (p[size] == ' ' || p[size] == '\0'))
			return true;
	return false;
}

/* The kernel drops a SIGKILL that the init of a pid namespace sends itself.  In strict mode the next
 * system call is the end of any process, by that signal too. */
_Noreturn static void die(void)
{
	kill(getpid(), SIGKILL);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_getpid);
	__builtin_trap(); /* under a filter of others there is no strict mode */
}

void mr_die_at(const struct mr_die_table *table, const char *step)
{
	const char *wanted = getenv(VARIABLE);
	char name[NAME_MAX_SIZE], said[NAME_MAX_SIZE + 16];
	int n;

	if (!wanted)
		return;
	snprintf(name, sizeof(name), "%s.%s", table->name, step);
	if (!is_word_of(name, wanted))
		return;
	n = snprintf(said, sizeof(said), "died at %s\n", name);
	if (write(STDERR_FILENO, said, (size_t)n) == n)
		die();
	die();
}

bool mr_die_at_list(void)
{
	const char *wanted = getenv(VARIABLE);

	if (!wanted || strcmp(wanted, "list") != 0)
		return false;
	for (const struct mr_die_table *t = tables; t; t = t->next) {
		for (size_t i = 0; i < t->n; i++) {
			const char *const *row =
				(const void *)((const char *)t->rows + i * t->row_size);

			if (*row)
				printf("%s.%s\n", t->name, *row);
		}
	}
	return true;
}
#endif
