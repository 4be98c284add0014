/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines with disks of their own, as far as no machine is needed: images are hostile, the layer
 * above them names no file, an agent's result is judged
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/backend/qemu_agent.h"
#include "runtime/backend/qemu_overlay.h"
#include "runtime/backend/qemu_qcow2.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "tests/lib/temptree.h"

#define HEAD 4096

/* A good header of version 3 of a disk of 1 MiB. */
static void good_head(unsigned char head[HEAD])
{
	static const struct {
		size_t at;
		unsigned char value;
	} octets[] = {
		{ 0, 'Q' },   { 1, 'F' }, { 2, 'I' }, { 3, 0xfb }, { 7, 3 },	 { 23, 16 },
		{ 29, 0x10 }, { 39, 1 },  { 45, 3 },  { 99, 4 },   { 103, 104 },
	};

	memset(head, 0, HEAD);
	for (size_t i = 0; i < N_ELEMENTS(octets); i++)
		head[octets[i].at] = octets[i].value;
}

/* Bytes, not text. */
static void patch(unsigned char *at, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)bytes[i];
}

static int file_of(const unsigned char *data, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static int judge(const unsigned char *data, size_t size, struct mr_qcow2_image *ret,
		 struct mr_error *err)
{
	mr_auto_close int fd = file_of(data, size);

	return mr_qcow2_judge(fd, ret, err);
}

static void a_good_image_is_taken(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_qcow2_image image;
	unsigned char head[HEAD];

	(void)state;
	good_head(head);
	assert_int_equal(judge(head, sizeof(head), &image, &err), 0);
	assert_string_equal(image.format, "qcow2");
	assert_int_equal(image.disk_bytes, 1 << 20);
	head[7] = 2; /* version 2 has neither features nor a length of its own */
	head[79] = 4;
	memset(head + 72, 0, 32);
	assert_int_equal(judge(head, sizeof(head), &image, &err), 0);
	good_head(head);
	patch(head + 104,
	      "\x68\x03\xf8\x57\0\0\0\x03"
	      "abc\0\0\0\0\0",
	      16); /* names of features */
	assert_int_equal(judge(head, sizeof(head), &image, &err), 0);
}

/* Each is the good header with some bytes changed. */
static void hostile_headers_are_refused(void **state)
{
	static const struct {
		size_t at, size;
		const char *bytes, *message;
	} rows[] = {
		{ 8, 12, "\0\0\0\0\0\0\x01\0\0\0\0\x0b", "names another file below it" },
		{ 8, 12, "\0\0\0\0\0\0\x01\0\0\0\0\0", "names another file below it" },
		{ 16, 4, "\0\0\0\x0b", "names another file below it" },
		{ 79, 1, "\4", "its data in another file" },
		{ 79, 1, "\2", "marked as corrupt" },
		{ 79, 1, "\x20", "unknown features (0x20)" },
		{ 72, 1, "\x80", "unknown features (0x8000000000000000)" },
		{ 104, 8, "DATA\0\0\0\x0b", "names another file for its data" },
		{ 104, 8, "\xe2\x79\x2a\xca\0\0\0\3", "format of a file below it" },
		{ 104, 8, "\x05\x37\xbe\x77\0\0\0\x10", "encrypted" },
		/* An extension in front of the one that counts. */
		{ 104, 24,
		  "\x68\x03\xf8\x57\0\0\0\3"
		  "abc\0\0\0\0\0"
		  "DATA\0\0\0\1",
		  "names another file for its data" },
		{ 104, 8, "\x68\x03\xf8\x57\xff\xff\xff\xff", "does not end in the first 4 KiB" },
		{ 104, 8, "\x68\x03\xf8\x57\0\0\x0f\xf0", "does not end in the first 4 KiB" },
		{ 35, 1, "\1", "encrypted" },
		{ 35, 1, "\2", "encrypted" },
		{ 23, 1, "\x08", "impossible size" },
		{ 20, 4, "\xff\xff\xff\xff", "impossible size" },
		{ 100, 4, "\0\0\0\x48", "impossible length" },
		{ 100, 4, "\0\0\x10\0", "does not end in the first 4 KiB" },
		{ 100, 4, "\xff\xff\xff\xf8", "does not end in the first 4 KiB" },
		{ 7, 1, "\1", "qcow version 1" },
		{ 7, 1, "\4", "qcow version 4" },
		{ 24, 8, "\0\0\0\0\0\0\0\0", "a disk of 0 bytes" },
		{ 24, 8, "\xff\xff\xff\xff\xff\xff\xff\xff", "up to 2 TiB" },
	};
	struct mr_qcow2_image image = { .format = "untouched" };
	unsigned char head[HEAD];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;

		good_head(head);
		patch(head + rows[i].at, rows[i].bytes, rows[i].size);
		assert_true(judge(head, sizeof(head), &image, &err) < 0);
		assert_int_equal(err.code, MR_E_USAGE);
		if (!strstr(err.msg, rows[i].message))
			fail_msg("%zu: \"%s\" and not \"%s\"", i, err.msg, rows[i].message);
		assert_string_equal(image.format, "untouched");
	}
}

static void a_file_that_ends_in_its_header_is_refused(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_qcow2_image image;
	unsigned char head[HEAD];

	(void)state;
	good_head(head);
	assert_int_equal(judge(head, 104, &image, &err), 0);
	assert_int_equal(judge(head, 103, &image, &err), -EINVAL);
	head[7] = 2;
	memset(head + 72, 0, 32);
	assert_int_equal(judge(head, 72, &image, &err), 0);
	assert_int_equal(judge(head, 71, &image, &err), -EINVAL);
	assert_string_equal(err.msg, "it ends within its header");
}

static void raw_is_what_a_firmware_can_start(void **state)
{
	static const struct {
		size_t size, at;
		const char *bytes, *message; /* NULL: it is taken */
	} rows[] = {
		{ 4096, 0, "\xfa", NULL },
		{ 4097, 0, "\xfa", "unknown format" },
		{ 4096, 510, "\x55\xab", "unknown format" },
		{ 100, 0, "x", "unknown format" },
		{ 4096, 0, "KDMV", "its format is vmdk" },
		{ 4096, 0, "vhdxfile", "its format is vhdx" },
		{ 4096, 0, "conectix", "its format is vhd" },
		{ 4096, 64, "\x7f\x10\xda\xbe", "its format is vdi" },
		{ 4096, 0, "QED", "its format is qed" },
		{ 4096, 0, "LUKS\xba\xbe", "its format is luks" },
	};
	struct mr_qcow2_image image;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		unsigned char disk[4097] = { 0 };
		struct mr_error err = MR_ERROR_INIT;
		int r;

		patch(disk + 510, "\x55\xaa", 2);
		patch(disk + rows[i].at, rows[i].bytes, strlen(rows[i].bytes));
		r = judge(disk, rows[i].size, &image, &err);
		assert_int_equal(r, rows[i].message ? -EINVAL : 0);
		if (rows[i].message && !strstr(err.msg, rows[i].message))
			fail_msg("%zu: \"%s\"", i, err.msg);
		if (r == 0) {
			assert_string_equal(image.format, "raw");
			assert_int_equal(image.disk_bytes, rows[i].size);
		}
	}
}

static void what_is_no_file_is_no_image(void **state)
{
	mr_auto_close int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_qcow2_image image;

	(void)state;
	assert_true(mr_qcow2_judge(fd, &image, &err) < 0);
	assert_string_equal(err.msg, "it is no regular file");
}

/* Our own layer passes as an image that names nothing, with the size that was asked for. */
static void a_layer_names_no_file(void **state)
{
	static const uint64_t sizes[] = { 512, 1 << 20, (512ULL << 20) + 1, MR_QCOW2_DISK_MAX };
	static const unsigned char entries[] = { 1, 1, 2, 0 };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
		mr_auto_close int fd = memfd_create("layer", MFD_CLOEXEC);
		struct mr_error err = MR_ERROR_INIT;
		struct mr_qcow2_image image;
		unsigned char head[112];
		struct stat st;

		assert_int_equal(mr_qcow2_write_layer(fd, sizes[i], &err), 0);
		assert_int_equal(mr_qcow2_judge(fd, &image, &err), 0);
		assert_string_equal(image.format, "qcow2");
		assert_int_equal(image.disk_bytes, sizes[i]);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_size, MR_QCOW2_LAYER_BYTES);
		assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
		assert_int_equal(head[39], entries[i]); /* 4096 of them are 0x1000 */
	}
}

static void overlays_are_ours_alone_and_have_no_name(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	char folder[320], link[320];
	struct temptree tree;
	int fd;

	(void)state;
	temptree_make(&tree);
	temptree_mkdir(tree.fd, "own");
	assert_int_equal(symlinkat("own", tree.fd, "link"), 0);
	snprintf(folder, sizeof(folder), "%s/own", tree.path);
	snprintf(link, sizeof(link), "%s/link", tree.path);
	assert_int_equal(setenv(MR_OVERLAY_VARIABLE, folder, 1), 0);
	assert_true(mr_overlay_open(&err) < 0);
	assert_non_null(strstr(err.msg, "must be ours alone"));
	assert_int_equal(chmod(folder, 0700), 0);
	fd = mr_overlay_open(&err);
	assert_true(fd >= 0);
	assert_int_equal(mr_overlay_bytes(fd), 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(fsync(fd), 0);
	assert_true(mr_overlay_bytes(fd) >= 512);
	assert_int_equal(setenv(MR_OVERLAY_VARIABLE, link, 1), 0);
	assert_int_equal(mr_overlay_open(&err), -ENOTDIR);
	assert_int_equal(rmdir(folder), 0); /* so nothing is in it, while the file is open */
	close(fd);
	unsetenv(MR_OVERLAY_VARIABLE);
	temptree_remove(&tree);
}

static void results_of_agents_are_judged(void **state)
{
	static const struct {
		const char *text;
		int status; /* -1: refused */
	} rows[] = {
		{ "{\"exit\": 0}", W_EXITCODE(0, 0) },
		{ "{\"exit\": 255}", W_EXITCODE(255, 0) },
		{ "{\"signal\": 9}", W_EXITCODE(0, 9) },
		{ "{\"signal\": 64}", W_EXITCODE(0, 64) },
		{ "{\"exit\": 256}", -1 },
		{ "{\"exit\": -1}", -1 },
		{ "{\"exit\": 1.5}", -1 },
		{ "{\"exit\": \"1\"}", -1 },
		{ "{\"signal\": 0}", -1 },
		{ "{\"signal\": 65}", -1 },
		{ "{\"exit\": 1, \"signal\": 9}", -1 },
		{ "{\"exit\": 1, \"more\": 9}", -1 },
		{ "{}", -1 },
		{ "[1]", -1 },
		{ "1", -1 },
		{ "", -1 },
		{ "{\"exit\": 1", -1 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		int status = -1;
		int r = mr_agent_read_result(rows[i].text, strlen(rows[i].text), &status, &err);

		assert_int_equal(r < 0, rows[i].status < 0);
		assert_int_equal(status, rows[i].status);
		if (r < 0)
			assert_int_equal(err.code, MR_E_PROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_image_is_taken),
		cmocka_unit_test(hostile_headers_are_refused),
		cmocka_unit_test(a_file_that_ends_in_its_header_is_refused),
		cmocka_unit_test(raw_is_what_a_firmware_can_start),
		cmocka_unit_test(what_is_no_file_is_no_image),
		cmocka_unit_test(a_layer_names_no_file),
		cmocka_unit_test(overlays_are_ours_alone_and_have_no_name),
		cmocka_unit_test(results_of_agents_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
