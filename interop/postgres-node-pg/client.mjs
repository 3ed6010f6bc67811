// pg writes and reads protected columns as it does any others.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import pg from "pg";

const canary = "canary-59d2-in-plain-text";
// Dates as texts: a date has no time zone.
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text);
const columns = "id, born, salary, score, photo, active, name";
const insert = `INSERT INTO person (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7)`;

function parse(line) {
    const [id, born, salary, score, photo, active, ...name] = line.split(" ");
    const read = (text, of) => (text === "NULL" ? null : of(text));
    return [Number(id), read(born, String), read(salary, String), read(score, String),
        read(photo, (hex) => Buffer.from(hex, "hex")), read(active, (text) => text === "t"), name.join(" ")];
}

function show(row) {
    const text = (value, of = String) => (value === null ? "NULL" : of(value));
    return [row.id, text(row.born), text(row.salary), text(row.score),
        text(row.photo, (bytes) => bytes.toString("hex")), text(row.active, (is) => (is ? "t" : "f")),
        row.name].join(" ");
}

async function write(client) {
    const lines = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
    await client.query("BEGIN");
    for (const line of lines) {
        await client.query(insert, parse(line));
    }
    await client.query("COMMIT");
}

async function read(client) {
    const { rows } = await client.query(`SELECT ${columns} FROM person`);
    rows.sort((one, other) => one.id - other.id);
    for (const row of rows) {
        console.log(show(row));
    }
}

async function code(promise) {
    return promise.then(() => "none", (error) => error.code);
}

async function more(client) {
    const { fields } = await client.query("SELECT id, name, born, salary, score, photo FROM person");
    assert.deepEqual(fields.map((field) => field.dataTypeID), [23, 1043, 1082, 1700, 20, 17]);

    // Named: prepared once, and then bound only.
    const byName = { name: "by-name", text: "SELECT id FROM person WHERE name = $1" };
    for (let round = 0; round < 5; round++) {
        const { rows } = await client.query({ ...byName, values: [`${canary} ann`] });
        assert.deepEqual(rows, [{ id: 1 }]);
    }
    const range = await client.query("SELECT id FROM person WHERE born BETWEEN $1 AND $2 ORDER BY born DESC",
        ["1980-01-01", "2010-01-01"]);
    assert.deepEqual(range.rows.map((row) => row.id), [2, 1]);

    await client.query("BEGIN");
    await client.query("UPDATE person SET name = $1 WHERE id = $2", [`${canary} gone`, 1]);
    await client.query("ROLLBACK");
    // Without parameters it goes by the simple protocol.
    const simple = await client.query("SELECT name FROM person WHERE id = 1");
    assert.equal(simple.rows[0].name, `${canary} ann`);

    for (let number = 0; number < 20; number++) {
        await client.query("INSERT INTO visit VALUES ($1, $2, $3)", [1, number, `${canary} ${number}`]);
    }
    const joined = await client.query(
        "SELECT v.note FROM visit v JOIN person p ON p.id = v.person_id WHERE p.name = $1", [`${canary} ann`]);
    assert.deepEqual(new Set(joined.rows.map((row) => row.note)),
        new Set(Array.from({ length: 20 }, (_, number) => `${canary} ${number}`)));
    assert.equal((await client.query("DELETE FROM visit WHERE person_id = $1", [1])).rowCount, 20);

    const none = [null, null, null, null, null];
    assert.equal(await code(client.query(insert, [1, ...none, canary])), "23505");
    assert.equal(await code(client.query(insert, [9, ...none, null])), "23502");
    assert.equal(await code(client.query(insert, [9, ...none, canary + canary])), "22001");
    assert.equal(await code(client.query("INSERT INTO visit VALUES (99, 1, NULL)")), "23503");
    assert.equal(await code(client.query("SELECT md5(name) FROM person")), "0A000");
}

const client = new pg.Client({ connectionString: process.env.STRONGROOM_URL });
await client.connect();
await { write, read, more }[process.argv[2]](client);
await client.end();
