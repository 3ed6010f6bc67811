// libstrongroom_client by koffi, which calls C functions: what pg needs of it.

import net from "node:net";
import process from "node:process";
import koffi from "koffi";

const library = koffi.load(process.env.STRONGROOM_CLIENT_LIBRARY);
const functions = {
    open: library.func(
        "int strongroom_client_open(str, str, _Out_ uint64_t *client, _Out_ uint8_t *message, size_t)"),
    connect: library.func(
        "int strongroom_client_connect(uint64_t, _Out_ int *descriptor, _Out_ uint8_t *message, size_t)"),
    listen: library.func(
        "int strongroom_client_listen(uint64_t, _Out_ uint8_t *folder, size_t, _Out_ uint8_t *message, size_t)"),
    close: library.func("int strongroom_client_close(uint64_t, _Out_ uint8_t *message, size_t)"),
};

function text(buffer) {
    return buffer.toString("utf8", 0, buffer.indexOf(0));
}

function call(name, ...values) {
    const message = Buffer.alloc(1024);
    const code = functions[name](...values, message, message.length);
    if (code !== 0) {
        throw Object.assign(new Error(text(message)), { code });
    }
}

// A socket that is connected already: pg asks each of its streams to connect.
class Connected extends net.Socket {
    connect() {
        process.nextTick(() => this.emit("connect"));
        return this;
    }
}

export class Library {
    #client;

    constructor(configuration, server = null) {
        const client = [0];
        call("open", configuration, server, client);
        [this.#client] = client;
    }

    // For pg's option `stream`.
    stream() {
        const descriptor = [-1];
        call("connect", this.#client, descriptor);
        return new Connected({ fd: descriptor[0] });
    }

    // For pg's option `host`.
    listen() {
        const folder = Buffer.alloc(256);
        call("listen", this.#client, folder, folder.length);
        return text(folder);
    }

    close() {
        call("close", this.#client);
    }
}
