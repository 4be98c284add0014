/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256: the vectors of FIPS 180-2, and the bound on files
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "tests/lib/temptree.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define LONGER "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"

static void hashes_buffers(void **state)
{
	const char *longer = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char hex[MR_HASH_HEX_SIZE];

	(void)state;
	mr_hash_hex(NULL, 0, hex);
	assert_string_equal(hex, EMPTY);
	mr_hash_hex("abc", 3, hex);
	assert_string_equal(hex, ABC);
	mr_hash_hex(longer, strlen(longer), hex);
	assert_string_equal(hex, LONGER);
}

static void hashes_a_file_from_its_beginning(void **state)
{
	struct temptree t;
	struct mr_error err = MR_ERROR_INIT;
	char hex[MR_HASH_HEX_SIZE];
	uint64_t bytes = 0;
	int fd;

	(void)state;
	temptree_make(&t);
	temptree_file(t.fd, "f", "abc");
	fd = openat(t.fd, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
	assert_int_equal(mr_hash_fd(fd, UINT64_MAX, hex, &bytes, &err), 0);
	assert_string_equal(hex, ABC);
	assert_int_equal(bytes, 3);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 2);
	close(fd);
	temptree_remove(&t);
}

static void stops_at_the_bound(void **state)
{
	struct temptree t;
	struct mr_error err = MR_ERROR_INIT;
	char hex[MR_HASH_HEX_SIZE] = "untouched";
	int fd;

	(void)state;
	temptree_make(&t);
	temptree_file(t.fd, "f", "abc");
	temptree_file(t.fd, "empty", "");
	fd = openat(t.fd, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(mr_hash_fd(fd, 2, hex, NULL, &err), 1);
	assert_int_equal(mr_hash_fd(fd, 0, hex, NULL, &err), 1);
	assert_string_equal(hex, "untouched");
	assert_int_equal(mr_hash_fd(fd, 3, hex, NULL, &err), 0);
	assert_string_equal(hex, ABC);
	close(fd);
	fd = openat(t.fd, "empty", O_RDONLY | O_CLOEXEC);
	assert_int_equal(mr_hash_fd(fd, 0, hex, NULL, &err), 0);
	assert_string_equal(hex, EMPTY);
	close(fd);
	temptree_remove(&t);
}

/* Several blocks of the reader: 1,000,000 times "a". */
static void hashes_a_large_file(void **state)
{
	struct temptree t;
	struct mr_error err = MR_ERROR_INIT;
	char hex[MR_HASH_HEX_SIZE];
	char block[1000];
	int fd;

	(void)state;
	temptree_make(&t);
	memset(block, 'a', sizeof(block));
	fd = openat(t.fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < 1000; i++)
		MUST(write(fd, block, sizeof(block)) == (ssize_t)sizeof(block));
	assert_int_equal(mr_hash_fd(fd, 999999, hex, NULL, &err), 1);
	assert_int_equal(mr_hash_fd(fd, 1000000, hex, NULL, &err), 0);
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	close(fd);
	temptree_remove(&t);
}

static void names_what_failed(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	char hex[MR_HASH_HEX_SIZE];

	(void)state;
	assert_int_equal(mr_hash_fd(-1, 10, hex, NULL, &err), -EBADF);
	assert_string_equal(err.msg, "read file to hash: Bad file descriptor");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_buffers),
		cmocka_unit_test(hashes_a_file_from_its_beginning),
		cmocka_unit_test(stops_at_the_bound),
		cmocka_unit_test(hashes_a_large_file),
		cmocka_unit_test(names_what_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
