/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the backend qemu that need no machine: frames, the archive, the lists of
 * modules, the guest's result
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "runtime/backend/document.h"
#include "runtime/backend/errand.h"
#include "runtime/backend/qemu_accel.h"
#include "runtime/backend/qemu_cpio.h"
#include "runtime/backend/qemu_flow.h"
#include "runtime/backend/qemu_group.h"
#include "runtime/backend/qemu_kernel.h"
#include "runtime/backend/qemu_result.h"
#include "runtime/backend/qemu_wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/loop.h"
#include "runtime/spec/spec.h"
#include "tests/lib/temptree.h"

/* --- frames --------------------------------------------------------------------------- */

struct seen {
	enum mr_wire_type type[8];
	size_t size[8], n;
	unsigned char last; /* byte of the last body */
};

static int note(void *owner, enum mr_wire_type type, const unsigned char *body, size_t size,
		struct mr_error *err)
{
	struct seen *seen = owner;

	(void)err;
	assert_true(seen->n < 8);
	seen->type[seen->n] = type;
	seen->size[seen->n++] = size;
	seen->last = size ? body[size - 1] : 0;
	return 0;
}

static size_t put_frame(unsigned char *buf, enum mr_wire_type type, size_t size)
{
	mr_wire_head(buf, type, size);
	for (size_t i = 0; i < size; i++)
		buf[MR_WIRE_HEAD + i] = (unsigned char)i;
	return MR_WIRE_HEAD + size;
}

static void frames_are_read_in_any_pieces(void **state)
{
	static struct mr_wire wire;
	static unsigned char buf[3 * MR_WIRE_HEAD + MR_WIRE_BODY_MAX + 100];
	struct mr_error err = MR_ERROR_INIT;
	size_t size = put_frame(buf, MR_WIRE_STARTED, 0);

	(void)state;
	size += put_frame(buf + size, MR_WIRE_OUT, MR_WIRE_BODY_MAX);
	size += put_frame(buf + size, MR_WIRE_ERR, 1);
	for (size_t step = 1; step <= size; step = step * 3 + 1) {
		struct seen seen = { .n = 0 };

		mr_wire_init(&wire, MR_WIRE_GUEST);
		for (size_t at = 0; at < size; at += step)
			assert_int_equal(mr_wire_feed(&wire, buf + at,
						      size - at < step ? size - at : step, note,
						      &seen, &err),
					 0);
		assert_int_equal(seen.n, 3);
		assert_int_equal(seen.type[1], MR_WIRE_OUT);
		assert_int_equal(seen.size[1], MR_WIRE_BODY_MAX);
		assert_int_equal(seen.type[2], MR_WIRE_ERR);
		assert_int_equal(seen.last, 0);
	}
}

static void expect_refusal(const char *bytes, const char *message)
{
	static struct mr_wire wire;
	struct mr_error err = MR_ERROR_INIT;
	struct seen seen = { .n = 0 };

	mr_wire_init(&wire, MR_WIRE_GUEST);
	assert_true(mr_wire_feed(&wire, bytes, MR_WIRE_HEAD, note, &seen, &err) < 0);
	assert_int_equal(err.code, MR_E_PROTO);
	assert_string_equal(err.msg, message);
	assert_int_equal(seen.n, 0);
}

static void what_is_no_frame_is_refused_by_its_head(void **state)
{
	(void)state;
	expect_refusal("GET / HT", "47455420 begins no frame");
	expect_refusal("\377\0\0\0\0\0\0\0", "ff000000 begins no frame");
	expect_refusal("\012\0\1\0\1\0\0\0", "0a000100 begins no frame");
	expect_refusal("\0\0\0\0\2\0\0\0", "a frame SETUP is not for this side to send");
	expect_refusal("\012\0\0\0\0\0\0\0", "a frame OUT of 0 bytes (1 to 65536)");
	expect_refusal("\012\0\0\0\1\0\1\0", "a frame OUT of 65537 bytes (1 to 65536)");
	expect_refusal("\012\0\0\0\377\377\377\377",
		       "a frame OUT of 4294967295 bytes (1 to 65536)");
	expect_refusal("\016\0\0\0\1\0\0\0", "a frame END of 1 bytes (0 to 0)");
}

/* --- the archive ---------------------------------------------------------------------- */

static void archive_is_as_the_kernel_reads_it(void **state)
{
	static const char expected[] = "070701000000010000"
				       "41ed"
				       "0000000000000000"
				       "00000002"
				       "00000000"
				       "00000000"
				       "00000000000000000000000000000000"
				       "00000002"
				       "00000000"
				       "d\0"
				       "070701000000020000"
				       "81ed"
				       "0000000000000000"
				       "00000001"
				       "00000000"
				       "00000005"
				       "00000000000000000000000000000000"
				       "00000005"
				       "00000000"
				       "init\0\0"
				       "hello\0\0\0"
				       "070701000000030000"
				       "0000"
				       "0000000000000000"
				       "00000001"
				       "00000000"
				       "00000000"
				       "00000000000000000000000000000000"
				       "0000000b"
				       "00000000"
				       "TRAILER!!!\0\0\0";
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cpio cpio;
	char buf[512];
	int fd = memfd_create("cpio", MFD_CLOEXEC);
	ssize_t n;

	(void)state;
	mr_cpio_init(&cpio, fd);
	mr_cpio_folder(&cpio, "d");
	mr_cpio_file(&cpio, "init", 0755, "hello", 5);
	assert_int_equal(mr_cpio_finish(&cpio, &err), 0);
	n = pread(fd, buf, sizeof(buf), 0);
	assert_int_equal(n, 112 + 116 + 8 + 124);
	assert_memory_equal(buf, expected, 112);
	assert_memory_equal(buf, expected, (size_t)n);
	close(fd);
}

static void archive_tells_what_could_not_be_written(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cpio cpio;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	mr_cpio_init(&cpio, fd);
	mr_cpio_file(&cpio, "init", 0755, "x", 1);
	assert_int_equal(mr_cpio_finish(&cpio, &err), -ENOSPC);
	assert_string_equal(err.msg, "write the initramfs: No space left on device");
	close(fd);
}

/* --- modules -------------------------------------------------------------------------- */

static void modules_are_found_by_name(void **state)
{
	const char *dep =
		"kernel/net/sch_netem.ko:\nkernel/drivers/virtio-rng.ko.xz: kernel/virtio.ko\n";
	const char *builtin = "kernel/fs/overlay.ko\n";

	(void)state;
	assert_true(mr_kernel_has(dep, builtin, "sch_netem"));
	assert_true(mr_kernel_has(dep, builtin, "virtio_rng"));
	assert_true(mr_kernel_has(dep, builtin, "overlay"));
	assert_false(mr_kernel_has(dep, builtin, "netem"));
	assert_false(mr_kernel_has(dep, builtin, "sch_nete"));
	assert_false(mr_kernel_has(dep, builtin, "virtio")); /* only needed by another */
	assert_false(mr_kernel_has("", "", "overlay"));
}

static void make_kernel(const struct temptree *t, const char *dep)
{
	assert_int_equal(mkdirat(t->fd, "boot", 0755), 0);
	temptree_file(t->fd, "boot/vmlinuz-5", "image");
	assert_int_equal(mkdirat(t->fd, "lib", 0755), 0);
	assert_int_equal(mkdirat(t->fd, "lib/modules", 0755), 0);
	assert_int_equal(mkdirat(t->fd, "lib/modules/5", 0755), 0);
	temptree_file(t->fd, "lib/modules/5/modules.dep", dep);
	temptree_file(t->fd, "lib/modules/5/modules.builtin", "k/overlay.ko\n");
}

static void modules_are_packed_before_those_that_need_them(void **state)
{
	static const char *const files[] = { "a", "b", "p", "c", "f", "v" };
	static const char *const wanted[] = { "virtio_pci", NULL };
	struct temptree t;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_kernel kernel;
	struct mr_cpio cpio;
	char path[4200], buf[8192] = "";
	int fd = memfd_create("cpio", MFD_CLOEXEC);
	size_t at = 0;
	ssize_t n;

	(void)state;
	temptree_make(&t);
	make_kernel(&t, "virtio_pci.ko: b.ko a.ko\nvirtio_console.ko: a.ko\nfuse.ko:\n"
			"virtiofs.ko: a.ko fuse.ko\n");
	temptree_file(t.fd, "lib/modules/5/a.ko", "module a");
	temptree_file(t.fd, "lib/modules/5/b.ko", "module b");
	temptree_file(t.fd, "lib/modules/5/virtio_pci.ko", "module p");
	temptree_file(t.fd, "lib/modules/5/virtio_console.ko", "module c");
	temptree_file(t.fd, "lib/modules/5/fuse.ko", "module f");
	temptree_file(t.fd, "lib/modules/5/virtiofs.ko", "module v");
	snprintf(path, sizeof(path), "%s/boot/vmlinuz-5", t.path);
	setenv(MR_KERNEL_VARIABLE, path, 1);
	assert_int_equal(mr_kernel_find(&kernel, &err), 0);
	assert_string_equal(kernel.release, "5");
	assert_true(kernel.can[MR_SHARE_VIRTIOFS]);
	assert_false(kernel.can[MR_SHARE_9P]);
	mr_cpio_init(&cpio, fd);
	assert_int_equal(mr_kernel_pack(&kernel, wanted, &cpio, &err), 0);
	n = pread(fd, buf, sizeof(buf) - 1, 0);
	for (size_t i = 0; i < 6; i++) {
		char text[16];
		const char *found;

		snprintf(text, sizeof(text), "module %s", files[i]);
		found = memmem(buf + at, (size_t)n - at, text, strlen(text));
		assert_non_null(found);
		at = (size_t)(found - buf);
	}
	mr_kernel_deinit(&kernel);
	unsetenv(MR_KERNEL_VARIABLE);
	close(fd);
	temptree_remove(&t);
}

/* --- the guest's result --------------------------------------------------------------- */

static json_t *good_result(const struct mr_errand *errand)
{
	const struct mr_document facts = { .spec = &errand->spec,
					   .run_id = "gggggggggggggggggggggggggg",
					   .verdict = { .reason = MR_REASON_exited,
							.exit_status = 7,
							.has_code = true,
							.code = 7 } };

	return mr_document_make(&facts);
}

/* Judge a good result in which `key` of `object` (NULL: the document) is something else. */
static void expect_judgement(const char *object, const char *key, json_t *value,
			     const char *message)
{
	struct mr_errand errand = { .run_id = "aaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *result = NULL, *ret = NULL;
	char *text;

	mr_spec_init(&errand.spec);
	result = good_result(&errand);
	if (key && value)
		json_object_set_new(object ? json_object_get(result, object) : result, key, value);
	else if (key)
		json_object_del(object ? json_object_get(result, object) : result, key);
	text = json_dumps(result, JSON_COMPACT);
	if (message) {
		assert_int_equal(mr_guest_result(text, strlen(text), &errand, &ret, &err), -EPROTO);
		assert_int_equal(err.code, MR_E_PROTO);
		assert_string_equal(err.msg, message);
	} else {
		mr_guest_result(text, strlen(text), &errand, &ret, &err);
		assert_string_equal(err.msg, "");
		assert_string_equal(json_string_value(json_object_get(ret, "run_id")),
				    errand.run_id);
	}
	free(text);
	mr_spec_deinit(&errand.spec);
}

static void result_of_a_guest_is_judged(void **state)
{
	(void)state;
	expect_judgement(NULL, NULL, NULL, NULL);
	expect_judgement(NULL, "network", json_object(), NULL); /* null or not */
	expect_judgement(NULL, "access", json_object(), NULL);
	expect_judgement(NULL, "reason", NULL, "the guest's result: reason is missing");
	expect_judgement(NULL, "reason", json_string("fine"),
			 "the guest's result has no known reason");
	expect_judgement(NULL, "usage", json_array(),
			 "the guest's result: usage is of another type");
	expect_judgement(NULL, "more", json_null(),
			 "the guest's result has a member too many: more");
	expect_judgement("exit", "status", json_integer(256),
			 "the guest's result has no exit status");
	expect_judgement("exit", "status", json_integer(-1),
			 "the guest's result has no exit status");
	expect_judgement("exit", "status", json_string("0"),
			 "the guest's result has no exit status");
	expect_judgement("exit", "code", json_string("0"),
			 "exit: the guest's result: code is of another type");
}

static void text_of_a_guest_is_judged(void **state)
{
	static const char *const bad[] = { "", "{", "[]", "null",
					   "{\"reason\": 1, \"reason\": 1}" };
	struct mr_errand errand = { .run_id = "aaaaaaaaaaaaaaaaaaaaaaaaaa" };
	char *deep = malloc(100001);

	(void)state;
	mr_spec_init(&errand.spec);
	memset(deep, '[', 100000);
	deep[100000] = '\0';
	for (size_t i = 0; i <= 5; i++) {
		const char *text = i < 5 ? bad[i] : deep;
		struct mr_error err = MR_ERROR_INIT;
		json_t *ret = NULL;

		assert_true(mr_guest_result(text, strlen(text), &errand, &ret, &err) < 0);
		assert_int_equal(err.code, MR_E_PROTO);
		assert_null(ret);
	}
	free(deep);
	mr_spec_deinit(&errand.spec);
}

/* --- acceleration --------------------------------------------------------------------- */

static void a_failure_of_kvm_is_remembered_until_the_next_boot(void **state)
{
	struct temptree t;

	(void)state;
	temptree_make(&t);
	assert_int_equal(mr_accel_choose(t.fd, "/dev/null"),
			 MR_ACCEL_KVM); /* a device that opens */
	assert_int_equal(mr_accel_choose(t.fd, "/proc/self/status"), MR_ACCEL_TCG);
	assert_int_equal(mr_accel_choose(t.fd, "/dev/none"), MR_ACCEL_TCG);
	mr_accel_remember_failure(t.fd, "silence");
	assert_int_equal(mr_accel_choose(t.fd, "/dev/null"), MR_ACCEL_TCG);
	assert_int_equal(mr_accel_choose(-1, "/dev/null"), MR_ACCEL_KVM);
	assert_int_equal(unlinkat(t.fd, "kvm-fails", 0), 0);
	temptree_file(t.fd, "kvm-fails",
		      "00000000-0000-0000-0000-000000000000\n"); /* another boot's */
	assert_int_equal(mr_accel_choose(t.fd, "/dev/null"), MR_ACCEL_KVM);
	temptree_remove(&t);
}

static void do_nothing(void *owner)
{
	(void)owner;
}

/* A machine may end in the same moment in which its last words came. */
static void what_came_before_the_end_is_kept(void **unused)
{
	static struct mr_flow out, silent;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_capture kept = { .total = 0 }, none = { .total = 0 };
	struct mr_loop *loop = NULL;
	struct mr_spec spec;
	json_t *json;

	(void)unused;
	mr_spec_init(&spec);
	assert_int_equal(mr_loop_new(&loop, &err), 0);
	assert_int_equal(mr_flow_open(&out, loop, &spec, -1, do_nothing, NULL, &err), 0);
	assert_int_equal(mr_flow_open(&silent, loop, &spec, -1, do_nothing, NULL, &err), 0);
	assert_int_equal(mr_flow_put(&out, (const unsigned char *)"the last words", 14, &err), 0);
	mr_flow_drain(&out, &silent, NULL);
	assert_true(mr_flow_done(&out));
	assert_true(mr_flow_done(&silent));
	mr_flow_stop(&out, &kept);
	mr_flow_stop(&silent, &none);
	json = mr_capture_to_json(&kept);
	assert_string_equal(json_string_value(json_object_get(json, "text")), "the last words");
	assert_int_equal(mr_capture_total(&none), 0);
	json_decref(json);
	mr_capture_deinit(&kept);
	mr_capture_deinit(&none);
	mr_loop_free(loop);
	mr_spec_deinit(&spec);
}

/* Only a machine that comes up without KVM, after one that did not with it, shows whose fault it was. */
static void kvm_is_off_once_it_is_to_blame(void **state)
{
	const struct mr_accel_trial fresh = { .device = "/dev/null" };
	struct mr_accel_trial trial = fresh;
	struct temptree t;

	(void)state;
	temptree_make(&t);
	trial.folder = t.fd;
	mr_accel_note_mute(&trial, MR_ACCEL_KVM, "silence");
	assert_int_equal(mr_accel_next(&trial), MR_ACCEL_TCG);
	mr_accel_note_mute(&trial, MR_ACCEL_TCG, "silence");
	assert_int_equal(mr_accel_choose(t.fd, "/dev/null"), MR_ACCEL_KVM);
	mr_accel_note_up(&trial, MR_ACCEL_TCG);
	assert_int_equal(mr_accel_choose(t.fd, "/dev/null"), MR_ACCEL_TCG);

	assert_int_equal(unlinkat(t.fd, "kvm-fails", 0), 0);
	trial = fresh;
	trial.folder = t.fd;
	mr_accel_note_mute(&trial, MR_ACCEL_TCG, "silence");
	mr_accel_note_up(&trial, MR_ACCEL_TCG);
	mr_accel_note_up(&trial, MR_ACCEL_KVM);
	assert_int_equal(mr_accel_next(&trial), MR_ACCEL_KVM);
	assert_int_equal(mr_accel_choose(t.fd, "/dev/null"), MR_ACCEL_KVM);
	temptree_remove(&t);
}

/* --- between two attempts --------------------------------------------------------------- */

static void a_pause_ends_with_a_signal_and_tells_it(void **unused)
{
	const uint64_t never = UINT64_MAX;
	int pipes[2], sig = 0, fd;
	sigset_t set;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);

	assert_true(mr_machine_pause(1, pipes[1], fd, never, &sig));
	raise(SIGUSR1);
	assert_true(mr_machine_pause(1, pipes[1], fd, never, &sig));
	assert_false(mr_machine_pause(MR_GROUP_ATTEMPTS, pipes[1], fd, never, &sig));
	assert_int_equal(sig, 0);
	raise(SIGTERM);
	assert_false(mr_machine_pause(1, pipes[1], fd, never, &sig));
	assert_int_equal(sig, SIGTERM);
	sig = 0;
	mr_close(pipes[0]);
	assert_false(mr_machine_pause(1, pipes[1], fd, never, &sig));
	assert_int_equal(sig, 0);
	mr_close(pipes[1]);
	mr_close(fd);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_read_in_any_pieces),
		cmocka_unit_test(what_is_no_frame_is_refused_by_its_head),
		cmocka_unit_test(archive_is_as_the_kernel_reads_it),
		cmocka_unit_test(archive_tells_what_could_not_be_written),
		cmocka_unit_test(modules_are_found_by_name),
		cmocka_unit_test(modules_are_packed_before_those_that_need_them),
		cmocka_unit_test(kvm_is_off_once_it_is_to_blame),
		cmocka_unit_test(a_pause_ends_with_a_signal_and_tells_it),
		cmocka_unit_test(a_failure_of_kvm_is_remembered_until_the_next_boot),
		cmocka_unit_test(result_of_a_guest_is_judged),
		cmocka_unit_test(text_of_a_guest_is_judged),
		cmocka_unit_test(what_came_before_the_end_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
