/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: precedence, hints, and what is a program or a snippet
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "tools/cli.h"

#define MAX_WORDS 32

static char temp_dir[] = "/tmp/menace-cli-XXXXXX";

static void write_file(const char *path, const char *text, mode_t mode)
{
	mr_auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static const char *const temp_files[] = { "a.py", "plain", "tool", "script", "job.json" };

static int group_setup(void **state)
{
	(void)state;
	unsetenv("SANDBOX_ENV_PRESETS");
	unsetenv("SANDBOX_TIMEOUT");
	unsetenv("SANDBOX_MEMORY_LIMIT");
	if (!mkdtemp(temp_dir) || chdir(temp_dir) < 0)
		return -1;
	write_file("a.py", "print(1)\n", 0644);
	write_file("plain", "text\n", 0644);
	write_file("tool",
		   "\x7f"
		   "ELF",
		   0755);
	write_file("script", "#!/bin/sh\n", 0644);
	write_file("job.json",
		   "{\"schema\": \"menace.spec/1\", \"program\": [\"from-spec\"],"
		   " \"limits\": {\"pids_max\": 40, \"nofile\": 40}, \"env\": {\"A\": \"spec\"}}",
		   0644);
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(temp_files); i++)
		unlink(temp_files[i]);
	return chdir("/") < 0 || rmdir(temp_dir) < 0 ? -1 : 0;
}

/* Splits at spaces; "~" in a word stands for a space. */
static int parse(const char *line, struct mr_cli *cli, struct mr_error *err)
{
	mr_auto_free char *copy = mr_str_dup(line);
	char *argv[MAX_WORDS];
	char *save = NULL;
	char name[] = "menace-run";
	int argc = 0;

	argv[argc++] = name;
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		for (char *p = w; *p; p++)
			if (*p == '~')
				*p = ' ';
		assert_true(argc < MAX_WORDS - 1);
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	return mr_cli_parse(argc, argv, cli, err);
}

static void parse_ok(const char *line, struct mr_cli *cli)
{
	struct mr_error err = MR_ERROR_INIT;

	if (parse(line, cli, &err) != 0)
		fail_msg("%s: %s", line, err.msg);
}

static void assert_refused(const char *line, const char *message)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cli cli = { .jobs = 77 };

	assert_int_equal(parse(line, &cli, &err), -22);
	assert_string_equal(err.msg, message);
	assert_int_equal(err.code, MR_E_USAGE);
	assert_int_equal(cli.jobs, 77);
}

static void knobs(void **state)
{
	struct mr_cli cli;

	(void)state;
	parse_ok("-t 5 --cpu-time 2m --idle-timeout 1.5 -m 64Mi --cpus 0.5 --disk 1g --pids 9"
		 " --output-limit 1k --nofile 99 --net loopback --level 4 --unsafe --userns true",
		 &cli);
	assert_int_equal(cli.spec.limits_wall_ms, 5000);
	assert_int_equal(cli.spec.limits_cpu_time_ms, 120000);
	assert_int_equal(cli.spec.limits_idle_ms, 1500);
	assert_int_equal(cli.spec.limits_memory_max_bytes, 67108864);
	assert_int_equal(cli.spec.limits_cpus, 500);
	assert_int_equal(cli.spec.limits_disk_bytes, 1073741824);
	assert_int_equal(cli.spec.limits_pids_max, 9);
	assert_int_equal(cli.spec.limits_output_bytes, 1024);
	assert_int_equal(cli.spec.limits_nofile, 99);
	assert_int_equal(cli.spec.net_mode, MR_NET_LOOPBACK);
	assert_int_equal(cli.spec.sandbox_level, 4);
	assert_int_equal(cli.spec.sandbox_unsafe, 1);
	assert_int_equal(cli.spec.sandbox_userns, MR_USERNS_ALWAYS);
	assert_int_equal(cli.spec.origin[MR_FIELD_limits_wall_ms], MR_ORIGIN_FLAG);
	assert_string_equal(cli.spec.argv.v[0], "true");
	mr_cli_deinit(&cli);

	parse_ok("--tmpfs /x:1024g true", &cli);
	assert_int_equal(cli.spec.mounts[0].size_bytes, 1099511627776);
	mr_cli_deinit(&cli);

	parse_ok("--uid 0 --gid 4294967294 --hostname h --cwd /x --root r --workspace w"
		 " --keep-changes out --explain-denials --stdin in -- true",
		 &cli);
	assert_int_equal(cli.spec.sandbox_uid, 0);
	assert_int_equal(cli.spec.sandbox_gid, 4294967294);
	assert_string_equal(cli.spec.sandbox_hostname, "h");
	assert_string_equal(cli.spec.sandbox_cwd, "/x");
	assert_string_equal(cli.spec.sandbox_root, "r");
	assert_string_equal(cli.spec.sandbox_workspace, "w");
	assert_string_equal(cli.spec.sandbox_keep_changes, "out");
	assert_string_equal(cli.spec.sandbox_stdin_path, "in");
	assert_int_equal(cli.spec.sandbox_explain_denials, 1);
	mr_cli_deinit(&cli);
}

static void lists_and_switches(void **state)
{
	struct mr_cli cli;

	(void)state;
	parse_ok("-e A=1 --env B=2 --env-pass HOME --ro /opt --rw d:/d --tmpfs /t:1m --hide "
		 "/usr/src"
		 " --best-effort cpu,pids -o FD:3 --summary --dry-run -vv -q --log-format json"
		 " --tty true -x",
		 &cli);
	assert_int_equal(cli.spec.env.n, 2);
	assert_string_equal(cli.spec.env_pass.v[0], "HOME");
	assert_int_equal(cli.spec.n_mounts, 4);
	assert_int_equal(cli.spec.mounts[2].size_bytes, 1048576);
	assert_true(mr_spec_tolerates(&cli.spec, "pids"));
	assert_string_equal(cli.json_target, "FD:3");
	assert_true(cli.summary);
	assert_true(cli.dry_run);
	assert_int_equal(cli.verbosity, 1);
	assert_int_equal(cli.log_format, MR_LOG_JSON);
	assert_int_equal(cli.spec.sandbox_tty, 1);
	assert_int_equal(cli.spec.argv.n, 2);
	assert_string_equal(cli.spec.argv.v[1], "-x");
	assert_int_equal(cli.jobs, 1);
	mr_cli_deinit(&cli);

	parse_ok("--batch -j 8", &cli);
	assert_true(cli.batch);
	assert_int_equal(cli.jobs, 8);
	mr_cli_deinit(&cli);
}

static void precedence_does_not_follow_the_order(void **state)
{
	static const char *const orders[] = {
		"--pids 1 -s limits.pids_max=2 -p {\"MAX_THREADS\":3} --spec job.json true",
		"--spec job.json -p {\"MAX_THREADS\":3} -s limits.pids_max=2 --pids 1 true",
		"-p {\"MAX_THREADS\":3} --pids 1 --spec job.json -s limits.pids_max=2 true",
	};
	struct mr_cli cli;

	(void)state;
	setenv("SANDBOX_ENV_PRESETS", "[{\"MAX_THREADS\": 5, \"TIMEOUT\": 7}]", 1);
	for (size_t i = 0; i < N_ELEMENTS(orders); i++) {
		parse_ok(orders[i], &cli);
		assert_int_equal(cli.spec.limits_pids_max, 1);
		assert_int_equal(cli.spec.limits_nofile, 40);
		assert_int_equal(cli.spec.limits_wall_ms, 7000);
		assert_int_equal(cli.spec.origin[MR_FIELD_limits_wall_ms], MR_ORIGIN_ENVIRONMENT);
		assert_string_equal(cli.spec.argv.v[0], "true");
		mr_cli_deinit(&cli);
	}
	parse_ok("-s limits.pids_max=2 -p {\"MAX_THREADS\":3} true", &cli);
	assert_int_equal(cli.spec.limits_pids_max, 2);
	mr_cli_deinit(&cli);
	parse_ok("-p {\"MAX_THREADS\":3} true", &cli);
	assert_int_equal(cli.spec.limits_pids_max, 3);
	mr_cli_deinit(&cli);
	parse_ok("true", &cli);
	assert_int_equal(cli.spec.limits_pids_max, 5);
	mr_cli_deinit(&cli);
	unsetenv("SANDBOX_ENV_PRESETS");
}

static void best_effort_counts_before_presets(void **state)
{
	struct mr_cli cli;

	(void)state;
	parse_ok("-p {\"GPU_LIMIT\":5} --best-effort GPU_LIMIT true", &cli);
	assert_int_equal(cli.spec.unenforced.n, 1);
	mr_cli_deinit(&cli);
	assert_refused("-p {\"GPU_LIMIT\":5} true",
		       "-p (--preset): GPU_LIMIT: not enforced by this version (number of "
		       "accelerators); leave it out, or accept that with best_effort "
		       "(--best-effort GPU_LIMIT)");
}

static void the_words_beat_the_document(void **state)
{
	struct mr_cli cli;

	(void)state;
	parse_ok("--spec job.json", &cli);
	assert_string_equal(cli.spec.argv.v[0], "from-spec");
	assert_string_equal(cli.spec.env.v[0], "A=spec");
	mr_cli_deinit(&cli);
	parse_ok("--spec job.json -e A=flag -- mine x", &cli);
	assert_string_equal(cli.spec.argv.v[0], "mine");
	assert_int_equal(cli.spec.argv.n, 2);
	assert_int_equal(cli.spec.env.n, 1);
	assert_string_equal(cli.spec.env.v[0], "A=flag");
	mr_cli_deinit(&cli);
}

static void programs_and_snippets(void **state)
{
	static const struct {
		const char *line;
		const char *snippet; /* NULL: a program */
		const char *first; /* of argv, NULL: none */
	} rows[] = {
		{ "a.py x", "a.py", "x" },
		{ "./a.py", "./a.py", NULL },
		{ "-- a.py x", NULL, "a.py" },
		{ "script", "script", NULL },
		{ "tool --version", "tool", "--version" },
		{ "plain", NULL, "plain" },
		{ "./plain", NULL, "./plain" },
		{ "--lang sh plain x", "plain", "x" },
		{ "--lang sh -- plain", "plain", NULL },
		{ "missing.py", NULL, "missing.py" },
		{ "ls -l", NULL, "ls" },
		{ "/bin/sh -c true", NULL, "/bin/sh" },
		{ "/usr/bin/env", NULL, "/usr/bin/env" },
		{ "--timeout 5 -- --timeout 5", NULL, "--timeout" },
		{ "-e A=b -- --bind", NULL, "--bind" },
		{ ".", NULL, "." },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_cli cli;

		parse_ok(rows[i].line, &cli);
		if (rows[i].snippet) {
			assert_non_null(cli.spec.snippet_path);
			assert_string_equal(cli.spec.snippet_path, rows[i].snippet);
		} else {
			assert_null(cli.spec.snippet_path);
		}
		if (rows[i].first)
			assert_string_equal(cli.spec.argv.v[0], rows[i].first);
		else
			assert_int_equal(cli.spec.argv.n, 0);
		assert_null(cli.spec.snippet_code);
		assert_false(cli.snippet_from_stdin);
		mr_cli_deinit(&cli);
	}
}

static void a_path_inside_a_mount_is_a_program(void **state)
{
	char line[128];
	struct mr_cli cli;

	(void)state;
	snprintf(line, sizeof(line), "--ro %s %s/tool", temp_dir, temp_dir);
	parse_ok(line, &cli);
	assert_null(cli.spec.snippet_path);
	mr_cli_deinit(&cli);
	snprintf(line, sizeof(line), "%s/tool", temp_dir);
	parse_ok(line, &cli);
	assert_string_equal(cli.spec.snippet_path, line);
	mr_cli_deinit(&cli);
}

static void code_and_standard_input(void **state)
{
	struct mr_cli cli;

	(void)state;
	parse_ok("--lang python -c print(1) -v", &cli);
	assert_string_equal(cli.spec.snippet_code, "print(1)");
	assert_int_equal(cli.spec.snippet_code_size, 8);
	assert_string_equal(cli.spec.lang, "python");
	assert_int_equal(cli.spec.argv.n, 0);
	assert_int_equal(cli.verbosity, 1);
	mr_cli_deinit(&cli);

	parse_ok("-c #!/bin/sh --lang=sh x y", &cli);
	assert_int_equal(cli.spec.argv.n, 2);
	mr_cli_deinit(&cli);

	parse_ok("-c -- --lang sh", &cli); /* the argument of -c, not the end of options */
	assert_string_equal(cli.spec.snippet_code, "--");
	mr_cli_deinit(&cli);

	parse_ok("--lang python - x", &cli);
	assert_true(cli.snippet_from_stdin);
	assert_null(cli.spec.snippet_code);
	assert_string_equal(cli.spec.argv.v[0], "x");
	mr_cli_deinit(&cli);

	parse_ok("-", &cli);
	assert_true(cli.snippet_from_stdin);
	mr_cli_deinit(&cli);
	parse_ok("-- -", &cli);
	assert_false(cli.snippet_from_stdin);
	assert_string_equal(cli.spec.argv.v[0], "-");
	mr_cli_deinit(&cli);
}

static void refusals(void **state)
{
	static const char *const rows[][2] = {
		{ "", "no program: give PROGRAM [ARG...], a snippet FILE, -c CODE or --spec FILE" },
		{ "--memroy 5 true", "unknown option --memroy; did you mean --memory?" },
		{ "--memroy=5 true", "unknown option --memroy; did you mean --memory?" },
		{ "--frobnicate true", "unknown option --frobnicate; see --help" },
		{ "--\033x true", "unknown option --\\x1bx; see --help" },
		{ "-Z true", "unknown option -Z; see --help" },
		{ "-vZ true", "unknown option -Z; see --help" },
		{ "-\xff true", "unknown option -\\xff; see --help" },
		{ "--summary=yes true", "--summary takes no value" },
		{ "--telemetry default,+pakets true",
		  "--telemetry: unknown probe \"pakets\"; did you mean packets?" },
		{ "--telemetry full, true", "--telemetry: nothing is behind the last comma" },
		{ "--telemetry= true",
		  "--telemetry: unknown word \"\"; accepted: off, basic, default, full, syscalls" },
		{ "-m", "-m (--memory) needs a value: SIZE" },
		{ "--env-pass", "--env-pass needs a value: NAME" },
		{ "--memory 65g true",
		  "--memory: \"65g\" is out of range; accepted: 1Mi to 64Gi, or "
		  "unlimited" },
		{ "-m -5 true",
		  "-m (--memory): \"-5\" is not a size: it is negative; accepted: a number of "
		  "bytes, or with a unit b, k, m, g or t (also kb, ki, kib; powers of "
		  "1024), as in 512Mi or 1.5g" },
		{ "--net hots true",
		  "--net: unknown word \"hots\"; accepted: none, loopback, stub, allowlist, host" },
		{ "--uid 1000: true", "--uid: \"1000:\" is not an id: it has more than digits; "
				      "accepted: decimal digits, 0 to 4294967294" },
		{ "-s limits.pid_max=8 true",
		  "-s (--set): unknown key \"limits.pid_max\"; did you mean \"limits.pids_max\"?" },
		{ "-s x true", "-s (--set): \"x\" is not SECTION.KEY=VALUE" },
		{ "-e =x true", "-e (--env): \"=x\": the name is empty; accepted: NAME=VALUE" },
		{ "--ro x true", "--ro: \"x\": a relative path needs the place inside: PATH:DEST" },
		{ "--best-effort memroy true",
		  "--best-effort: unknown item \"memroy\"; did you mean \"memory\"?" },
		{ "-p tinny true", "-p (--preset): no preset \"tinny\"; did you mean \"tiny\"?" },
		{ "--level 1 true",
		  "--level: level 1 keeps capabilities; accepted: 2 to 5, or 1 with "
		  "sandbox.unsafe (--unsafe)" },
		{ "--level 6 true", "--level: \"6\" is out of range; accepted: 1 to 5" },
		{ "--keep-changes x true", "--keep-changes: there is no workspace whose changes "
					   "could be kept (--workspace DIR)" },
		{ "-c 1 x", "-c (--code): the text needs --lang NAME, or a first line that begins "
			    "with \"#!\"" },
		{ "--lang pyhton -c 1",
		  "--lang: unknown language \"pyhton\"; did you mean \"python\"?" },
		{ "-j 2 true", "-j (--jobs): only with --batch" },
		{ "--brief true", "--brief: only with --batch" },
		{ "-j 0 --batch", "-j (--jobs): unknown value \"0\"; accepted: 1 to 64" },
		{ "-j 65 --batch", "-j (--jobs): unknown value \"65\"; accepted: 1 to 64" },
		{ "--batch true",
		  "--batch reads specs from standard input; a program is not accepted "
		  "beside it" },
		{ "--batch -o x",
		  "-o (--json): not with --batch: the results are on standard output, one a line" },
		{ "--json - --batch",
		  "--json: not with --batch: the results are on standard output, one a line" },
		{ "--batch --summary", "--summary: not with --batch: each result has it, one a "
				       "line on standard output" },
		{ "--dry-run --batch", "--dry-run: not with --batch: it is of one request; take a "
				       "line of the batch as --spec FILE" },
		/* Refused before it is read. */
		{ "--batch --spec -", "--spec: standard input is already read for --batch" },
		{ "--policy - --batch", "--batch: standard input is already read for --policy" },
		{ "--policy - --spec - true",
		  "--spec: standard input is already read for --policy" },
		{ "--log-format xml true",
		  "--log-format: unknown value \"xml\"; accepted: text, json" },
		{ "-o FD:x true",
		  "-o (--json): unknown value \"FD:x\"; accepted: FILE, FD:N with the number of a "
		  "descriptor, or -" },
		{ "-o FD:9999999 true",
		  "-o (--json): unknown value \"FD:9999999\"; accepted: FILE, FD:N with the number "
		  "of a descriptor, or -" },
		{ "--keep-changes x --lang sh - y", "--keep-changes: there is no workspace whose "
						    "changes could be kept (--workspace DIR)" },
		{ "--tmpfs /x:1025g true", "--tmpfs: \"/x\": 1100585369600 bytes are out of range; "
					   "accepted: at most 1Ti" },
		{ "--spec /dev/null true", "--spec: /dev/null is not a regular file" },
		{ "--pids 0 -t 0 true", "--pids: \"0\" is out of range; accepted: 1 to 4194304, or "
					"unlimited" },
		{ "--tty -o - true",
		  "--tty: the terminal is shown on standard output, and --json - "
		  "wants the result alone there; accepted: a file, or another "
		  "FD:N" },
		{ "--json FD:1 -s sandbox.tty=1 true",
		  "--tty: the terminal is shown on standard output, and --json FD:1 wants the "
		  "result alone there; accepted: a file, or another FD:N" },
		{ "--tty --lang sh -", "--tty: standard input is already read for the snippet" },
		{ "-t 0 true", "-t (--timeout): \"0\" is out of range; accepted: 1ms to 365d, or "
			       "unlimited" },
		{ "--cwd /proc/self/fd/7 true", "--cwd: \"/proc/self/fd/7\": /proc is not "
						"accepted as working directory" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_refused(rows[i][0], rows[i][1]);
}

/* What a size, a time, a count or a path inside has to be. */
#define A_SIZE                                                                            \
	"accepted: a number of bytes, or with a unit b, k, m, g or t (also kb, ki, kib; " \
	"powers of 1024), as in 512Mi or 1.5g"
#define A_TIME                                                                                    \
	"accepted: a number of seconds, or with a unit ms, s, m, h, d or w, as in 1.5, 500ms or " \
	"2m"
#define A_COUNT "accepted: decimal digits, as in 64"
#define NO_NUMBER " it is not a number; "

/* Every option that takes a value, with one it refuses; "*" stands for its name as it was typed. */
static const char *const bad_values[][3] = {
	{ "code", "-c 1",
	  "*: the text needs --lang NAME, or a first line that begins with \"#!\"" },
	{ "lang", "--lang klingon x",
	  "*: unknown language \"klingon\"; accepted: python, sh, bash, javascript, perl, ruby, "
	  "lua, "
	  "php, r, tcl, awk, make" },
	{ "spec", "--spec plain", "*: plain:1:4: invalid token near 'text'" },
	{ "jobs", "-j x --batch", "*: unknown value \"x\"; accepted: 1 to 64" },
	{ "env", "-e X true",
	  "*: \"X\": no value; accepted: NAME=VALUE (--env-pass NAME hands the caller's value "
	  "on)" },
	{ "env-pass", "--env-pass A=B true", "*: \"A=B\": not the name of a variable" },
	{ "cwd", "--cwd relative true",
	  "*: \"relative\" must be absolute and without \".\" and \"..\"" },
	{ "stdin", "--stdin in --tty true", "*: with a terminal (--tty) the input comes from it" },
	{ "preset", "-p nowhere true",
	  "*: no preset \"nowhere\": neither a built-in one (default, tiny, strict, build) nor a "
	  "file" },
	{ "set", "-s sandbox.cwd=x true",
	  "*: sandbox.cwd: \"x\" must be absolute and without \".\" and \"..\"" },
	{ "best-effort", "--best-effort xyzzy true",
	  "*: unknown item \"xyzzy\"; accepted: "
#define ITEM(name, help) name ", "
#include "runtime/spec/best_effort.def"
#undef ITEM
	  "and preset variables of menace-spec(5)" },
	{ "policy", "--policy plain true", "*: plain:1:4: invalid token near 'text'" },
	{ "timeout", "-t xx true", "*: \"xx\" is not a time:" NO_NUMBER A_TIME },
	{ "cpu-time", "--cpu-time xx true", "*: \"xx\" is not a time:" NO_NUMBER A_TIME },
	{ "idle-timeout", "--idle-timeout 9ms true",
	  "*: \"9ms\" is out of range; accepted: 10ms to 365d, or unlimited" },
	{ "memory", "-m xx true", "*: \"xx\" is not a size:" NO_NUMBER A_SIZE },
	{ "cpus", "--cpus 65 true",
	  "*: \"65\" is out of range; accepted: 0.01 to 64, or unlimited" },
	{ "disk", "--disk xx true", "*: \"xx\" is not a size:" NO_NUMBER A_SIZE },
	{ "pids", "--pids xx true", "*: \"xx\" is not a whole number:" NO_NUMBER A_COUNT },
	{ "output-limit", "--output-limit xx true", "*: \"xx\" is not a size:" NO_NUMBER A_SIZE },
	{ "nofile", "--nofile 2 true", "*: \"2\" is out of range; accepted: 3 to 1048576" },
	{ "workspace", "--workspace w --tmpfs /work true",
	  "*: its place /work is taken by a mount of type tmpfs (--tmpfs); give that another "
	  "place" },
	{ "keep-changes", "--keep-changes x true",
	  "*: there is no workspace whose changes could be kept (--workspace DIR)" },
	{ "ro", "--ro x true", "*: \"x\": a relative path needs the place inside: PATH:DEST" },
	{ "rw", "--rw /x:y true",
	  "*: \"/x:y\": the place inside must be absolute; accepted: PATH or PATH:DEST" },
	{ "tmpfs", "--tmpfs /x:y true", "*: \"y\" is not a size:" NO_NUMBER A_SIZE },
	{ "hide", "--hide x true", "*: \"x\": a path inside the sandbox must be absolute" },
	{ "root", "--root= true", "*: an empty text is not accepted" },
	{ "net", "--net klingon true",
	  "*: unknown word \"klingon\"; accepted: none, loopback, stub, allowlist, host" },
	{ "net-fault", "--net-fault blackhole true",
	  "*: \"blackhole\": \"@\" is missing; accepted: KIND[:HOST,...]@FROM..[TO]" },
	{ "allow", "--allow a_b:x true",
	  "*: \"a_b:x\": the port is not one of 1 to 65535; accepted: HOST[:PORT] with a.b.c.d, "
	  "a.b.c.d/N, [IPv6], [IPv6/N], a name or *.domain" },
	{ "mock", "--mock a=status:99 true", "*: \"99\": not a status; accepted: 200 to 599" },
	{ "level", "--level 1 true",
	  "*: level 1 keeps capabilities; accepted: 2 to 5, or 1 with sandbox.unsafe (--unsafe)" },
	{ "uid", "--uid -1 true",
	  "*: \"-1\" is not an id: it is negative; accepted: decimal digits, 0 to 4294967294" },
	{ "gid", "--gid x true",
	  "*: \"x\" is not an id:" NO_NUMBER "accepted: decimal digits, 0 to 4294967294" },
	{ "hostname", "--hostname a_b true",
	  "*: \"a_b\"; accepted: letters, digits, '-' and '.', the first a letter or a digit" },
	{ "backend", "--backend xen true",
	  "*: unknown word \"xen\"; accepted: auto, native, docker, qemu" },
	{ "image", "--image= true", "*: an empty text is not accepted" },
	{ "cgroup-parent", "--cgroup-parent a/b true",
	  "*: unknown value \"a/b\"; accepted: a name of A-Z a-z 0-9 . _ -" },
	{ "ready-fd", "--ready-fd 2 true",
	  "*: unknown value \"2\"; accepted: the number of a descriptor, not 0, 1 or 2" },
	{ "block-fd", "--block-fd 2147483648 true",
	  "*: unknown value \"2147483648\"; accepted: the number of a descriptor, not 0, 1 or 2" },
	{ "pool", "--pool 65 true", "*: \"65\" is out of range; accepted: 0 to 64" },
	{ "json", "-o FD:x true",
	  "*: unknown value \"FD:x\"; accepted: FILE, FD:N with the number of a descriptor, or -" },
	{ "store", "--store= true",
	  "*: unknown value \"\"; accepted: the path of a file, or none" },
	{ "telemetry", "--telemetry much true",
	  "*: unknown word \"much\"; accepted: off, basic, default, full, syscalls" },
	{ "log-format", "--log-format xml true", "*: unknown value \"xml\"; accepted: text, json" },
};

static const struct mr_cli_option *find_option(const char *name)
{
	for (size_t i = 0; mr_cli_option(i); i++)
		if (mr_cli_option(i)->name && strcmp(mr_cli_option(i)->name, name) == 0)
			return mr_cli_option(i);
	fail_msg("no option --%s", name);
	return NULL;
}

static void every_refused_value_names_its_option(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad_values); i++) {
		const struct mr_cli_option *option = find_option(bad_values[i][0]);
		char message[512];

		if (bad_values[i][1][1] == '-')
			snprintf(message, sizeof(message), "--%s%s", option->name,
				 bad_values[i][2] + 1);
		else
			snprintf(message, sizeof(message), "-%c (--%s)%s", option->short_name,
				 option->name, bad_values[i][2] + 1);
		assert_refused(bad_values[i][1], message);
	}
	for (size_t i = 0; mr_cli_option(i); i++)
		n += mr_cli_option(i)->arg != NULL;
	assert_int_equal(n, N_ELEMENTS(bad_values)); /* a new option has a row here */
}

static void every_switch_refuses_a_value(void **state)
{
	(void)state;
	for (size_t i = 0; mr_cli_option(i); i++) {
		const struct mr_cli_option *option = mr_cli_option(i);
		char line[64], message[64];

		if (!option->name || option->arg)
			continue;
		snprintf(line, sizeof(line), "--%s=x true", option->name);
		snprintf(message, sizeof(message), "--%s takes no value", option->name);
		assert_refused(line, message);
	}
}

static void every_missing_value_names_its_option(void **state)
{
	(void)state;
	for (size_t i = 0; mr_cli_option(i); i++) {
		const struct mr_cli_option *option = mr_cli_option(i);
		char line[64], message[128];

		if (!option->name || !option->arg)
			continue;
		snprintf(line, sizeof(line), "--%s", option->name);
		snprintf(message, sizeof(message), "--%s needs a value: %s", option->name,
			 option->arg);
		assert_refused(line, message);
	}
}

/* An unset variable of a shell must not turn a folder off. */
static void an_empty_folder_or_file_is_refused(void **state)
{
	static const char *const names[] = { "workspace", "keep-changes", "root",
					     "stdin",	  "cwd",	  "hostname" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		char line[64], message[64];

		snprintf(line, sizeof(line), "--%s= true", names[i]);
		snprintf(message, sizeof(message), "--%s: an empty text is not accepted", names[i]);
		assert_refused(line, message);
	}
}

static void a_bad_document_names_itself(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_cli cli;

	(void)state;
	assert_true(parse("--spec missing.json", &cli, &err) < 0);
	assert_non_null(strstr(err.msg, "missing.json"));
	assert_non_null(strstr(err.msg, "No such file or directory"));
	assert_int_equal(err.code, MR_E_USAGE);
	assert_refused("--spec a.py", "--spec: a.py:1:5: invalid token near 'print'");
}

static void a_bad_environment_is_refused(void **state)
{
	(void)state;
	setenv("SANDBOX_ENV_PRESETS", "{\"MEMORY_LIMIT\": \"lots\"}", 1);
	assert_refused("true",
		       "SANDBOX_ENV_PRESETS: MEMORY_LIMIT: \"lots\" is not a size: it is not "
		       "a number; accepted: a number of bytes, or with a unit b, k, m, g or "
		       "t (also kb, ki, kib; powers of 1024), as in 512Mi or 1.5g");
	unsetenv("SANDBOX_ENV_PRESETS");
}

static void unknown_variables_are_warned_of(void **state)
{
	struct mr_cli cli;

	(void)state;
	setenv("SANDBOX_ENV_PRESET", "{}", 1);
	parse_ok("true", &cli);
	assert_int_equal(cli.warnings.n, 1);
	assert_string_equal(cli.warnings.v[0], "unknown variable \"SANDBOX_ENV_PRESET\" in the "
					       "environment; did you mean SANDBOX_ENV_PRESETS?");
	mr_cli_deinit(&cli);
	unsetenv("SANDBOX_ENV_PRESET");
}

static void help_and_version_ask_for_nothing_else(void **state)
{
	struct mr_cli cli;

	(void)state;
	setenv("SANDBOX_ENV_PRESETS", "{", 1);
	parse_ok("--memory nonsense --help", &cli);
	assert_true(cli.help);
	mr_cli_deinit(&cli);
	parse_ok("--version", &cli);
	assert_true(cli.version);
	mr_cli_deinit(&cli);
	unsetenv("SANDBOX_ENV_PRESETS");
}

static void the_help_has_every_option_and_fits(void **state)
{
	static char buf[MR_CLI_HELP_SIZE];
	struct mr_str text;
	size_t n = 0;

	(void)state;
	mr_str_init(&text, buf, sizeof(buf));
	mr_cli_help(&text);
	assert_false(text.truncated);
	for (size_t i = 0; mr_cli_option(i); i++) {
		const struct mr_cli_option *option = mr_cli_option(i);
		char word[64];

		if (!option->name)
			continue;
		n++;
		snprintf(word, sizeof(word), "--%s", option->name);
		assert_non_null(strstr(buf, word));
		assert_non_null(strstr(buf, option->help));
	}
	assert_in_range(n, 45, 80);
	for (char *line = strtok(buf, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 120)
			fail_msg("too long: %s", line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knobs),
		cmocka_unit_test(lists_and_switches),
		cmocka_unit_test(precedence_does_not_follow_the_order),
		cmocka_unit_test(best_effort_counts_before_presets),
		cmocka_unit_test(the_words_beat_the_document),
		cmocka_unit_test(programs_and_snippets),
		cmocka_unit_test(a_path_inside_a_mount_is_a_program),
		cmocka_unit_test(code_and_standard_input),
		cmocka_unit_test(refusals),
		cmocka_unit_test(every_refused_value_names_its_option),
		cmocka_unit_test(every_switch_refuses_a_value),
		cmocka_unit_test(every_missing_value_names_its_option),
		cmocka_unit_test(an_empty_folder_or_file_is_refused),
		cmocka_unit_test(a_bad_document_names_itself),
		cmocka_unit_test(a_bad_environment_is_refused),
		cmocka_unit_test(unknown_variables_are_warned_of),
		cmocka_unit_test(help_and_version_ask_for_nothing_else),
		cmocka_unit_test(the_help_has_every_option_and_fits),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
