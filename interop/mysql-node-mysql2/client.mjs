// Node's mysql2 with protected columns: `query` sends texts, `execute` prepared statements.

import mysql from "mysql2/promise";

const CANARY = "canary-59d2-in-plain-text";
const { STRONGROOM_HOST: host, STRONGROOM_PORT: port, STRONGROOM_USER: user, STRONGROOM_PASSWORD: password,
    STRONGROOM_DATABASE: database } = process.env;
const settings = { host, port: Number(port), user, password, database, charset: "utf8mb4", dateStrings: true,
    supportBigNumbers: true, bigNumberStrings: true };

const say = (name, value) => console.log(`${name}\t${JSON.stringify(value)}`);

async function says(name, does) {
    try {
        say(name, await does());
    } catch (error) {
        say(name, [error.errno ?? null, error.sqlState ?? null, error.message]);
    }
}

const shown = ([result, fields]) => fields === undefined
    ? [result.affectedRows, result.changedRows, result.insertId, result.info, result.warningStatus]
    : [fields.map(({ name, columnType, flags }) => [name, columnType, flags & 1]), result];

const connection = await mysql.createConnection(settings);
const PEOPLE = [
    [1, `${CANARY} ann`, "1990-02-28", "1234.50", "9007199254740993", Buffer.from("00ff6a", "hex"), 1],
    [2, `${CANARY} bøb 🙂`, "2004-02-29", "7.25", "-1", null, 0],
    [3, `${CANARY} o'hara \\`, null, null, null, Buffer.from("'"), null],
];
for (const way of ["query", "execute"]) {
    const run = async (text, values = []) => shown(await connection[way](text, values));
    const asks = (name, text, values) => says(`${way}: ${name}`, () => run(text, values));
    await connection.query("DELETE FROM visit");
    await connection.query("DELETE FROM person");
    await connection.query("ALTER TABLE visit AUTO_INCREMENT = 1").catch(() => {});
    await connection.beginTransaction();
    for (const [index, person] of PEOPLE.entries()) {
        // The driver writes bytes as texts with escapes: the proxy takes such bytes by parameters alone.
        await says(`${way}: insert ${index}`, async () => shown(await connection.execute(
            "INSERT INTO person (id, name, born, salary, score, photo, active) VALUES (?, ?, ?, ?, ?, ?, ?)",
            person)));
    }
    await connection.commit();
    await asks("all", "SELECT * FROM person ORDER BY id");
    await asks("by key", "SELECT name, salary, score FROM person WHERE id = ?", [2]);
    await asks("by text", "SELECT id FROM person WHERE name = ?", [PEOPLE[2][1]]);
    await asks("by range", "SELECT id, born FROM person WHERE born > ? ORDER BY born DESC", ["1980-01-01"]);
    await asks("sum", "SELECT SUM(salary) AS total FROM person");
    await connection.beginTransaction();
    await asks("change", "UPDATE person SET salary = ?, name = ? WHERE id = ?", ["8.75", `${CANARY} bob`, 2]);
    await connection.rollback();
    await asks("rolled back", "SELECT name, salary FROM person WHERE id = 2");
    await asks("visit", "INSERT INTO visit (number, person_id, note) VALUES (?, ?, ?)", [7, 1, `${CANARY} here`]);
    await asks("join", "SELECT p.name, v.note FROM visit v JOIN person p ON p.id = v.person_id WHERE p.id = ?", [1]);
    await asks("duplicate key", "INSERT INTO person (id, name) VALUES (?, ?)", [1, "x"]);
    await asks("no such person", "INSERT INTO visit (person_id, note) VALUES (?, ?)", [77, "x"]);
    await asks("too long", "UPDATE person SET name = ? WHERE id = 1", ["x".repeat(41)]);
    await asks("ignored", "INSERT IGNORE INTO person (id, name) VALUES (?, ?)", [1, "x"]);
    await asks("upsert", "INSERT INTO person (id, name) VALUES (?, ?) ON DUPLICATE KEY UPDATE name = VALUES(name)",
        [3, `${CANARY} ohara`]);
    await asks("increment", "UPDATE person SET score = score + 1 WHERE id = ?", [1]);
    await asks("deleted", "DELETE FROM visit WHERE person_id = ?", [1]);
}
await says("bulk", async () => shown(await connection.query("INSERT INTO person (id, name) VALUES ?",
    [Array.from({ length: 200 }, (_, index) => [100 + index, `${CANARY} ${index}`])])));
// A prepared statement while its table changes.
const prepared = await connection.prepare("SELECT name FROM person WHERE id = ?");
say("prepared", (await prepared.execute([100]))[0]);
await connection.query("CREATE TABLE other (id INT)");
await says("prepared, after a change elsewhere", async () => (await prepared.execute([101]))[0]);
await prepared.close();
await says("streamed", () => new Promise((resolve, reject) => {
    let count = 0;
    connection.connection.query("SELECT id, name FROM person WHERE id >= 100").stream()
        .on("data", () => { count += 1; }).on("error", reject).on("end", () => resolve(count));
}));
const several = await mysql.createConnection({ ...settings, multipleStatements: true });
await says("several", async () => {
    const [results] = await several.query(`INSERT INTO person (id, name) VALUES (500, '${CANARY};'); ` +
        "SELECT id, name FROM person WHERE id = 500; DELETE FROM person WHERE id = 500");
    return results.map((result) => result.affectedRows ?? result);
});
await several.end();
const pool = mysql.createPool({ ...settings, connectionLimit: 3 });
await says("pool", async () => Promise.all(Array.from({ length: 9 }, async (_, index) =>
    (await pool.execute("SELECT name FROM person WHERE id = ?", [100 + index]))[0][0].name)));
await pool.end();
await says("change of the user", async () => {
    await connection.changeUser({ user, password, database });
    return (await connection.query("SELECT name FROM person WHERE id = 1"))[0];
});
await connection.end();
