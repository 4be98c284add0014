/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ledger in a file: ledger FILE <records adds "NAME AMOUNT" lines and prints the sum of all
 *
 * Planted: a name is copied into 32 bytes, however long it is.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
	char name[32];
	long amount;
};

static bool parse_amount(const char *text, long *amount)
{
	char *end;

	errno = 0;
	*amount = strtol(text, &end, 10);
	return end != text && *end == '\0' && errno == 0 && *amount > -1000000000 &&
	       *amount < 1000000000;
}

/* NAME AMOUNT; false if it is none. */
static bool parse_entry(char *line, struct entry *entry)
{
	char *space = strrchr(line, ' ');

	if (!space || space == line || !parse_amount(space + 1, &entry->amount))
		return false;
	*space = '\0';
	memcpy(entry->name, line, strlen(line) + 1);
	return true;
}

static bool append(FILE *ledger, const struct entry *entry)
{
	return fprintf(ledger, "%s %ld\n", entry->name, entry->amount) > 0;
}

/* Adds what standard input has; the number of lines that are no entries, or -1. */
static int add_all(FILE *ledger)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int rejected = 0;

	while ((length = getline(&line, &size, stdin)) >= 0) {
		struct entry entry = { 0 };

		if (length && line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (!parse_entry(line, &entry))
			rejected++;
		else if (!append(ledger, &entry))
			break;
	}
	free(line);
	return length < 0 ? rejected : -1;
}

static long sum_of(FILE *ledger)
{
	char *line = NULL;
	size_t size = 0;
	long sum = 0;

	rewind(ledger);
	while (getline(&line, &size, ledger) >= 0) {
		struct entry entry;
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		if (parse_entry(line, &entry))
			sum += entry.amount;
	}
	free(line);
	return sum;
}

int main(int argc, char **argv)
{
	FILE *ledger = argc == 2 ? fopen(argv[1], "a+") : NULL;
	int rejected;

	if (!ledger) {
		perror(argc == 2 ? argv[1] : "usage: ledger FILE");
		return 2;
	}
	rejected = add_all(ledger);
	if (rejected < 0 || fflush(ledger) || fsync(fileno(ledger))) {
		perror(argv[1]);
		return 1;
	}
	printf("%ld, %d rejected\n", sum_of(ledger), rejected);
	return fclose(ledger) ? 1 : 0;
}
