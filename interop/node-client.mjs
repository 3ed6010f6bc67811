// The part that all Node clients share. README.md says what a client must do.
import { readFileSync } from 'node:fs';
import process from 'node:process';

function fromText(type, value) {
    switch (type) {
    case 'null': return null;
    case 'integer': return BigInt(value);
    case 'real': return Number(value);
    case 'text': return value;
    case 'blob': return Buffer.from(value, 'hex');
    }
}

function asText(value) {
    if (value === null) return 'null';
    switch (typeof value) {
    case 'bigint': return `integer ${value}`;
    case 'number': return `real ${value}`;
    case 'string': return `text ${value}`;
    default: return `blob ${Buffer.from(value).toString('hex')}`;
    }
}

function write(database, prepare) {
    database.exec(readFileSync(process.env.STRONGROOM_SCHEMA, 'utf8'));
    database.exec('BEGIN');
    const insert = prepare(database, 'INSERT INTO rows VALUES(?, ?)');
    for (const line of readFileSync(0, 'utf8').trimEnd().split('\n')) {
        const [, number, type, value] = /^(\d+) (\w+) ?(.*)$/u.exec(line);
        insert.run(BigInt(number), fromText(type, value));
    }
    database.exec('COMMIT');
}

function read(database, prepare) {
    for (const row of prepare(database, 'SELECT id, value FROM rows ORDER BY id').all()) {
        console.log(`${row.id} ${asText(row.value)}`);
    }
}

function writeAheadLog(open, prepare) {
    const count = (database) => prepare(database, 'SELECT count(*) AS n FROM log').get().n;
    const one = open();
    const seen = [prepare(one, 'PRAGMA journal_mode=WAL').get().journal_mode];
    one.exec('CREATE TABLE log(n); INSERT INTO log VALUES(1)');
    const two = open();
    seen.push(count(two));
    one.exec('BEGIN; INSERT INTO log VALUES(2)');
    seen.push(count(two));
    one.exec('COMMIT');
    seen.push(count(two));
    two.exec('INSERT INTO log VALUES(3)');
    seen.push(count(one));
    two.close();
    one.close();
    console.log(seen.join(' '));
}

// `open(file, keyFile)` returns a database, `prepare(database, sql)` a statement that returns
// integers as BigInt, since a JavaScript number has only 53 bits.
export function main(open, prepare) {
    const [operation, file, keyFile] = process.argv.slice(2);
    try {
        if (operation === 'wal') return writeAheadLog(() => open(file, keyFile), prepare);
        const database = open(file, keyFile);
        ({ write, read })[operation](database, prepare);
        database.close();
    } catch (error) {
        console.error(error.message);
        process.exitCode = 1;
    }
}
