/* libstrongroom_client: confidential columns of PostgreSQL in the process of a program.
 *
 * A driver of PostgreSQL, in any language, connects to this library instead of the server: by a
 * descriptor, or by a socket of the file system that only this process may use. What goes into
 * protected columns is sealed before it leaves the process, and opened when it comes back. The
 * driver logs in to the server itself. docs/in-process.md says more.
 *
 * Every function may be called by every thread at any time, and returns one of the codes below.
 * With another code than STRONGROOM_CLIENT_OK it writes why into `message`, a text of UTF-8 that
 * ends with a zero byte and is cut where it does not fit; `message` may be null, and
 * `message_size` counts the zero byte. No message holds a key or a value. Nothing else is written
 * then.
 *
 * A fork has none of the clients of its parent: the functions answer STRONGROOM_CLIENT_FORKED for
 * them. Open one there, and open none before the fork if the children are not to have the key in
 * their memory.
 */
#ifndef STRONGROOM_CLIENT_H
#define STRONGROOM_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of what this header says; strongroom_client_abi_version() returns the library's. It
 * grows when a program that was compiled before has to be changed. */
#define STRONGROOM_CLIENT_ABI_VERSION 1

#define STRONGROOM_CLIENT_OK 0
/* An argument: a null pointer, a text that is no UTF-8, too little room. */
#define STRONGROOM_CLIENT_ARGUMENT 1
/* There is no such client, or it is closed. */
#define STRONGROOM_CLIENT_UNKNOWN 2
/* The client was opened before this process was forked. */
#define STRONGROOM_CLIENT_FORKED 3
/* The configuration: the file, rules, the key, authorities, the server. */
#define STRONGROOM_CLIENT_CONFIGURATION 4
/* There are as many connections as the configuration allows. */
#define STRONGROOM_CLIENT_TOO_MANY 5
/* The system: no descriptor, thread or folder. */
#define STRONGROOM_CLIENT_SYSTEM 6
/* A defect of this library. */
#define STRONGROOM_CLIENT_DEFECT 7

/* The version of the library. */
uint32_t strongroom_client_abi_version(void);

/* Reads a configuration file, which may be that of the proxy: rules, the key, limits. `server` says
 * where the server is, as libpq's connection strings do: "host=db port=5432 sslmode=require", or
 * "host=/run/postgresql" for a socket; without user, password and database, which the driver says.
 * Null: the upstream of the file's [proxy]. `client` receives a number for the other functions, never
 * 0. The server is not connected yet. */
int32_t strongroom_client_open(const char *configuration, const char *server, uint64_t *client,
                               char *message, size_t message_size);

/* One more connection: `descriptor` receives a connected stream socket that speaks PostgreSQL's
 * protocol, beginning with the driver's first packet. The caller owns it, and ends the connection by
 * closing it. A server that cannot be reached is told to the driver, by an error of the protocol. */
int32_t strongroom_client_connect(uint64_t client, int32_t *descriptor,
                                  char *message, size_t message_size);

/* Listens at a socket of the file system, for drivers that take no descriptor: `folder` receives the
 * path of its folder, which drivers take for the host; the port is 5432. Only this very process may
 * connect: the folder and the socket are its user's, and the system says which process is at the
 * other end. Called again, it gives the same folder. 128 bytes are enough for most systems. */
int32_t strongroom_client_listen(uint64_t client, char *folder, size_t folder_size,
                                 char *message, size_t message_size);

/* Ends all connections of the client, removes its socket, and wipes its keys. When it returns, the
 * client has no thread any more. */
int32_t strongroom_client_close(uint64_t client, char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
