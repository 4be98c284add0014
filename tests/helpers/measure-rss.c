/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measure RSS, from outside
 *
 *   measure-rss FILE PROGRAM...   run it; its largest resident set in KiB goes to FILE
 *
 * The kernel takes the largest of the program and of every process that was waited for
 * below it: to measure a supervisor, give it a small payload.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage ru;
	int status;
	FILE *file;
	pid_t pid;

	if (argc < 3)
		return 2;
	pid = fork();
	if (pid == 0) {
		execv(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) != pid)
		return 125;
	file = fopen(argv[1], "w");
	if (!file || fprintf(file, "%ld\n", ru.ru_maxrss) < 0 || fclose(file) != 0)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
