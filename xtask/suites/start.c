/*
** Prepares SQLite in the programs of its own suite, which know nothing of it: compiled into each
** of them as SQLITE_EXTRA_INIT, which sqlite3_initialize() calls at its end, again after a
** sqlite3_shutdown().
**
** STRONGROOM_SUITES_EXTENSION names an extension to load. STRONGROOM_SUITES_RESERVED is a number
** of bytes that the pages of every new database leave free, as our pages do.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sqlite3.h"

static int reserve(sqlite3 *connection, char **message, const struct sqlite3_api_routines *api) {
  const char *bytes = getenv("STRONGROOM_SUITES_RESERVED");
  int count = bytes ? atoi(bytes) : 0;
  (void)message;
  (void)api;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, &count);
  return SQLITE_OK;
}

static int load(const char *extension) {
  sqlite3 *connection = 0;
  char *message = 0;
  int result = sqlite3_open(":memory:", &connection);
  if (result == SQLITE_OK) {
    result = sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, (int *)0);
  }
  if (result == SQLITE_OK) {
    result = sqlite3_load_extension(connection, extension, 0, &message);
  }
  if (result == SQLITE_OK && strcmp(sqlite3_vfs_find(0)->zName, "strongroom") != 0) {
    message = sqlite3_mprintf("it has not become the default VFS");
    result = SQLITE_ERROR;
  }
  if (result != SQLITE_OK) {
    fprintf(stderr, "cannot load %s: %s\n", extension, message ? message : "no message");
  }
  sqlite3_free(message);
  sqlite3_close(connection);
  return result;
}

int strongroom_suites_start(const char *unused) {
  const char *extension = getenv("STRONGROOM_SUITES_EXTENSION");
  (void)unused;
  if (getenv("STRONGROOM_SUITES_RESERVED")) {
    int result = sqlite3_auto_extension((void (*)(void))reserve);
    if (result != SQLITE_OK) return result;
  }
  return extension ? load(extension) : SQLITE_OK;
}
