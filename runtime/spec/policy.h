/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: what a program may do at most, as data
 *
 * A document of schema "menace.policy/1", menace-policy(5).  It only takes away from
 * what the rest of a request gives: system calls, paths, hosts, limits; a part that
 * it does not have takes nothing.  Once read it does not change and is shared.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/spec/spec.h"

struct json_t;
struct mr_error;
struct mr_json;

#define MR_POLICY_SCHEMA "menace.policy/1"

enum mr_policy_access {
	MR_POLICY_READ = 1,
	MR_POLICY_WRITE = 2,
	MR_POLICY_EXECUTE = 4, /* to run it and to read it */
	MR_POLICY_MAKE = 8, /* folders only: make, remove, rename what is in it */
	MR_POLICY_LIST = 16, /* folders only */
};

struct mr_policy_path {
	char *path; /* absolute; with a slash at its end a folder and all below it */
	unsigned int access; /* of enum mr_policy_access */
};

enum mr_policy_protocol { MR_POLICY_ANY_PROTOCOL, MR_POLICY_TCP, MR_POLICY_UDP };

struct mr_policy_host {
	char *host; /* "any", "loopback" or an address */
	uint16_t port; /* 0: any */
	enum mr_policy_protocol protocol;
};

/* The limits that a policy may have, in the order of its document. */
#define MR_POLICY_LIMITS 6
struct mr_policy_limit {
	bool given;
	uint64_t value; /* margin included */
	uint64_t peak, margin_percent; /* as written; peak 0: the value alone was */
};

#define MR_POLICY_SYSCALLS 512 /* call numbers are below */

struct mr_policy {
	unsigned int refs;
	char sha256[65]; /* of the canonical text */
	char *name; /* or NULL */
	bool has_syscalls, has_paths, has_hosts;
	uint64_t syscalls[MR_POLICY_SYSCALLS / 64]; /* bit per number, the floor not included */
	struct mr_policy_path *paths; /* sorted, each once */
	size_t n_paths;
	struct mr_policy_host *hosts;
	size_t n_hosts;
	struct mr_policy_limit limits[MR_POLICY_LIMITS];
};

/* Read a document.  Errors: MR_E_USAGE naming the item, the value and what is accepted. */
int mr_policy_parse(const char *text, size_t size, const char *source, struct mr_policy **ret,
		    struct mr_error *err);
/* The same from a value that is parsed already. */
int mr_policy_parse_json(const struct mr_json *json, struct mr_policy **ret, struct mr_error *err);
/* The document, sorted: reading it gives the same policy; new reference. */
struct json_t *mr_policy_to_json(const struct mr_policy *policy);
/* One more owner, or one less; both accept NULL, unref returns NULL. */
struct mr_policy *mr_policy_ref(struct mr_policy *policy);
struct mr_policy *mr_policy_unref(struct mr_policy *policy);
static inline void mr_policy_unrefp(struct mr_policy **policy)
{
	*policy = mr_policy_unref(*policy);
}
#define mr_auto_policy __attribute__((cleanup(mr_policy_unrefp)))

/* The knob of the i-th limit. */
enum mr_field_id mr_policy_limit_field(size_t i);
/* What ends a program, or its signal handler, needs no permission. */
bool mr_policy_is_floor(unsigned int nr);
/* Devices that what starts the program opens for it: where a stream is missing, and its terminal.
 * Their number. */
#define MR_POLICY_FLOOR_PATHS 2
size_t mr_policy_floor_paths(const struct mr_spec *spec,
			     struct mr_policy_path ret[MR_POLICY_FLOOR_PATHS]);
/* May this call number be used, as far as the policy goes? */
bool mr_policy_allows_call(const struct mr_policy *policy, unsigned int nr);
/* By number and name; NULL or -1 where there is none. */
const char *mr_policy_call_name(unsigned int nr);
int mr_policy_call_number(const char *name);

/* Put a list into the order of lookups, and equal paths together; returns the new number. */
size_t mr_policy_sort_paths(struct mr_policy_path *paths, size_t n);
/* What a sorted list grants to a path: its own entry and those of the folders above.  A folder's
 * path ends in a slash. */
unsigned int mr_policy_lookup(const struct mr_policy_path *paths, size_t n, const char *path);
/* Read such a path again, malloc'd. */
int mr_policy_get_path(const struct mr_json *json, char **ret, struct mr_error *err);
/* A path of any bytes: a string, or {"base64": ...}; new reference. */
struct json_t *mr_policy_path_json(const char *path);
/* ["read", ...]; new reference. */
struct json_t *mr_policy_access_json(unsigned int access);
/* "read, write"; returns buf. */
#define MR_POLICY_ACCESS_SIZE 48
const char *mr_policy_access_text(unsigned int access, char buf[MR_POLICY_ACCESS_SIZE]);
/* One access by its name; 0: there is none of that name. */
unsigned int mr_policy_access_find(const char *name);
/* Is a connection to this address allowed?  host is an address as text. */
bool mr_policy_allows_host(const struct mr_policy *policy, const char *host, unsigned int port,
			   enum mr_policy_protocol protocol);
const char *mr_policy_protocol_name(enum mr_policy_protocol protocol);

/* Take from a spec what its policy does not give: limits become the smaller of both, the network
 * none where no host is allowed.  *ret_unenforced (may be NULL) gets the reason why hosts cannot be
 * enforced, where best_effort has "policy-hosts"; NULL: they are.  MR_E_KERNEL where it has not. */
int mr_policy_narrow(struct mr_spec *spec, const char **ret_unenforced, struct mr_error *err);
