/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template
 *
 *   head | state of the devices | table of runs | the pages of the runs
 *
 * each filled up to a whole page.  Pages of zeros are left out: a fresh memfd has them.  The sum
 * is Fletcher's with four accumulators, as ZFS takes it: it finds damage at the speed of memory,
 * which a cryptographic hash does not.  Against malice there is the folder, which is ours alone.
 */
#include "runtime/backend/qemu_template.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"

#define LOCK "template-lock"
#define KEPT "template-" /* and the key */
#define UNFINISHED "unfinished-" /* and a number; nobody ever reads it */
#define KEEP 3 /* the newest */
#define ROOM_BYTES ((uint64_t)512 << 20) /* free before one is made: they have about 110 MB each */
#define PAGE ((size_t)4096)
#define PIECE ((size_t)128 << 10)
#define STATE_MAX ((uint64_t)64 << 20)
#define NAME_SIZE 96

static const char magic[24] = "menace-machine 1";

struct sum {
	uint64_t a, b, c, d;
};

struct head {
	char magic[sizeof(magic)];
	char key[MR_HASH_HEX_SIZE];
	char release[MR_TEMPLATE_RELEASE];
	uint64_t memory_bytes, state_bytes, n_runs, n_pages;
	struct sum sum; /* of all that follows the head, then of the head with zeros here */
};

struct page_run {
	uint32_t first, n;
};

/* size is a multiple of four. */
static void add_to_sum(struct sum *sum, const void *data, size_t size)
{
	const unsigned char *at = data;
	struct sum s = *sum;

	for (size_t i = 0; i < size; i += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, at + i, sizeof(word));
		s.a += word;
		s.b += s.a;
		s.c += s.b;
		s.d += s.c;
	}
	*sum = s;
}

static uint64_t whole_pages(uint64_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

static void add_head_to_sum(struct sum *sum, const struct head *head)
{
	unsigned char page[PAGE] = { 0 };
	struct head plain = *head;

	plain.sum = (struct sum){ 0 };
	memcpy(page, &plain, sizeof(plain));
	add_to_sum(sum, page, sizeof(page));
}

/* --- in memory ------------------------------------------------------------------------ */

static int make_memfd(const char *name, int *ret, struct mr_error *err)
{
	*ret = memfd_create(name, MFD_CLOEXEC);
	return *ret < 0 ? mr_err(err, MR_E_SYS, errno, "memfd %s: %m", name) : 0;
}

int mr_template_new(struct mr_template *ret, uint64_t memory_bytes, struct mr_error *err)
{
	int r;

	*ret = (struct mr_template)MR_TEMPLATE_INIT;
	ret->memory_bytes = memory_bytes;
	r = make_memfd("machine-memory", &ret->memory_fd, err);
	if (r == 0)
		r = make_memfd("machine-state", &ret->state_fd, err);
	if (r == 0 && ftruncate(ret->memory_fd, (off_t)memory_bytes) < 0)
		r = mr_err(err, MR_E_SYS, errno, "memory of a machine: %m");
	return r;
}

void mr_template_close(struct mr_template *template)
{
	template->memory_fd = mr_close(template->memory_fd);
	template->state_fd = mr_close(template->state_fd);
	template->file_fd = mr_close(template->file_fd);
}

static int map(int fd, size_t size, unsigned char **ret, struct mr_error *err)
{
	void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "map %zu bytes of a machine: %m", size);
	*ret = at;
	return 0;
}

/* --- the folder ----------------------------------------------------------------------- */

static void name_of(const char *key, char ret[NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, KEPT "%s", key);
}

void mr_template_throw_away(int folder, const char key[MR_HASH_HEX_SIZE])
{
	char name[NAME_SIZE];

	name_of(key, name);
	unlinkat(folder, name, 0);
}

int mr_template_lock(int folder, int *ret, struct mr_error *err)
{
	mr_auto_close int fd =
		openat(folder, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open " LOCK ": %m");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 1 : mr_err(err, MR_E_SYS, errno, "lock " LOCK ": %m");
	*ret = mr_take_fd(fd);
	return 0;
}

int mr_template_check_room(int folder, struct mr_error *err)
{
	struct statvfs fs;

	if (fstatvfs(folder, &fs) < 0)
		return mr_err(err, MR_E_SYS, errno, "room for templates: %m");
	if ((uint64_t)fs.f_bavail * fs.f_frsize < ROOM_BYTES)
		return mr_err(err, MR_E_KERNEL, ENOSPC,
			      "less than %ju MiB are free where templates are kept",
			      (uintmax_t)ROOM_BYTES >> 20);
	return 0;
}

static int64_t age_of(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0
		       ? 0
		       : (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* One of those that are kept is taken out, the oldest, while there are more than KEEP. */
static bool drop_oldest(int folder)
{
	mr_auto_close int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_auto_closedir DIR *dir = again < 0 ? NULL : fdopendir(again);
	char oldest[NAME_SIZE] = "";
	struct dirent *entry;
	size_t n = 0;

	if (!dir)
		return false;
	mr_take_fd(again);
	while ((entry = readdir(dir))) {
		if (!mr_str_starts_with(entry->d_name, KEPT) || strcmp(entry->d_name, LOCK) == 0)
			continue;
		n++;
		if (!oldest[0] || age_of(folder, entry->d_name) < age_of(folder, oldest))
			snprintf(oldest, sizeof(oldest), "%.90s", entry->d_name);
	}
	return n > KEEP && unlinkat(folder, oldest, 0) == 0;
}

/* What a maker that was killed has left.  The lock is held, so there is no other maker. */
static void drop_unfinished(int folder)
{
	mr_auto_close int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_auto_closedir DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;

	if (!dir)
		return;
	mr_take_fd(again);
	while ((entry = readdir(dir)))
		if (mr_str_starts_with(entry->d_name, UNFINISHED))
			unlinkat(folder, entry->d_name, 0);
}

/* Who has a copy of it running holds a lock on it. */
static bool is_used(int folder, const char *name)
{
	mr_auto_close int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

static int drop_all(int folder, bool is_making, bool dry_run, size_t *ret_used,
		    struct mr_error *err)
{
	mr_auto_close int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_auto_closedir DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return mr_err(err, MR_E_SYS, errno, "list templates: %m");
	mr_take_fd(again);
	*ret_used = 0;
	while ((entry = readdir(dir))) {
		if (!mr_str_starts_with(entry->d_name, KEPT) || strcmp(entry->d_name, LOCK) == 0)
			continue;
		if (is_making || is_used(folder, entry->d_name))
			++*ret_used;
		else if (!dry_run && unlinkat(folder, entry->d_name, 0) < 0)
			return mr_err(err, MR_E_SYS, errno, "remove %s: %m", entry->d_name);
		else
			n++;
	}
	return n;
}

int mr_template_drop(int folder, bool dry_run, size_t *ret_used, struct mr_error *err)
{
	mr_auto_close int lock = -1;
	int r = mr_template_lock(folder, &lock, err);

	if (r < 0)
		return r;
	if (r == 0 && !dry_run)
		drop_unfinished(folder);
	return drop_all(folder, r > 0, dry_run, ret_used, err);
}

/* --- writing -------------------------------------------------------------------------- */

struct writer {
	int fd;
	struct sum sum;
	int error; /* errno of the first failure */
};

static void put(struct writer *w, const void *data, size_t size)
{
	static const unsigned char zeros[PAGE];
	const size_t body = size / sizeof(uint32_t) * sizeof(uint32_t), rest = size - body;
	unsigned char last[sizeof(uint32_t)] = { 0 };
	const size_t fill = (size_t)whole_pages(size) - size;
	int r = w->error ? 0 : mr_write_full(w->fd, data, size);

	if (r == 0 && !w->error)
		r = mr_write_full(w->fd, zeros, fill);
	if (r < 0)
		w->error = -r;
	add_to_sum(&w->sum, data, body);
	if (rest > 0) {
		memcpy(last, (const unsigned char *)data + body, rest);
		add_to_sum(&w->sum, last, sizeof(last));
	}
	add_to_sum(&w->sum, zeros, fill / sizeof(uint32_t) * sizeof(uint32_t));
}

static bool is_empty(const unsigned char *page)
{
	return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

/* Room for every page's own run is there. */
static size_t find_runs(const unsigned char *memory, size_t n_pages, struct page_run *runs,
			uint64_t *ret_pages)
{
	size_t n = 0;

	*ret_pages = 0;
	for (size_t i = 0; i < n_pages; i++) {
		if (is_empty(memory + i * PAGE))
			continue;
		++*ret_pages;
		if (n > 0 && runs[n - 1].first + runs[n - 1].n == i)
			runs[n - 1].n++;
		else
			runs[n++] = (struct page_run){ (uint32_t)i, 1 };
	}
	return n;
}

static void put_all(struct writer *w, struct head *head, const unsigned char *state,
		    const unsigned char *memory)
{
	const size_t n_pages = head->memory_bytes / PAGE;
	struct page_run *runs = mr_str_alloc((n_pages + 1) * sizeof(*runs));

	head->n_runs = find_runs(memory, n_pages, runs, &head->n_pages);
	if (lseek(w->fd, PAGE, SEEK_SET) < 0)
		w->error = errno;
	put(w, state, head->state_bytes);
	put(w, runs, head->n_runs * sizeof(*runs));
	for (size_t i = 0; i < head->n_runs; i++)
		put(w, memory + runs[i].first * PAGE, runs[i].n * PAGE);
	add_head_to_sum(&w->sum, head);
	head->sum = w->sum;
	free(runs);
	if (!w->error && pwrite(w->fd, head, sizeof(*head), 0) != sizeof(*head))
		w->error = errno;
}

static int write_file(int fd, const char *key, const struct mr_template *made, struct mr_error *err)
{
	struct head head = { .memory_bytes = made->memory_bytes };
	struct writer w = { .fd = fd };
	unsigned char *memory = NULL, *state = NULL;
	struct stat st;
	int r;

	memcpy(head.magic, magic, sizeof(magic));
	snprintf(head.key, sizeof(head.key), "%s", key);
	memcpy(head.release, made->release, sizeof(head.release));
	if (fstat(made->state_fd, &st) < 0 || st.st_size <= 0)
		return mr_err(err, MR_E_KERNEL, ENODATA, "QEMU wrote no state");
	head.state_bytes = (uint64_t)st.st_size;
	r = map(made->state_fd, head.state_bytes, &state, err);
	if (r < 0)
		return r;
	r = map(made->memory_fd, head.memory_bytes, &memory, err);
	if (r == 0) {
		put_all(&w, &head, state, memory);
		munmap(memory, head.memory_bytes);
	}
	munmap(state, head.state_bytes);
	return r == 0 && w.error ? mr_err(err, MR_E_SYS, w.error, "write it: %m") : r;
}

int mr_template_keep(int folder, const char key[MR_HASH_HEX_SIZE], const struct mr_template *made,
		     struct mr_error *err)
{
	char name[NAME_SIZE], final[NAME_SIZE];
	mr_auto_close int fd = -1;
	uint64_t number = 0;
	int r = mr_rand_fresh_seed(&number, err);

	if (r < 0)
		return r;
	drop_unfinished(folder);
	snprintf(name, sizeof(name), UNFINISHED "%016llx", (unsigned long long)number);
	name_of(key, final);
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", name);
	r = write_file(fd, key, made, err);
	if (r == 0 && renameat(folder, name, folder, final) < 0)
		r = mr_err(err, MR_E_SYS, errno, "rename %s: %m", name);
	if (r < 0)
		unlinkat(folder, name, 0);
	while (r == 0 && drop_oldest(folder))
		;
	return r;
}

/* --- reading -------------------------------------------------------------------------- */

static int damaged(struct mr_error *err, const char *what)
{
	return mr_err(err, MR_E_KERNEL, EBADMSG, "%s", what);
}

static int read_at(int fd, void *buf, size_t size, uint64_t at, struct mr_error *err)
{
	unsigned char *to = buf;

	while (size > 0) {
		ssize_t n = pread(fd, to, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mr_err(err, MR_E_SYS, errno, "read it: %m");
		if (n == 0)
			return damaged(err, "it is cut short");
		to += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int read_head(int fd, const char *key, uint64_t memory_bytes, struct head *head,
		     struct mr_error *err)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat it: %m");
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return damaged(err, "it is not a file of ours alone");
	r = read_at(fd, head, sizeof(*head), 0, err);
	if (r < 0)
		return r;
	if (memcmp(head->magic, magic, sizeof(magic)) != 0 ||
	    memcmp(head->key, key, sizeof(head->key)) != 0 || head->memory_bytes != memory_bytes)
		return damaged(err, "it is of another machine");
	if (head->state_bytes == 0 || head->state_bytes > STATE_MAX ||
	    head->n_pages > memory_bytes / PAGE || head->n_runs > head->n_pages ||
	    memchr(head->release, 0, sizeof(head->release)) == NULL)
		return damaged(err, "its head makes no sense");
	if ((uint64_t)st.st_size != PAGE + whole_pages(head->state_bytes) +
					    whole_pages(head->n_runs * sizeof(struct page_run)) +
					    head->n_pages * PAGE)
		return damaged(err, "it is cut short or too long");
	return 0;
}

/* Each after the one before, within the memory, and as many pages as the file has. */
static bool are_sound(const struct page_run *runs, const struct head *head)
{
	uint64_t end = 0, pages = 0;

	for (size_t i = 0; i < head->n_runs; i++) {
		if (runs[i].n == 0 || runs[i].first < end)
			return false;
		end = (uint64_t)runs[i].first + runs[i].n;
		pages += runs[i].n;
	}
	return end <= head->memory_bytes / PAGE && pages == head->n_pages;
}

static int read_state(int fd, const struct head *head, struct mr_template *ret, struct sum *sum,
		      struct mr_error *err)
{
	const size_t size = (size_t)whole_pages(head->state_bytes);
	mr_auto_free unsigned char *state = mr_str_alloc(size);
	int r = read_at(fd, state, size, PAGE, err);

	if (r < 0)
		return r;
	add_to_sum(sum, state, size);
	r = mr_write_full(ret->state_fd, state, head->state_bytes);
	if (r < 0 || lseek(ret->state_fd, 0, SEEK_SET) < 0)
		return mr_err(err, MR_E_SYS, r < 0 ? -r : errno, "state of a machine: %m");
	return 0;
}

/* In pieces that stay in the processor's cache between reading, adding up and writing. */
static int copy_run(int fd, uint64_t at, int memory_fd, const struct page_run *run,
		    unsigned char piece[PIECE], struct sum *sum, struct mr_error *err)
{
	const uint64_t size = (uint64_t)run->n * PAGE, to = (uint64_t)run->first * PAGE;

	for (uint64_t done = 0; done < size;) {
		const size_t n = size - done < PIECE ? (size_t)(size - done) : PIECE;
		int r = read_at(fd, piece, n, at + done, err);

		if (r < 0)
			return r;
		add_to_sum(sum, piece, n);
		if (pwrite(memory_fd, piece, n, (off_t)(to + done)) != (ssize_t)n)
			return mr_err(err, MR_E_SYS, errno, "memory of a machine: %m");
		done += n;
	}
	return 0;
}

static int read_pages(int fd, const struct head *head, const struct page_run *runs, uint64_t at,
		      int memory_fd, struct sum *sum, struct mr_error *err)
{
	mr_auto_free unsigned char *piece = mr_str_alloc(PIECE);
	int r = 0;

	for (size_t i = 0; r == 0 && i < head->n_runs; i++) {
		r = copy_run(fd, at, memory_fd, &runs[i], piece, sum, err);
		at += (uint64_t)runs[i].n * PAGE;
	}
	return r;
}

static int read_memory(int fd, const struct head *head, struct mr_template *ret, struct sum *sum,
		       struct mr_error *err)
{
	const uint64_t at = PAGE + whole_pages(head->state_bytes);
	const size_t size = (size_t)whole_pages(head->n_runs * sizeof(struct page_run));
	mr_auto_free struct page_run *runs = mr_str_alloc(size + 1);
	int r = read_at(fd, runs, size, at, err);

	if (r < 0)
		return r;
	add_to_sum(sum, runs, size);
	if (!are_sound(runs, head))
		return damaged(err, "its table makes no sense");
	return read_pages(fd, head, runs, at + size, ret->memory_fd, sum, err);
}

static int read_file(struct mr_template *template, struct mr_error *err)
{
	const int fd = template->file_fd;
	struct sum sum = { 0 };
	struct head head;
	int r = read_head(fd, template->key, template->memory_bytes, &head, err);

	if (r == 0)
		r = read_state(fd, &head, template, &sum, err);
	if (r == 0)
		r = read_memory(fd, &head, template, &sum, err);
	if (r < 0)
		return r;
	add_head_to_sum(&sum, &head);
	if (memcmp(&sum, &head.sum, sizeof(sum)) != 0)
		return damaged(err, "its sum does not fit");
	memcpy(template->release, head.release, sizeof(template->release));
	return 0;
}

int mr_template_fill(struct mr_template *template, struct mr_error *err)
{
	int r = read_file(template, err);

	return r < 0 ? mr_err_wrap(err, r, "template %.12s", template->key) : 0;
}

int mr_template_open(int folder, const char key[MR_HASH_HEX_SIZE], uint64_t memory_bytes,
		     struct mr_template *ret, struct mr_error *err)
{
	char name[NAME_SIZE];
	mr_auto_close int fd = -1;
	struct head head;
	int r;

	name_of(key, name);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 1;
	r = fd < 0 ? mr_err(err, MR_E_SYS, errno, "open it: %m")
		   : mr_template_new(ret, memory_bytes, err);
	if (r == 0 && flock(fd, LOCK_SH) < 0)
		r = mr_err(err, MR_E_SYS, errno, "lock it: %m");
	if (r == 0)
		r = read_head(fd, key, memory_bytes, &head, err);
	if (r == 0) {
		memcpy(ret->key, head.key, sizeof(ret->key));
		ret->file_fd = mr_take_fd(fd);
		return 0;
	}
	if (fd >= 0)
		mr_template_close(ret);
	mr_template_throw_away(folder, key);
	return mr_err_wrap(err, r, "template %.12s", key);
}
