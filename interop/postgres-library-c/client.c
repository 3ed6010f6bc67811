/* The library without a driver: statements of the simple protocol, by a descriptor.
 *
 *   client CONFIGURATION STATEMENT...
 *
 * writes the values of all rows, one a line, and each error as `! CODE MESSAGE`. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strongroom_client.h"

static char message[512];

static void check(int32_t code)
{
    if (code != STRONGROOM_CLIENT_OK) {
        fprintf(stderr, "%d %s\n", (int)code, message);
        exit(1);
    }
}

static uint32_t number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void put(int descriptor, const void *bytes, size_t size)
{
    if (write(descriptor, bytes, size) != (ssize_t)size) {
        perror("write");
        exit(1);
    }
}

static void get(int descriptor, unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t part = read(descriptor, bytes, size);
        if (part <= 0) {
            fprintf(stderr, "the connection has ended\n");
            exit(1);
        }
        bytes += part;
        size -= (size_t)part;
    }
}

static void put_number(int descriptor, uint32_t value)
{
    unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                              (unsigned char)(value >> 8), (unsigned char)value};
    put(descriptor, bytes, sizeof bytes);
}

static void show_row(const unsigned char *body)
{
    unsigned count = (unsigned)body[0] << 8 | body[1];
    body += 2;
    for (; count > 0; count--) {
        uint32_t size = number(body);
        body += 4;
        if (size == UINT32_MAX) {
            printf("NULL\n");
            continue;
        }
        printf("%.*s\n", (int)size, (const char *)body);
        body += size;
    }
}

static void show_error(const char *body)
{
    const char *code = "", *text = "";
    for (; *body != '\0'; body += strlen(body) + 1) {
        if (*body == 'C')
            code = body + 1;
        if (*body == 'M')
            text = body + 1;
    }
    printf("! %s %s\n", code, text);
}

/* Reads messages until the server is ready for the next statement. */
static void until_ready(int descriptor)
{
    static unsigned char body[1 << 16];
    unsigned char head[5];
    do {
        get(descriptor, head, sizeof head);
        uint32_t size = number(head + 1) - 4;
        if (size > sizeof body) {
            fprintf(stderr, "a message is too long\n");
            exit(1);
        }
        get(descriptor, body, size);
        if (head[0] == 'D')
            show_row(body);
        if (head[0] == 'E')
            show_error((const char *)body);
    } while (head[0] != 'Z');
}

static void begin(int descriptor)
{
    static const char parameters[] = "user\0postgres\0database\0postgres\0";
    put_number(descriptor, 8 + sizeof parameters);
    put_number(descriptor, 3u << 16);
    put(descriptor, parameters, sizeof parameters);
    until_ready(descriptor);
}

int main(int count, char **arguments)
{
    uint64_t client;
    int32_t descriptor;

    if (count < 2 || strongroom_client_abi_version() != STRONGROOM_CLIENT_ABI_VERSION)
        return 2;
    check(strongroom_client_open(arguments[1], NULL, &client, message, sizeof message));
    check(strongroom_client_connect(client, &descriptor, message, sizeof message));
    begin(descriptor);
    for (int index = 2; index < count; index++) {
        size_t size = strlen(arguments[index]) + 1;
        put(descriptor, "Q", 1);
        put_number(descriptor, (uint32_t)size + 4);
        put(descriptor, arguments[index], size);
        until_ready(descriptor);
    }

    /* One that goes before it is answered: SIGPIPE, which nothing here handles, would end the program. */
    for (int turn = 0; turn < 20; turn++) {
        int32_t other;
        check(strongroom_client_connect(client, &other, message, sizeof message));
        put_number(other, 7); /* no first packet has this size: it is answered by an error */
        close(other);
    }
    check(strongroom_client_close(client, message, sizeof message));
    close(descriptor);
    if (strongroom_client_close(client, message, sizeof message) != STRONGROOM_CLIENT_UNKNOWN)
        return 2;
    puts("closed");
    return 0;
}
