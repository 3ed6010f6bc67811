// pg by the library's descriptors: a pool of them, statements that come at once, and what is refused.

import assert from "node:assert/strict";
import process from "node:process";
import pg from "pg";
import { Library } from "./library.mjs";

const canary = "canary-59d2-in-plain-text";
const library = new Library(process.env.STRONGROOM_CONFIGURATION);
const pool = new pg.Pool({ user: "postgres", database: "postgres", stream: () => library.stream(), max: 4 });

const numbers = Array.from({ length: 40 }, (_, number) => number);
await Promise.all(numbers.map((number) =>
    pool.query("INSERT INTO visit VALUES (2, $1, $2)", [number + 1000, `${canary} ${number}`])));
const found = await Promise.all(numbers.map(async (number) => {
    const { rows } = await pool.query("SELECT note FROM visit WHERE person_id = 2 AND number = $1", [number + 1000]);
    return rows[0].note;
}));
assert.deepEqual(found, numbers.map((number) => `${canary} ${number}`));
assert.equal((await pool.query("DELETE FROM visit WHERE person_id = 2 AND number >= 1000")).rowCount, 40);
await pool.end();

const open = new pg.Client({ user: "postgres", database: "postgres", stream: library.stream() });
await open.connect();
const lost = new Promise((resolve) => { open.on("error", resolve); });
library.close();
await lost;
assert.throws(() => library.stream(), { code: 2 });
assert.throws(() => library.close(), { code: 2 });
assert.throws(() => new Library("/nowhere"), { code: 4, message: /\/nowhere/u });
