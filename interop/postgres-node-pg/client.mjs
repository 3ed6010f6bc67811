// pg writes and reads protected columns like any others.

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

const config = { connectionString: process.env.STRONGROOM_URL };

async function login(bound) {
    const client = new pg.Client({ ...config, enableChannelBinding: bound === "bound" });
    try {
        await client.connect();
        const { rows } = await client.query(
            "SELECT current_user AS name, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
        // A socket of the file system has no certificate.
        const isVerified = config.connectionString.includes("verify-full");
        assert.equal(client.connection.stream.authorized, isVerified || undefined);
        console.log(rows[0].name, rows[0].ssl ? "t" : "f");
        await client.end();
    } catch (error) {
        console.log(error.code, error.message);
    }
}

async function code(promise) {
    return promise.then(() => "none", (error) => error.code);
}

async function more(client) {
    const { fields } = await client.query("SELECT id, name, born, salary, score, photo FROM person");
    assert.deepEqual(fields.map((field) => field.dataTypeID), [23, 1043, 1082, 1700, 20, 17]);

    // Named: prepared once, and then only bound.
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
    // Without parameters it uses the simple protocol.
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

    for (const part of [saved, prepared, cancelled, noticed]) {
        await part(client);
    }
}

// An error inside a savepoint: earlier changes stay, later ones are gone.
async function saved(client) {
    const change = "UPDATE person SET name = $1 WHERE id = $2";
    await client.query("BEGIN");
    await client.query(change, [`${canary} kept`, 2]);
    await client.query("SAVEPOINT inner_one");
    await client.query(change, [`${canary} lost`, 3]);
    assert.equal(await code(client.query(insert, [1, null, null, null, null, null, canary])), "23505");
    await client.query("ROLLBACK TO inner_one");
    const { rows } = await client.query("SELECT id, name FROM person WHERE id IN (2, 3)");
    rows.sort((one, other) => one.id - other.id);
    assert.deepEqual(rows, [{ id: 2, name: `${canary} kept` }, { id: 3, name: `${canary} o'hara \\` }]);
    await client.query("ROLLBACK");
}

// Ten times, while the table gains and loses a column; then with a cursor.
async function prepared(client) {
    const add = { name: "add", text: "INSERT INTO visit (person_id, number, note) VALUES (3, $1, $2)" };
    const find = { name: "find", text: "SELECT note FROM visit WHERE person_id = 3 AND number = $1" };
    const notes = Array.from({ length: 10 }, (_, number) => ({ note: `${canary} ${number}` }));
    for (const [number, row] of notes.entries()) {
        if (number === 4) {
            await client.query("ALTER TABLE visit ADD COLUMN room integer");
        } else if (number === 7) {
            await client.query("ALTER TABLE visit DROP COLUMN room");
        }
        await client.query({ ...add, values: [number, row.note] });
        assert.deepEqual((await client.query({ ...find, values: [number] })).rows, [row]);
    }
    await client.query("BEGIN");
    await client.query("DECLARE notes CURSOR FOR SELECT note FROM visit WHERE person_id = 3 ORDER BY number");
    assert.deepEqual((await client.query("FETCH 4 FROM notes")).rows, notes.slice(0, 4));
    assert.deepEqual((await client.query({ text: "FETCH ALL FROM notes", values: [] })).rows, notes.slice(4));
    await client.query("COMMIT");
    assert.equal((await client.query("DELETE FROM visit WHERE person_id = 3")).rowCount, 10);
}

// The driver cancels a statement that waits for a row, and the session goes on.
async function cancelled(client) {
    const score = "SELECT score FROM person WHERE id = 1";
    const change = "UPDATE person SET score = score + 1 WHERE id = 1";
    const other = new pg.Client(config);
    await other.connect();
    await other.query("BEGIN");
    await other.query(`${score} FOR UPDATE`);
    const query = new pg.Query(change);
    let outcome = null;
    const ended = new Promise((resolve) => {
        query.on("error", (error) => resolve(error.code));
        query.on("end", () => resolve("changed"));
    });
    ended.then((said) => { outcome = said; });
    client.query(query);
    const waiting = "SELECT count(*)::integer AS count FROM pg_locks WHERE NOT granted";
    while ((await other.query(waiting)).rows[0].count === 0) {
        assert.equal(outcome, null);
    }
    const canceller = new pg.Client(config);
    canceller.connection.on("error", () => {});
    canceller.cancel(client, query);
    assert.equal(await ended, "57014");
    await other.query("ROLLBACK");
    await other.end();
    assert.deepEqual((await client.query(score)).rows, [{ score: "9007199254740993" }]);
    await client.query("BEGIN");
    await client.query(change);
    assert.deepEqual((await client.query(score)).rows, [{ score: "9007199254740994" }]);
    await client.query("ROLLBACK");
}

async function noticed(client) {
    const told = [];
    client.on("notice", (notice) => told.push([notice.severity, notice.code, notice.message]));
    await client.query("DO $$ BEGIN RAISE NOTICE 'told %', 7; END $$");
    await client.query("CREATE TABLE IF NOT EXISTS visit (person_id integer, number integer, note text)");
    const { rows } = await client.query("SELECT name FROM person WHERE id = $1", [1]);
    assert.deepEqual(rows, [{ name: `${canary} ann` }]);
    assert.deepEqual(told, [["NOTICE", "00000", "told 7"],
        ["NOTICE", "42P07", 'relation "visit" already exists, skipping']]);
}

const [command, ...options] = process.argv.slice(2);
if (command === "login") {
    await login(...options);
} else {
    const client = new pg.Client(config);
    await client.connect();
    await { write, read, more }[command](client);
    await client.end();
}
