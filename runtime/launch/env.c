/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Environment
 *
 * Nothing of the caller's environment passes by itself.  Defaults first, then the
 * names the spec passes on, then what it sets; a later one replaces an earlier.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

static const char *const defaults[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"HOME=/work",
	"TMPDIR=/tmp",
	"LANG=C.UTF-8",
	"USER=sandbox",
	"LOGNAME=sandbox",
	"SHELL=/bin/sh",
};

/* How programs of many languages are told whom to trust. */
static const char *const trust[] = {
	"SSL_CERT_FILE=" MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA,
	"REQUESTS_CA_BUNDLE=" MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA,
	"CURL_CA_BUNDLE=" MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA,
	"NODE_EXTRA_CA_CERTS=" MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA,
	"GIT_SSL_CAINFO=" MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA,
	"PERL_LWP_SSL_CA_FILE=" MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA,
};

static void put(struct mr_strv *env, const char *assignment)
{
	size_t len = strcspn(assignment, "=") + 1;

	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->v[i], assignment, len) == 0) {
			free(env->v[i]);
			env->v[i] = strdup(assignment);
			mr_assert(env->v[i]);
			return;
		}
	}
	mr_strv_add(env, assignment);
}

static void pass(struct mr_strv *env, const char *name)
{
	const char *value = getenv(name);
	char *assignment;

	if (!value)
		return;
	mr_assert(asprintf(&assignment, "%s=%s", name, value) >= 0);
	put(env, assignment);
	free(assignment);
}

char **mr_env_build(const struct mr_spec *spec)
{
	struct mr_strv env = { 0 };

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		put(&env, defaults[i]);
	for (size_t i = 0; spec->net_mode == MR_NET_STUB && i < sizeof(trust) / sizeof(trust[0]);
	     i++)
		put(&env, trust[i]);
	if (spec->sandbox_tty)
		pass(&env, "TERM");
	for (size_t i = 0; i < spec->env_pass.n; i++)
		pass(&env, spec->env_pass.v[i]);
	for (size_t i = 0; i < spec->env.n; i++)
		put(&env, spec->env.v[i]);
	return env.v;
}
