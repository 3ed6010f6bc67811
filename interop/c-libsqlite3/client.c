/* A client in C, linked to the system's libsqlite3. ../README.md says what it must do. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 4096 };

static void check(sqlite3 *db, int code)
{
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
        fprintf(stderr, "%s\n", db ? sqlite3_errmsg(db) : sqlite3_errstr(code));
        exit(1);
    }
}

static void execute(sqlite3 *db, const char *sql)
{
    check(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    check(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    return statement;
}

/* Loaded on any connection, the extension stays for the whole process. */
static void load_extension(void)
{
    sqlite3 *any;
    char *message = NULL;
    check(NULL, sqlite3_open(":memory:", &any));
    check(any, sqlite3_db_config(any, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL));
    if (sqlite3_load_extension(any, getenv("STRONGROOM_EXTENSION"), NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s\n", message ? message : "the extension does not load");
        exit(1);
    }
    sqlite3_close(any);
}

/* SQLite is shut down and started again: the extension, loaded again, is the default once more. */
static void start_again(void)
{
    load_extension();
    for (int round = 0; round < 2; round++) {
        const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
        if (!vfs || strcmp(vfs->zName, "strongroom")) {
            fprintf(stderr, "round %d: the default VFS is %s\n", round, vfs ? vfs->zName : "none");
            exit(1);
        }
        check(NULL, sqlite3_shutdown());
        check(NULL, sqlite3_initialize());
        load_extension();
    }
}

static void append_escaped(char *uri, const char *text)
{
    for (; *text; text++) {
        char piece[4] = {*text, 0};
        if (strchr("%?#&", *text))
            snprintf(piece, sizeof piece, "%%%02X", (unsigned char)*text);
        strcat(uri, piece);
    }
}

/* Opens with a parameter of the URI that names the key, or with none. */
static sqlite3 *open_database(const char *file, const char *parameter, const char *value)
{
    sqlite3 *db;
    char *uri = calloc(1, 64 + 3 * (strlen(file) + (value ? strlen(value) : 0)));
    if (!uri)
        abort();
    strcat(uri, "file:");
    append_escaped(uri, file);
    if (value) {
        strcat(uri, "?");
        strcat(uri, parameter);
        strcat(uri, "=");
        append_escaped(uri, value);
    }
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    check(NULL, sqlite3_open_v2(uri, &db, flags, "strongroom"));
    free(uri);
    return db;
}

static void execute_file(sqlite3 *db, const char *path)
{
    char sql[LINE_SIZE];
    FILE *file = fopen(path, "r");
    if (!file)
        abort();
    sql[fread(sql, 1, sizeof sql - 1, file)] = 0;
    fclose(file);
    execute(db, sql);
}

static void bind_blob(sqlite3_stmt *statement, const char *digits)
{
    unsigned char bytes[LINE_SIZE / 2];
    int size = (int)strlen(digits) / 2;
    for (int index = 0; index < size; index++)
        sscanf(digits + 2 * index, "%2hhx", &bytes[index]);
    sqlite3_bind_blob(statement, 2, bytes, size, SQLITE_TRANSIENT);
}

static void write_rows(sqlite3 *db)
{
    char line[LINE_SIZE];
    execute(db, "BEGIN");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO rows VALUES(?, ?)");
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        char *type = strchr(line, ' '), *value;
        *type++ = 0;
        value = type + strcspn(type, " ");
        if (*value)
            *value++ = 0;
        sqlite3_bind_int64(insert, 1, atoll(line));
        if (!strcmp(type, "null"))
            sqlite3_bind_null(insert, 2);
        else if (!strcmp(type, "integer"))
            sqlite3_bind_int64(insert, 2, atoll(value));
        else if (!strcmp(type, "real"))
            sqlite3_bind_double(insert, 2, atof(value));
        else if (!strcmp(type, "text"))
            sqlite3_bind_text(insert, 2, value, -1, SQLITE_TRANSIENT);
        else
            bind_blob(insert, value);
        check(db, sqlite3_step(insert));
        check(db, sqlite3_reset(insert));
    }
    sqlite3_finalize(insert);
    execute(db, "COMMIT");
}

static void read_rows(sqlite3 *db)
{
    int code;
    sqlite3_stmt *select = prepare(db, "SELECT id, value FROM rows ORDER BY id");
    while ((code = sqlite3_step(select)) == SQLITE_ROW) {
        printf("%lld ", sqlite3_column_int64(select, 0));
        switch (sqlite3_column_type(select, 1)) {
        case SQLITE_NULL:
            printf("null");
            break;
        case SQLITE_INTEGER:
            printf("integer %lld", sqlite3_column_int64(select, 1));
            break;
        case SQLITE_FLOAT:
            printf("real %g", sqlite3_column_double(select, 1));
            break;
        case SQLITE_TEXT:
            printf("text %s", sqlite3_column_text(select, 1));
            break;
        default:
            printf("blob ");
            const unsigned char *bytes = sqlite3_column_blob(select, 1);
            for (int index = 0; index < sqlite3_column_bytes(select, 1); index++)
                printf("%02x", bytes[index]);
        }
        printf("\n");
    }
    check(db, code);
    sqlite3_finalize(select);
}

static int count(sqlite3 *db)
{
    sqlite3_stmt *select = prepare(db, "SELECT count(*) FROM log");
    check(db, sqlite3_step(select));
    int result = sqlite3_column_int(select, 0);
    sqlite3_finalize(select);
    return result;
}

/* The functions for keys, in the library that SQLite has loaded. */
static void *function(const char *name)
{
    void *library = dlopen(getenv("STRONGROOM_EXTENSION"), RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    return found;
}

/* A program that holds the key in its memory hands it over, and gets a number for the URI. */
static uint64_t token_of_key(const char *key_file)
{
    uint64_t (*from_key)(const uint8_t *, size_t);
    *(void **)&from_key = function("strongroom_token_from_key");
    uint8_t key[64] = {0};
    FILE *file = fopen(key_file, "r");
    if (!file)
        abort();
    uint64_t number = from_key(key, fread(key, 1, sizeof key, file));
    explicit_bzero(key, sizeof key);
    fclose(file);
    return number;
}

static void write_ahead_log(const char *file, const char *key_file)
{
    void (*revoke)(uint64_t);
    *(void **)&revoke = function("strongroom_token_revoke");
    uint64_t number = token_of_key(key_file);
    char token[32];
    snprintf(token, sizeof token, "%llu", (unsigned long long)number);
    sqlite3 *one = open_database(file, "key_token", token);
    sqlite3_stmt *mode = prepare(one, "PRAGMA journal_mode=WAL");
    check(one, sqlite3_step(mode));
    printf("%s", sqlite3_column_text(mode, 0));
    sqlite3_finalize(mode);
    execute(one, "CREATE TABLE log(n)");
    execute(one, "INSERT INTO log VALUES(1)");
    sqlite3 *two = open_database(file, "key_token", token);
    revoke(number);
    printf(" %d", count(two));
    execute(one, "BEGIN");
    execute(one, "INSERT INTO log VALUES(2)");
    printf(" %d", count(two));
    execute(one, "COMMIT");
    printf(" %d", count(two));
    execute(two, "INSERT INTO log VALUES(3)");
    printf(" %d\n", count(one));
    check(two, sqlite3_close(two));
    check(one, sqlite3_close(one));
}

int main(int count, char **arguments)
{
    if (count == 2 && !strcmp(arguments[1], "start-again")) {
        start_again();
        return 0;
    }
    if (count < 3)
        return 2;
    const char *file = arguments[2], *key_file = count > 3 ? arguments[3] : NULL;
    load_extension();
    if (!strcmp(arguments[1], "wal")) {
        write_ahead_log(file, key_file);
        return 0;
    }
    sqlite3 *db = open_database(file, "key_file", key_file);
    if (!strcmp(arguments[1], "write")) {
        execute_file(db, getenv("STRONGROOM_SCHEMA"));
        write_rows(db);
    } else {
        read_rows(db);
    }
    check(db, sqlite3_close(db));
    return 0;
}
