/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fake QEMU: a machine that does one thing wrong
 *
 * What it does is the end of its own name, after a '-': QEMU is given no environment.  Some say what is in
 * the files "output" and "result" beside it.
 * Descriptor 3 is the console, 4 the channel (runtime/backend/qemu_wire.h).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/backend/qemu_wire.h"

#define CONSOLE 3
#define CHANNEL 4

enum {
#define TYPE(name, ...) TYPE_##name,
	MR_WIRE_TYPES(TYPE)
#undef TYPE
};

#define ROOM (1 << 20) /* the kernel gives less: twice net.core.wmem_max */

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

static void say_hello(void)
{
	static const char hello[] = "\001"
				    "9.9-fake";

	frame(TYPE_HELLO, hello, sizeof(hello) - 1);
}

static void start(void)
{
	say_hello();
	frame(TYPE_STARTED, "", 0);
}

/* A whole result, which says that this kernel cannot do what it has begun. */
static void claim(void)
{
	static const char result[] =
		"{\"schema\": null, \"version\": null, \"run_id\": null, \"name\": null, "
		"\"spec_sha256\": null, \"started_at\": null, \"reason\": \"setup_error\", "
		"\"exit\": "
		"{\"status\": 125, \"code\": null, \"signal\": null, \"signal_name\": null}, "
		"\"error\": {\"code\": \"kernel\", \"errno\": 95, \"message\": \"not here\"}, "
		"\"usage\": null, \"limits\": null, \"limits_hit\": null, \"oom\": null, "
		"\"leftover_killed\": null, \"stdout\": null, \"stderr\": null, \"workspace\": "
		"null, "
		"\"denials\": null, \"failures\": null, \"failure_seed\": null, \"inconclusive\": "
		"null, "
		"\"inconclusive_why\": null, \"network\": null, \"telemetry\": null, \"receipt\": "
		"{}, "
		"\"not_enforced\": null, \"timings\": {}}";

	start();
	frame(TYPE_OUT, "it has begun\n", 13);
	frame(TYPE_RESULT, result, sizeof(result) - 1);
	frame(TYPE_END, "", 0);
}

static void endless(int type)
{
	start();
	memset(body, 'x', sizeof(body));
	while (frame(type, body, sizeof(body)) == 0)
		;
}

/* What one of the files has, as frames of that type. */
static void send_file(const char *program, const char *name, int type)
{
	char path[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(program, '/') - program), program,
		 name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, body, sizeof(body))) > 0)
		frame(type, body, (size_t)n);
	close(fd);
}

/* A run that has done what it was to do.  What nobody reads yet fits into the channel, however it was cut into
 * pieces: the end of this program is not the reader's. */
static void pour(const char *program)
{
	static const int room = ROOM;

	if (setsockopt(CHANNEL, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) < 0)
		_exit(5);
	send_file(program, "output", TYPE_OUT);
	send_file(program, "result", TYPE_RESULT);
	frame(TYPE_END, "", 0);
}

static void say_console(void)
{
	static const char text[] = "Kernel panic - not syncing: No working init found.\n";

	for (int i = 0; i < 1000; i++)
		put(CONSOLE, "all is well so far\n", 19);
	put(CONSOLE, text, sizeof(text) - 1);
}

/* With a disk of its own (runtime/backend/qemu_agent.h). */
static void greet(void)
{
	static const char greeting[] = "menace-agent 1\n";

	put(CHANNEL, greeting, sizeof(greeting) - 1);
	frame(TYPE_STARTED, "", 0);
}

/* What of this host can it open? */
static void peek(void)
{
	static const char *const files[] = { "/etc/passwd", "/etc/hostname", "/proc/self/maps",
					     "/tmp", "/" };
	static const char result[] = "{\"exit\": 0}";

	greet();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (open(files[i], O_RDONLY) >= 0)
			frame(TYPE_OUT, files[i], strlen(files[i]));
	frame(TYPE_RESULT, result, sizeof(result) - 1);
	frame(TYPE_END, "", 0);
}

static int uses_kvm(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(argv[i], "accel=kvm"))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *dash = argc > 0 ? strrchr(argv[0], '-') : NULL;
	const char *what = dash ? dash + 1 : "";
	const unsigned char huge[] = { TYPE_OUT, 0, 0, 0, 0xff, 0xff, 0xff, 0xff };

	signal(SIGPIPE, SIG_IGN);
	if (fcntl(CHANNEL, F_SETFL, 0) < 0 || fcntl(CONSOLE, F_SETFL, 0) < 0) /* ours alone */
		return 4;
	if (strcmp(what, "dawdles") == 0) {
		say_hello();
		sleep(4); /* what it does wrong: longer than KVM has to bring up a kernel */
		frame(TYPE_STARTED, "", 0);
		pour(argv[0]);
	}
	if (strcmp(what, "slips") == 0 && !uses_kvm(argc, argv)) {
		start();
		pour(argv[0]);
	}
	if (strcmp(what, "quits") == 0 || (strcmp(what, "slips") == 0 && uses_kvm(argc, argv))) {
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
	if (strcmp(what, "claims") == 0)
		claim();
	if (strcmp(what, "peeks") == 0)
		peek();
	if (strcmp(what, "works") == 0) {
		start();
		frame(TYPE_OUT, "at work\n", 8);
	}
	if (strcmp(what, "pours") == 0 || strcmp(what, "spills") == 0) {
		start();
		pour(argv[0]);
	}
	if (strcmp(what, "tells") == 0 || strcmp(what, "blurts") == 0) {
		greet();
		pour(argv[0]);
	}
	if (strcmp(what, "spills") == 0 || strcmp(what, "blurts") == 0)
		return 0;
	if (strcmp(what, "dies") == 0) {
		start();
		frame(TYPE_OUT, "the last words\n", 15);
		kill(getpid(), SIGKILL);
	}
	stay();
}
