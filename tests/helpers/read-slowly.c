/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read slowly
 *
 *   read-slowly BYTES MS [TOTAL]   copy standard input to standard output, BYTES at a time
 *                                  with MS milliseconds between; after TOTAL bytes at full
 *                                  speed
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/helpers/number.h"

int main(int argc, char **argv)
{
	static char buf[1 << 20];
	unsigned long long slow, done = 0;
	struct timespec pause;
	unsigned long ms;
	size_t size;
	ssize_t n;

	if (argc < 3)
		return 2;
	size = number_of(argv[1]);
	ms = number_of(argv[2]);
	slow = argc > 3 ? number_of(argv[3]) : ~0ULL;
	pause = (struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	if (size == 0 || size > sizeof(buf))
		return 2;
	while ((n = read(STDIN_FILENO, buf, size)) > 0) {
		if (write(STDOUT_FILENO, buf, (size_t)n) != n)
			return 1;
		done += (unsigned long long)n;
		if (done < slow)
			nanosleep(&pause, NULL);
	}
	return n < 0;
}
