/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hold on: processes that will not go
 *
 *   hold-pipe daemons N      N daemons, forked twice, in sessions of their own, deaf to signals,
 *                            with our standard streams; say "daemons N" and return 0
 *   hold-pipe orphans N      the same, and the middle process of each stays too
 *   hold-pipe stopped        a child and we stop each other with SIGSTOP
 *   hold-pipe deaf           say "ready", then ignore every signal for ever
 *   hold-pipe alarms         likewise, with timers of our own that never stop ringing
 *   hold-pipe send PATH      pass standard output to whoever listens at PATH; say "sent"
 *   hold-pipe receive PATH   listen at PATH (say "listening"), take one descriptor, say "received",
 *                            keep it until standard input ends
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static int fail(const char *what)
{
	printf("%s: %s\n", what, strerrorname_np(errno));
	return 1;
}

static void be_deaf(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
}

static void stay(void)
{
	for (;;)
		pause();
}

/* The pipe tells when each daemon is on its own: end of file, once all hold only their end. */
static int make_daemons(unsigned long n, int keep_parents)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		return fail("pipe");
	for (unsigned long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return fail("fork");
		if (pid == 0) {
			be_deaf();
			if (setsid() < 0 || fork() < 0)
				_exit(1);
			if (!keep_parents && getpid() == getsid(0))
				_exit(0);
			close(ready[0]);
			close(ready[1]);
			stay();
		}
		if (!keep_parents)
			waitpid(pid, NULL, 0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 0)
		return fail("read");
	printf("daemons %lu\n", n);
	return 0;
}

static void stop_each_other(void)
{
	pid_t parent = getpid(), child;

	say("stopping");
	child = fork();
	if (child < 0)
		exit(fail("fork"));
	if (child == 0) {
		say("stopping");
		kill(parent, SIGSTOP);
	}
	raise(SIGSTOP);
	stay();
}

static void ring(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	be_deaf();
	setitimer(ITIMER_REAL, &often, NULL);
	setitimer(ITIMER_VIRTUAL, &often, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	say("ready");
	for (;;)
		alarm(3600);
}

static int socket_at(const char *path, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(addr->sun_path, sizeof(addr->sun_path), "%s", path);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

struct fd_message {
	char byte;
	struct iovec iov;
	struct msghdr msg;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
};

static void init_message(struct fd_message *m)
{
	memset(m, 0, sizeof(*m));
	m->iov = (struct iovec){ &m->byte, 1 };
	m->msg = (struct msghdr){ .msg_iov = &m->iov,
				  .msg_iovlen = 1,
				  .msg_control = &m->control,
				  .msg_controllen = sizeof(m->control) };
}

static int send_stdout(const char *path)
{
	struct sockaddr_un addr;
	int s = socket_at(path, &addr), fd = STDOUT_FILENO;
	struct fd_message m;

	if (s < 0 || connect(s, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return fail("connect");
	init_message(&m);
	m.control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					     .cmsg_level = SOL_SOCKET,
					     .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&m.control.header), &fd, sizeof(fd));
	if (sendmsg(s, &m.msg, 0) != 1 || read(s, &m.byte, 1) != 1)
		return fail("send");
	say("sent");
	return 0;
}

static int receive(const char *path)
{
	struct sockaddr_un addr;
	int s = socket_at(path, &addr), peer;
	struct fd_message m;

	if (s < 0 || bind(s, (struct sockaddr *)&addr, sizeof(addr)) < 0 || chmod(path, 0777) < 0 ||
	    listen(s, 1) < 0)
		return fail("listen");
	say("listening");
	peer = accept(s, NULL, NULL);
	init_message(&m);
	if (peer < 0 || recvmsg(peer, &m.msg, 0) != 1 || m.msg.msg_controllen == 0)
		return fail("receive");
	say("received");
	if (write(peer, "k", 1) != 1)
		return fail("acknowledge");
	while (read(STDIN_FILENO, &m.byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "stopped") == 0)
		stop_each_other();
	if (strcmp(argv[1], "alarms") == 0)
		ring();
	if (strcmp(argv[1], "deaf") == 0) {
		be_deaf();
		say("ready");
		stay();
	}
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "send") == 0)
		return send_stdout(argv[2]);
	if (strcmp(argv[1], "receive") == 0)
		return receive(argv[2]);
	return make_daemons(number_of(argv[2]), argv[1][0] == 'o');
}
