/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates of machines: what was kept comes back whole, and nothing else comes back
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/backend/qemu_template.h"
#include "runtime/base/error.h"
#include "tests/lib/temptree.h"

#define PAGE 4096
#define N_PAGES 64
#define SIZE ((uint64_t)N_PAGES * PAGE)

static const char key[MR_HASH_HEX_SIZE] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char name[] =
	"template-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char state[] = "the state of all devices";

static const unsigned int used[] = { 0, 1, 2, 17, 62, 63 }; /* pages that are not empty */

static void fill(unsigned char page[PAGE], unsigned int number)
{
	memset(page, 0, PAGE);
	page[number] = (unsigned char)(number + 1);
	page[PAGE - 1] = 0xff;
}

static void keep(int folder, const char *as)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_template made;
	unsigned char page[PAGE];

	assert_int_equal(mr_template_new(&made, SIZE, &err), 0);
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++) {
		fill(page, used[i]);
		MUST(pwrite(made.memory_fd, page, PAGE, (off_t)used[i] * PAGE) == PAGE);
	}
	MUST(write(made.state_fd, state, sizeof(state)) == sizeof(state));
	snprintf(made.release, sizeof(made.release), "6.1.0");
	assert_int_equal(mr_template_keep(folder, as, &made, &err), 0);
	mr_template_close(&made);
}

static bool is_used(unsigned int number)
{
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		if (used[i] == number)
			return true;
	return false;
}

/* As a run does it: looked at, then copied, and thrown away where that fails. */
static int load(int folder, const char *as, uint64_t size, struct mr_template *ret,
		struct mr_error *err)
{
	int r = mr_template_open(folder, as, size, ret, err);

	if (r != 0)
		return r;
	r = mr_template_fill(ret, err);
	if (r < 0) {
		mr_template_close(ret);
		mr_template_throw_away(folder, as);
	}
	return r;
}

static void what_was_kept_comes_back(void **unused)
{
	struct mr_error err = MR_ERROR_INIT;
	unsigned char page[PAGE], expected[PAGE];
	struct mr_template back;
	char text[100] = "";
	struct temptree t;
	struct stat st;

	(void)unused;
	temptree_make(&t);
	assert_int_equal(load(t.fd, key, SIZE, &back, &err), 1);
	keep(t.fd, key);
	MUST(fstatat(t.fd, name, &st, 0) == 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, (1 + 1 + 1 + sizeof(used) / sizeof(*used)) * PAGE);
	for (int again = 0; again < 2; again++) { /* what was changed in a copy stays in it */
		assert_int_equal(load(t.fd, key, SIZE, &back, &err), 0);
		assert_string_equal(back.release, "6.1.0");
		assert_int_equal(read(back.state_fd, text, sizeof(text)), sizeof(state));
		assert_string_equal(text, state);
		for (unsigned int i = 0; i < N_PAGES; i++) {
			memset(expected, 0, PAGE);
			if (is_used(i))
				fill(expected, i);
			MUST(pread(back.memory_fd, page, PAGE, (off_t)i * PAGE) == PAGE);
			assert_memory_equal(page, expected, PAGE);
		}
		MUST(pwrite(back.memory_fd, "of a run", 8, 17 * PAGE) == 8);
		mr_template_close(&back);
	}
	temptree_remove(&t);
}

/* It is refused with these words, and not there any more. */
static void expect_refusal(int folder, const char *as, uint64_t size, const char *words)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_template back = MR_TEMPLATE_INIT;
	char message[100];

	snprintf(message, sizeof(message), "template 0123456789ab: %s", words);
	assert_true(load(folder, as, size, &back, &err) < 0);
	assert_string_equal(err.msg, message);
	assert_int_equal(back.memory_fd, -1);
	assert_int_equal(load(folder, as, size, &back, &err), 1);
}

static int open_kept(int folder)
{
	int fd = openat(folder, name, O_RDWR | O_CLOEXEC);

	MUST(fd >= 0);
	return fd;
}

static void one_changed_bit_is_found(void **unused)
{
	/* the release; the state; what fills its page; the table; what fills its page; the first and
	 * the last page */
	static const off_t places[] = { 100,	  PAGE + 3,	 PAGE + 4000, 3 * PAGE - 1,
					3 * PAGE, 5 * PAGE + 11, 9 * PAGE - 1 };
	struct temptree t;

	(void)unused;
	temptree_make(&t);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		unsigned char byte;
		int fd;

		keep(t.fd, key);
		fd = open_kept(t.fd);
		MUST(pread(fd, &byte, 1, places[i]) == 1);
		byte ^= 0x10;
		MUST(pwrite(fd, &byte, 1, places[i]) == 1);
		close(fd);
		expect_refusal(t.fd, key, SIZE, "its sum does not fit");
	}
	temptree_remove(&t);
}

static void a_damaged_table_reaches_nowhere(void **unused)
{
	const uint32_t beyond[] = { N_PAGES - 1, 2 }; /* the last run, one page on */
	struct temptree t;
	int fd;

	(void)unused;
	temptree_make(&t);
	keep(t.fd, key);
	fd = open_kept(t.fd);
	MUST(pwrite(fd, beyond, sizeof(beyond), 2 * PAGE + 16) == sizeof(beyond));
	close(fd);
	expect_refusal(t.fd, key, SIZE, "its table makes no sense");
	temptree_remove(&t);
}

static void what_is_cut_or_anothers_is_refused(void **unused)
{
	static const off_t sizes[] = { 0, 99, PAGE, 4 * PAGE, 9 * PAGE - 1, 10 * PAGE };
	static const char other[MR_HASH_HEX_SIZE] =
		"0123456789abfdef0123456789abcdef0123456789abcdef0123456789abcdef";
	struct temptree t;
	int fd;

	(void)unused;
	temptree_make(&t);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		keep(t.fd, key);
		fd = open_kept(t.fd);
		MUST(ftruncate(fd, sizes[i]) == 0);
		close(fd);
		expect_refusal(t.fd, key, SIZE,
			       sizes[i] < 300 ? "it is cut short" : "it is cut short or too long");
	}
	keep(t.fd, key);
	MUST(renameat(t.fd, name, t.fd,
		      "template-"
		      "0123456789abfdef0123456789abcdef0123456789abcdef0123456789abcdef") == 0);
	expect_refusal(t.fd, other, SIZE, "it is of another machine");
	keep(t.fd, key);
	expect_refusal(t.fd, key, 2 * SIZE, "it is of another machine");
	keep(t.fd, key);
	MUST(fchmodat(t.fd, name, 0640, 0) == 0);
	expect_refusal(t.fd, key, SIZE, "it is not a file of ours alone");
	temptree_remove(&t);
}

static bool exists(int folder, const char *file)
{
	return faccessat(folder, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void what_a_killed_maker_left_goes(void **unused)
{
	struct temptree t;

	(void)unused;
	temptree_make(&t);
	temptree_file(t.fd, "unfinished-0000000000000001", "half of one");
	temptree_file(t.fd, "kvm-fails", "another's");
	keep(t.fd, key);
	assert_false(exists(t.fd, "unfinished-0000000000000001"));
	assert_true(exists(t.fd, "kvm-fails"));
	assert_true(exists(t.fd, name));
	temptree_remove(&t);
}

static void only_the_newest_are_kept(void **unused)
{
	char as[MR_HASH_HEX_SIZE], file[MR_HASH_HEX_SIZE + 10];
	struct temptree t;

	(void)unused;
	temptree_make(&t);
	for (int i = 0; i < 5; i++) {
		const struct timespec times[2] = { { .tv_sec = 1000 - i }, { .tv_sec = 1000 + i } };

		snprintf(as, sizeof(as), "%064d", 9 - i);
		snprintf(file, sizeof(file), "template-%s", as);
		keep(t.fd, as);
		assert_true(exists(t.fd, file));
		MUST(utimensat(t.fd, file, times, 0) == 0);
	}
	for (int i = 0; i < 5; i++) {
		snprintf(file, sizeof(file), "template-%064d", 9 - i);
		assert_int_equal(exists(t.fd, file), i >= 2);
	}
	temptree_remove(&t);
}

static void one_process_makes_at_a_time(void **unused)
{
	struct mr_error err = MR_ERROR_INIT;
	struct temptree t;
	int first, second;

	(void)unused;
	temptree_make(&t);
	assert_int_equal(mr_template_lock(t.fd, &first, &err), 0);
	assert_int_equal(mr_template_lock(t.fd, &second, &err), 1);
	close(first);
	assert_int_equal(mr_template_lock(t.fd, &second, &err), 0);
	close(second);
	temptree_remove(&t);
}

static void those_that_nobody_uses_can_be_dropped(void **unused)
{
	static const char another[] =
		"template-9999999999999999999999999999999999999999999999999999999999999999";
	struct mr_error err = MR_ERROR_INIT;
	struct mr_template used_one;
	struct temptree t;
	size_t n_used;
	int lock;

	(void)unused;
	temptree_make(&t);
	keep(t.fd, key);
	keep(t.fd, another + strlen("template-"));
	temptree_file(t.fd, "unfinished-0000000000000001", "half of one");
	temptree_file(t.fd, "kvm-fails", "another's");
	assert_int_equal(load(t.fd, key, SIZE, &used_one, &err), 0);
	assert_int_equal(mr_template_lock(t.fd, &lock, &err), 0);
	assert_int_equal(mr_template_drop(t.fd, false, &n_used, &err), 0);
	assert_int_equal(n_used, 2);
	close(lock);
	assert_int_equal(mr_template_drop(t.fd, true, &n_used, &err), 1);
	assert_true(exists(t.fd, another));
	assert_true(exists(t.fd, "unfinished-0000000000000001"));
	assert_int_equal(mr_template_drop(t.fd, false, &n_used, &err), 1);
	assert_int_equal(n_used, 1);
	assert_true(exists(t.fd, name));
	assert_false(exists(t.fd, another));
	assert_false(exists(t.fd, "unfinished-0000000000000001"));
	mr_template_close(&used_one);
	assert_int_equal(mr_template_drop(t.fd, false, &n_used, &err), 1);
	assert_int_equal(n_used, 0);
	assert_false(exists(t.fd, name));
	assert_true(exists(t.fd, "kvm-fails"));
	temptree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_kept_comes_back),
		cmocka_unit_test(one_changed_bit_is_found),
		cmocka_unit_test(a_damaged_table_reaches_nowhere),
		cmocka_unit_test(what_is_cut_or_anothers_is_refused),
		cmocka_unit_test(what_a_killed_maker_left_goes),
		cmocka_unit_test(only_the_newest_are_kept),
		cmocka_unit_test(one_process_makes_at_a_time),
		cmocka_unit_test(those_that_nobody_uses_can_be_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
