/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fake QEMU: a machine that does one thing wrong
 *
 * What it does is the end of its own name, after a '-': QEMU is given no environment.
 * Descriptor 3 is the console, 4 the channel (runtime/backend/qemu_wire.h).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/backend/qemu_wire.h"

#define CONSOLE 3
#define CHANNEL 4

enum {
#define TYPE(name, ...) TYPE_##name,
	MR_WIRE_TYPES(TYPE)
#undef TYPE
};

static char body[MR_WIRE_BODY_MAX];

static int put(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = write(fd, at, size);

		if (n < 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int frame(int type, const void *data, size_t size)
{
	const unsigned char head[MR_WIRE_HEAD] = { (unsigned char)type,
						   0,
						   0,
						   0,
						   (unsigned char)size,
						   (unsigned char)(size >> 8),
						   (unsigned char)(size >> 16),
						   (unsigned char)(size >> 24) };

	return put(CHANNEL, head, sizeof(head)) < 0 ? -1 : put(CHANNEL, data, size);
}

static void stay(void)
{
	for (;;)
		pause();
}

static void start(void)
{
	static const char hello[] = "\001"
				    "9.9-fake";

	frame(TYPE_HELLO, hello, sizeof(hello) - 1);
	frame(TYPE_STARTED, "", 0);
}

static void endless(int type)
{
	start();
	memset(body, 'x', sizeof(body));
	while (frame(type, body, sizeof(body)) == 0)
		;
}

static void say_console(void)
{
	static const char text[] = "Kernel panic - not syncing: No working init found.\n";

	for (int i = 0; i < 1000; i++)
		put(CONSOLE, "all is well so far\n", 19);
	put(CONSOLE, text, sizeof(text) - 1);
}

int main(int argc, char **argv)
{
	const char *dash = argc > 0 ? strrchr(argv[0], '-') : NULL;
	const char *what = dash ? dash + 1 : "";
	const unsigned char huge[] = { TYPE_OUT, 0, 0, 0, 0xff, 0xff, 0xff, 0xff };

	signal(SIGPIPE, SIG_IGN);
	if (fcntl(CHANNEL, F_SETFL, 0) < 0 || fcntl(CONSOLE, F_SETFL, 0) < 0) /* ours alone */
		return 4;
	if (strcmp(what, "quits") == 0) {
		fputs("qemu: this machine is not for today\n", stderr);
		return 3;
	}
	if (strcmp(what, "panics") == 0) {
		say_console();
		return 0;
	}
	if (strcmp(what, "babbles") == 0)
		put(CHANNEL, "<html>hello</html>", 18);
	if (strcmp(what, "inflates") == 0)
		put(CHANNEL, huge, sizeof(huge));
	if (strcmp(what, "floods") == 0)
		endless(TYPE_OUT);
	if (strcmp(what, "bloats") == 0)
		endless(TYPE_RESULT);
	if (strcmp(what, "refuses") == 0)
		frame(TYPE_FAIL, "no \033[31mroom", 12);
	if (strcmp(what, "lies") == 0) {
		start();
		frame(TYPE_RESULT, "{\"reason\": \"exited\"}", 20);
		frame(TYPE_END, "", 0);
	}
	if (strcmp(what, "dies") == 0) {
		start();
		frame(TYPE_OUT, "the last words\n", 15);
		kill(getpid(), SIGKILL);
	}
	stay();
}
