/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace install-autopurge: have systemd call menace purge-stale every hour
 *
 * The unit names this very program by its path, and the engine as it is named now.  A file that is
 * there and was not written by us is left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "tools/cmd.h"
#include "runtime/base/outfile.h"

#define MARK "# Written by menace install-autopurge\n"
#define NAME "menace-autopurge"

struct autopurge {
	struct mr_cmd_common common;
	const char *folder;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("to", 0, "FOLDER", PATH, autopurge, folder,
		   "where the units go; by default /etc/systemd/system as root, else "
		   "~/.config/systemd/user"),
	MR_CMD_HELP_ROW(autopurge),
};

/* --- text ------------------------------------------------------------------ */

/* Inside of quotes of a unit.  A dollar says nothing in the path of a program, nor in
 * Environment=. */
static void add_escaped(struct mr_buf *text, const char *word)
{
	for (; *word; word++) {
		if (*word == '%')
			mr_buf_add(text, "%");
		if (*word == '"' || *word == '\\')
			mr_buf_add(text, "\\");
		mr_buf_addn(text, word, 1);
	}
}

static void add_engine(struct mr_buf *text)
{
	static const char *const names[] = { "DOCKER_HOST", "DOCKER_TLS_VERIFY",
					     "DOCKER_CERT_PATH" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		const char *value = getenv(names[i]);

		if (!value || !value[0] || strchr(value, '\n'))
			continue;
		mr_buf_printf(text, "Environment=\"%s=", names[i]);
		add_escaped(text, value);
		mr_buf_add(text, "\"\n");
	}
}

/* A manager of one user's units cannot set up most of these. */
static const char confinement[] = "ProtectSystem=full\n"
				  "ProtectHome=read-only\n"
				  "PrivateDevices=yes\n"
				  "NoNewPrivileges=yes\n"
				  "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n";

static void make_service(struct mr_buf *text, const char *self)
{
	mr_buf_add(text, MARK "[Unit]\nDescription=Remove what dead supervisors of menace left\n"
			      "Documentation=man:menace(1)\n\n"
			      "[Service]\nType=oneshot\nExecStart=\"");
	add_escaped(text, self);
	mr_buf_add(text, "\" purge-stale\nTimeoutStartSec=10min\n");
	add_engine(text);
	if (geteuid() == 0)
		mr_buf_add(text, confinement);
}

static void make_timer(struct mr_buf *text, const char *self)
{
	(void)self;
	mr_buf_add(text,
		   MARK "[Unit]\nDescription=Every hour, what dead supervisors of menace left\n"
			"Documentation=man:menace(1)\n\n"
			"[Timer]\nOnBootSec=10min\nOnUnitActiveSec=1h\nRandomizedDelaySec=1min\n\n"
			"[Install]\nWantedBy=timers.target\n");
}

/* --- files ----------------------------------------------------------------- */

static int check_old(const char *path, struct mr_error *err)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char head[sizeof(MARK)] = "";
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	n = fd < 0 ? -errno : mr_read_full(fd, head, sizeof(MARK) - 1);
	if (n == (ssize_t)sizeof(MARK) - 1 && memcmp(head, MARK, sizeof(MARK) - 1) == 0)
		return 0;
	return mr_err(err, MR_E_USAGE, EEXIST,
		      "%s is there and was not written by menace: remove it first, or use --to",
		      path);
}

static int write_unit(const char *path, const struct mr_buf *text, struct mr_error *err)
{
	struct mr_outfile file = MR_OUTFILE_INIT;
	int r = check_old(path, err);

	if (r == 0)
		r = mr_outfile_open(path, 0644, &file, err);
	if (r == 0) {
		fwrite(text->text, 1, text->len, file.stream);
		r = mr_outfile_commit(&file, err);
	}
	mr_outfile_deinit(&file);
	return r;
}

/* Like mkdir -p, below a folder that is there. */
static int make_folders(const char *path, struct mr_error *err)
{
	mr_auto_free char *copy = mr_str_dup(path);

	for (char *at = copy + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", copy);
		*at = '/';
	}
	if (mkdir(copy, 0755) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", copy);
	return 0;
}

static int choose_folder(const struct autopurge *opts, char **ret, struct mr_error *err)
{
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");

	if (opts->folder)
		*ret = mr_str_dup(opts->folder);
	else if (geteuid() == 0)
		*ret = mr_str_dup("/etc/systemd/system");
	else if (config && config[0] == '/')
		*ret = mr_str_format("%s/systemd/user", config);
	else if (home && home[0] == '/')
		*ret = mr_str_format("%s/.config/systemd/user", home);
	else
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "neither HOME nor XDG_CONFIG_HOME says where units of this user "
			      "go; use --to");
	return opts->folder ? 0 : make_folders(*ret, err);
}

static int find_self(char ret[PATH_MAX], struct mr_error *err)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);

	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read /proc/self/exe: %m");
	ret[n] = '\0';
	/* What systemd refuses in the name of a program. */
	if (strpbrk(ret, "\n\t\r\"'\\") || !mr_str_utf8_valid(ret, (size_t)n))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "no unit can name the path of this program, which has quotes, "
			      "backslashes or line breaks, or is not UTF-8");
	return 0;
}

static int write_units(const char *folder, const char *self, struct mr_error *err)
{
	static const struct {
		const char *suffix;
		void (*make)(struct mr_buf *text, const char *self);
	} units[] = { { ".service", make_service }, { ".timer", make_timer } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(units); i++) {
		mr_auto_free char *path = mr_str_format("%s/" NAME "%s", folder, units[i].suffix);
		mr_auto_buf struct mr_buf text = { 0 };

		units[i].make(&text, self);
		r = write_unit(path, &text, err);
		if (r == 0)
			fprintf(stderr, "%s is written\n", path);
	}
	return r;
}

static int run(void *values, char **words, struct mr_error *err)
{
	const struct autopurge *opts = values;
	const char *user = geteuid() == 0 ? "" : " --user";
	mr_auto_free char *folder = NULL;
	char self[PATH_MAX];
	int r = find_self(self, err);

	(void)words;
	if (r == 0)
		r = choose_folder(opts, &folder, err);
	if (r == 0)
		r = write_units(folder, self, err);
	if (r < 0)
		return r;
	printf("systemctl%s daemon-reload\nsystemctl%s enable --now " NAME ".timer\n", user, user);
	return 0;
}

const struct mr_cmd mr_cmd_install_autopurge = {
	.name = "install-autopurge",
	.synopsis = "",
	.summary = "Write units by which systemd calls purge-stale every hour; print how to enable "
		   "them",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct autopurge),
	.run = run,
};
