/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: what to run, as data
 *
 * struct mr_spec is the whole request.  Its scalar knobs come from fields.def
 * (member `section_name`, e.g. limits_wall_ms); beside them stand the lists:
 * program, environment, mounts, tolerated degradations.  A spec owns all its
 * strings.  Nothing here touches the kernel: a path is text until launch.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/mock.h"

struct json_t;
struct mr_error;
struct mr_json;
struct mr_policy;

#define MR_UNLIMITED UINT64_MAX
#define MR_UNSET (UINT64_MAX - 1)

/* Words of the ENUM_ types, in the order of their values. */
enum mr_userns { MR_USERNS_AUTO, MR_USERNS_ALWAYS };
#define MR_WORDS_userns "auto", "always"
enum mr_net_mode { MR_NET_NONE, MR_NET_LOOPBACK, MR_NET_STUB, MR_NET_ALLOWLIST, MR_NET_HOST };
#define MR_WORDS_net "none", "loopback", "stub", "allowlist", "host"
/* What delays packets (netns/emulate.h). */
enum mr_engine_wish {
	MR_ENGINE_WISH_AUTO,
	MR_ENGINE_WISH_NETEM,
	MR_ENGINE_WISH_TUN,
	MR_ENGINE_WISH_BPF,
};
#define MR_WORDS_engine "auto", "netem", "tun", "bpf"
/* Where a run happens (runtime/backend). */
enum mr_backend { MR_BACKEND_AUTO, MR_BACKEND_NATIVE, MR_BACKEND_DOCKER, MR_BACKEND_QEMU };
#define MR_WORDS_backend "auto", "native", "docker", "qemu"
/* What the program is for. */
enum mr_os { MR_OS_LINUX, MR_OS_WINDOWS, MR_OS_MACOS };
#define MR_WORDS_os "linux", "windows", "macos"
/* In the order of enum mr_probe_level. */
enum mr_telemetry_level {
	MR_TELEMETRY_OFF,
	MR_TELEMETRY_BASIC,
	MR_TELEMETRY_DEFAULT,
	MR_TELEMETRY_FULL,
	MR_TELEMETRY_SYSCALLS,
};
#define MR_WORDS_telemetry "off", "basic", "default", "full", "syscalls"

/* Where a value came from; a later one wins over an earlier one. */
enum mr_origin {
	MR_ORIGIN_DEFAULT,
	MR_ORIGIN_ENVIRONMENT, /* SANDBOX_ENV_PRESETS */
	MR_ORIGIN_PRESET, /* --preset, or "preset" in a spec document */
	MR_ORIGIN_SPEC, /* the --spec document itself */
	MR_ORIGIN_SET, /* --set */
	MR_ORIGIN_FLAG, /* a flag of its own */
	MR_ORIGIN_POLICY, /* taken away by a policy */
};

enum mr_field_type {
	MR_FIELD_SIZE,
	MR_FIELD_COUNT,
	MR_FIELD_MS,
	MR_FIELD_MILLI,
	MR_FIELD_PERCENT,
	MR_FIELD_BANDWIDTH,
	MR_FIELD_BOOL,
	MR_FIELD_ENUM,
	MR_FIELD_STR,
};

enum mr_field_id {
#define FIELD(section, name, ...) MR_FIELD_##section##_##name,
#include "runtime/spec/fields.def"
#undef FIELD
	MR_FIELD_COUNT_,
};

/* One row of fields.def. */
struct mr_field {
	const char *section;
	const char *name;
	const char *key; /* "section.name" */
	enum mr_field_type type;
	uint64_t default_value; /* not for STR */
	const char *default_str; /* STR only */
	uint64_t min, max; /* STR: lengths */
	bool may_be_unlimited;
	const char *unit;
	const char *preset_alias; /* NULL: none */
	const char *const *words; /* ENUM: NULL-terminated */
	const char *help;
	size_t offset; /* into struct mr_spec */
};

enum mr_mount_kind { MR_MOUNT_RO, MR_MOUNT_RW, MR_MOUNT_TMPFS, MR_MOUNT_HIDE };

struct mr_spec_mount {
	enum mr_mount_kind kind;
	char *source; /* host path; NULL for TMPFS and HIDE */
	char *dest; /* absolute path inside */
	uint64_t size_bytes; /* TMPFS: 0 = counted in limits.disk_bytes without a cap of its own */
};

/* A growing NULL-terminated array of owned strings. */
struct mr_strv {
	char **v;
	size_t n;
};

struct mr_spec {
#define MR_MEMBER_SIZE uint64_t
#define MR_MEMBER_COUNT uint64_t
#define MR_MEMBER_MS uint64_t
#define MR_MEMBER_MILLI uint64_t
#define MR_MEMBER_PERCENT uint64_t
#define MR_MEMBER_BANDWIDTH uint64_t
#define MR_MEMBER_BOOL uint64_t
#define MR_MEMBER_ENUM_userns uint64_t
#define MR_MEMBER_ENUM_net uint64_t
#define MR_MEMBER_ENUM_engine uint64_t
#define MR_MEMBER_ENUM_telemetry uint64_t
#define MR_MEMBER_ENUM_backend uint64_t
#define MR_MEMBER_ENUM_os uint64_t
#define MR_MEMBER_STR char *
#define FIELD(section, name, type, ...) MR_MEMBER_##type section##_##name;
#include "runtime/spec/fields.def"
#undef FIELD
	uint8_t origin[MR_FIELD_COUNT_]; /* enum mr_origin of each knob */

	struct mr_strv argv; /* program and arguments; for a snippet the arguments only */
	char *snippet_path; /* host file to run, or NULL */
	char *snippet_code; /* snippet text (not NUL-free: see size), or NULL */
	size_t snippet_code_size;
	char *lang; /* language of the snippet, or NULL: by shebang, then extension */

	struct mr_strv env; /* K=V */
	struct mr_strv env_pass; /* names taken from the caller's environment */
	struct mr_spec_mount *mounts;
	size_t n_mounts;
	struct mr_strv net_allow; /* rules of netns/rules.h, each as it is printed there */
	struct mr_strv net_faults; /* outages of netns/outage.h, each as it is printed there */
	struct mr_mocks mocks; /* what --net stub answers; the bodies of files are not read yet */
	struct mr_strv best_effort; /* items that may go unenforced */
	struct mr_strv unenforced; /* preset variables accepted only through best_effort */
	char *name; /* caller's label, returned in the result; or NULL */
	struct mr_policy *policy; /* takes away from all of the above (policy.h); shared, or NULL */
};

/* Fill with defaults.  Never fails except for memory (which aborts). */
void mr_spec_init(struct mr_spec *spec);
void mr_spec_deinit(struct mr_spec *spec);
/* Deep copy: `to` is initialised. */
void mr_spec_copy(struct mr_spec *to, const struct mr_spec *from);

/* The table of knobs: MR_FIELD_COUNT_ rows, indexed by enum mr_field_id. */
const struct mr_field *mr_spec_fields(void);
/* By "section.name"; NULL if there is none. */
const struct mr_field *mr_spec_field_find(const char *key);
/* Nearest known key for a hint, or NULL when nothing is near. */
const char *mr_spec_field_suggest(const char *key);

/* Value of a numeric knob. */
uint64_t mr_spec_get(const struct mr_spec *spec, enum mr_field_id id);

/* Set a numeric knob to a value that was checked elsewhere. */
void mr_spec_set_number(struct mr_spec *spec, enum mr_field_id id, uint64_t value,
			enum mr_origin origin);
/* Give it a policy (a new owner of it).  MR_E_USAGE: it has one, and of two none may be lost. */
int mr_spec_set_policy(struct mr_spec *spec, struct mr_policy *policy, struct mr_error *err);

/* Set one knob from text.  bare_seconds: a bare number of an MS knob is seconds
 * (flags, presets) instead of milliseconds (--set).  A value from a lower origin
 * than the present one is checked and then ignored.
 * Errors: MR_E_USAGE naming key, value and what is accepted. */
int mr_spec_set_text(struct mr_spec *spec, enum mr_field_id id, const char *text, bool bare_seconds,
		     enum mr_origin origin, struct mr_error *err);

/* The same with another noun than the key in front of messages ("--memory"), or none (NULL). */
int mr_spec_set_labelled(struct mr_spec *spec, enum mr_field_id id, const char *text,
			 bool bare_seconds, enum mr_origin origin, const char *label,
			 struct mr_error *err);
/* A numeric value as its grammar reads it back ("512Mi", "30s", "0.5", "none", "unlimited"; "" for
 * MR_UNSET).  Returns buf, which holds MR_SPEC_TEXT_SIZE bytes, or a word. */
#define MR_SPEC_TEXT_SIZE 32
const char *mr_spec_value_text(const struct mr_field *field, uint64_t value, char *buf);
const char *mr_spec_origin_name(enum mr_origin origin);

/* --set SECTION.KEY=VALUE */
int mr_spec_set_assignment(struct mr_spec *spec, const char *assignment, struct mr_error *err);

#define MR_SPEC_SCHEMA "menace.spec/1"
/* A document of schema "menace.spec/1" (object: schema, name, program|snippet, args, env,
 * env_pass, mounts, network_mocks, limits{}, sandbox{}, net{}, output{}, preset, best_effort,
 * unenforced, policy).
 * Lists are added to what the spec has; its program or snippet takes the place of an earlier one.
 * source names the document in messages.  After a failure the spec is only good for deinit. */
int mr_spec_parse_json(struct mr_spec *spec, const char *text, size_t size, const char *source,
		       struct mr_error *err);

/* The document with every knob: mr_spec_parse_json() reads it back to the same spec; new reference. */
struct json_t *mr_spec_to_json(const struct mr_spec *spec);
/* The section "limits" as a result tells it: numbers, or "unlimited"; new reference. */
struct json_t *mr_spec_limits_to_json(const struct mr_spec *spec);
/* The same as text with sorted keys and no white space; malloc'd. */
char *mr_spec_print_canonical(const struct mr_spec *spec);
/* By key ("limits.wall_ms"), for people: the value in words, its unit, where it came from; new
 * reference. */
struct json_t *mr_spec_explain_json(const struct mr_spec *spec);
/* sha256 of the canonical text as 64 hex digits plus NUL. */
void mr_spec_hash(const struct mr_spec *spec, char ret_hex[65]);

/* Preset variables (runtime.md 1.1 to 1.4, 1.7) from a JSON object or one-element list; from the
 * environment an empty list too, which is no preset.
 * Names that are known but not enforced by this version are refused unless
 * best_effort of the spec lists them; unknown names are refused with a hint. */
int mr_preset_apply_json(struct mr_spec *spec, const char *text, size_t size, const char *source,
			 enum mr_origin origin, struct mr_error *err);
/* The same of an object that is already parsed. */
int mr_preset_apply_object(struct mr_spec *spec, const struct mr_json *object,
			   enum mr_origin origin, struct mr_error *err);
/* A built-in name, a file, or JSON text; label ("--preset") stands in front of messages. */
int mr_preset_apply_arg(struct mr_spec *spec, const char *arg, const char *label,
			struct mr_error *err);

/* Checks across knobs, after all sources: level 1 without unsafe, keep_changes without
 * workspace, no program, and so on. */
int mr_spec_validate(const struct mr_spec *spec, struct mr_error *err);
/* How whoever made the spec calls a knob in messages; NULL: by its key.  The text lives until
 * the next call. */
struct mr_spec_labels {
	const char *(*name)(void *owner, enum mr_field_id id);
	void *owner;
};
int mr_spec_validate_labelled(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			      struct mr_error *err);
/* Is degradation of this item tolerated? */
bool mr_spec_tolerates(const struct mr_spec *spec, const char *item);

/* Lists. All copy their arguments. */
void mr_strv_add(struct mr_strv *strv, const char *s);
void mr_strv_clear(struct mr_strv *strv);
/* K=V; refuses an empty name, '=' in front and NUL. A later K replaces an earlier one. */
int mr_spec_add_env(struct mr_spec *spec, const char *assignment, struct mr_error *err);
/* "PATH[:DEST]" for RO and RW, "DEST[:SIZE]" for TMPFS, "PATH" for HIDE. */
int mr_spec_add_mount(struct mr_spec *spec, enum mr_mount_kind kind, const char *arg,
		      struct mr_error *err);
/* The same by parts: size_bytes for TMPFS; dest NULL: as source. */
int mr_spec_add_mount_parts(struct mr_spec *spec, enum mr_mount_kind kind, const char *source,
			    const char *dest, uint64_t size_bytes, struct mr_error *err);
const char *mr_spec_mount_kind_name(enum mr_mount_kind kind);
int mr_spec_add_env_pass(struct mr_spec *spec, const char *name, struct mr_error *err);
/* RULE[,RULE...] of netns/rules.h; a rule that is there already is not added again. */
int mr_spec_add_allow(struct mr_spec *spec, const char *rules, struct mr_error *err);
/* TARGET=ACTION of netns/mock.h. */
int mr_spec_add_mock(struct mr_spec *spec, const char *text, struct mr_error *err);
/* A failure of the link for a while, as netns/outage.h writes it. */
int mr_spec_add_fault(struct mr_spec *spec, const char *text, struct mr_error *err);
/* ITEM[,ITEM...] of best_effort.def, or preset variables that this version does not enforce. */
int mr_spec_add_best_effort(struct mr_spec *spec, const char *items, struct mr_error *err);
/* Take the place of program, snippet and language. */
void mr_spec_clear_program(struct mr_spec *spec);

/* Does it run in a virtual machine with a disk of its own? */
bool mr_spec_wants_vm(const struct mr_spec *spec);
/* The disk image for sandbox.os; "" where none is named.  Borrowed. */
const char *mr_spec_vm_image(const struct mr_spec *spec);

/* A name and its line of help: rows of best_effort.def and of presets.def. */
struct mr_spec_item {
	const char *name;
	const char *text; /* JSON of a preset; NULL otherwise */
	const char *help;
};
const struct mr_spec_item *mr_spec_best_effort_items(size_t *ret_n);
const struct mr_spec_item *mr_preset_builtins(size_t *ret_n);

/* A preset variable that is known but not enforced by this version: preset_vars.def. */
struct mr_preset_var {
	const char *name;
	const char *accepted; /* what a value may be */
	const char *help;
};
const struct mr_preset_var *mr_preset_vars(size_t *ret_n);

/* Apply SANDBOX_TIMEOUT, SANDBOX_MEMORY_LIMIT and SANDBOX_ENV_PRESETS of an environment. */
int mr_preset_apply_environment(struct mr_spec *spec, char *const *environment,
				struct mr_error *err);
/* One line for each SANDBOX_ variable of the environment that nothing knows, or that is known and set and does
 * nothing. */
void mr_preset_warn_environment(char *const *environment, struct mr_strv *warnings);
