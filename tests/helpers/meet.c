/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meet: can two programs find each other without a file that both may write?
 *
 *   meet put FILE    leaves a sign in every channel, prints "NAME OK" or "NAME ERRNO" for each
 *                    and "ready", stays until its standard input ends
 *   meet get FILE    looks for the signs: "NAME found", or "NAME ERRNO"
 *
 * FILE is one that both can read; its locks are two of the channels.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define KEY 0x6d656574 /* "meet" */
#define PORT 4711
#define USER_KEYRING (-4)
#define KEYCTL_UNLINK_KEY 9
#define KEYCTL_SEARCH_KEY 10

static const char *file;
static long key = -1;

/* Every function: 0 or more if it worked, -1 with errno. */

static int put_shm(void)
{
	return open("/dev/shm/menace-meet", O_CREAT | O_RDWR, 0666);
}

static int get_shm(void)
{
	return open("/dev/shm/menace-meet", O_RDONLY);
}

static int put_tmp(void)
{
	return open("/tmp/menace-meet", O_CREAT | O_RDWR, 0666);
}

static int get_tmp(void)
{
	return open("/tmp/menace-meet", O_RDONLY);
}

static int put_sysv_shm(void)
{
	return shmget(KEY, 4096, IPC_CREAT | 0666);
}

static int get_sysv_shm(void)
{
	return shmget(KEY, 0, 0);
}

static int put_sysv_queue(void)
{
	return msgget(KEY, IPC_CREAT | 0666);
}

static int get_sysv_queue(void)
{
	return msgget(KEY, 0);
}

static int put_posix_queue(void)
{
	return mq_open("/menace-meet", O_CREAT | O_RDWR, 0666, NULL);
}

static int get_posix_queue(void)
{
	return mq_open("/menace-meet", O_RDONLY);
}

static socklen_t name_socket(struct sockaddr_un *un)
{
	static const char name[] = "\0menace-meet";

	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(un->sun_path, name, sizeof(name));
	return offsetof(struct sockaddr_un, sun_path) + sizeof(name);
}

static int put_abstract(void)
{
	struct sockaddr_un un;
	socklen_t len = name_socket(&un);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&un, len) < 0 ? -1 : listen(fd, 4);
}

static int get_abstract(void)
{
	struct sockaddr_un un;
	socklen_t len = name_socket(&un);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&un, len);
}

static int put_vsock(void)
{
	struct sockaddr_vm vm = { .svm_family = AF_VSOCK,
				  .svm_port = PORT,
				  .svm_cid = VMADDR_CID_ANY };
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&vm, sizeof(vm)) < 0 ? -1 : listen(fd, 4);
}

static int get_vsock(void)
{
	struct sockaddr_vm vm = { .svm_family = AF_VSOCK,
				  .svm_port = PORT,
				  .svm_cid = VMADDR_CID_LOCAL };
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);

	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&vm, sizeof(vm));
}

static int put_key(void)
{
	key = syscall(SYS_add_key, "user", "menace-meet", "x", 1, USER_KEYRING);
	return key < 0 ? -1 : 0;
}

static int get_key(void)
{
	return syscall(SYS_keyctl, KEYCTL_SEARCH_KEY, USER_KEYRING, "user", "menace-meet", 0) < 0
		       ? -1
		       : 0;
}

static int put_flock(void)
{
	int fd = open(file, O_RDONLY);

	return fd < 0 ? -1 : flock(fd, LOCK_EX | LOCK_NB);
}

static int get_flock(void)
{
	int fd = open(file, O_RDONLY);

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : -1;
	errno = ENOENT;
	return -1;
}

static int put_record_lock(void)
{
	struct flock lock = { .l_type = F_RDLCK };
	int fd = open(file, O_RDONLY);

	return fd < 0 ? -1 : fcntl(fd, F_SETLK, &lock);
}

static int get_record_lock(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int fd = open(file, O_RDONLY);

	if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0)
		return -1;
	errno = ENOENT;
	return lock.l_type == F_UNLCK ? -1 : 0;
}

/* A lock with a range that says who it is, on a file that nobody else can open. */
static int put_shown_lock(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = KEY, .l_len = 1 };
	int fd = memfd_create("meet", 0);

	return fd < 0 ? -1 : fcntl(fd, F_OFD_SETLK, &lock);
}

static int get_shown_lock(void)
{
	char line[256], sign[32];
	FILE *f = fopen("/proc/locks", "re");
	int found = -1;

	if (!f)
		return -1;
	snprintf(sign, sizeof(sign), " %d %d\n", KEY, KEY);
	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, sign))
			found = 0;
	}
	fclose(f);
	errno = ENOENT;
	return found;
}

static const struct channel {
	const char *name;
	int (*put)(void);
	int (*get)(void);
} channels[] = {
	{ "shm", put_shm, get_shm },
	{ "tmp", put_tmp, get_tmp },
	{ "sysv-shm", put_sysv_shm, get_sysv_shm },
	{ "sysv-queue", put_sysv_queue, get_sysv_queue },
	{ "posix-queue", put_posix_queue, get_posix_queue },
	{ "abstract", put_abstract, get_abstract },
	{ "vsock", put_vsock, get_vsock },
	{ "key", put_key, get_key },
	{ "flock", put_flock, get_flock },
	{ "record-lock", put_record_lock, get_record_lock },
	{ "shown-lock", put_shown_lock, get_shown_lock },
};

int main(int argc, char **argv)
{
	const int put = argc == 3 && strcmp(argv[1], "put") == 0;
	char c;

	if (argc != 3)
		return 1;
	file = argv[2];
	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
		int r = put ? channels[i].put() : channels[i].get();

		printf("%s %s\n", channels[i].name,
		       r < 0 ? strerrorname_np(errno)
		       : put ? "OK"
			     : "found");
	}
	if (put) {
		puts("ready");
		fflush(stdout);
		while (read(STDIN_FILENO, &c, 1) > 0)
			;
	}
	if (key >= 0)
		syscall(SYS_keyctl, KEYCTL_UNLINK_KEY, key, USER_KEYRING);
	return fflush(stdout) == 0 ? 0 : 1;
}
