// pg by the library's socket: the client of postgres-node-pg, which knows nothing of it.

import process from "node:process";
import { Library } from "./library.mjs";

const library = new Library(process.env.STRONGROOM_CONFIGURATION);
process.on("exit", () => library.close());
const url = new URL(process.env.STRONGROOM_URL);
const login = url.password === "" ? url.username : `${url.username}:${url.password}`;
process.env.STRONGROOM_URL = `postgres://${login}@${url.pathname}?host=${library.listen()}`;
await import("./client.mjs");
