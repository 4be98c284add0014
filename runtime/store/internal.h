/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the store share
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_section;

#define MR_STORE_STATEMENTS_MAX 128

struct mr_store {
	sqlite3 *db;
	char *path;
	struct {
		char name[48]; /* in statements.sql */
		sqlite3_stmt *stmt;
	} cache[MR_STORE_STATEMENTS_MAX];
	size_t n_cache;
};

/* Fill *err from an SQLite result code and what was tried. */
int mr_store_fail(const struct mr_store *store, int rc, const char *doing, struct mr_error *err);
/* Run statements without results. */
int mr_store_exec(struct mr_store *store, const char *sql, const char *doing, struct mr_error *err);
/* One whole number. */
int mr_store_get_int(struct mr_store *store, const char *sql, sqlite3_int64 *ret,
		     struct mr_error *err);
/* A statement of statements.sql by its name, ready to be bound; NULL with *err filled.  Kept
 * until the store is closed. An unknown name is a bug. */
sqlite3_stmt *mr_store_statement(struct mr_store *store, const char *name, struct mr_error *err);
