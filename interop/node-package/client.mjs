// A client with the package @strongroom/node. ../README.md says what it must do.
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { open, openBetterSqlite3 } from '@strongroom/node';
import Database from 'better-sqlite3';
import { main } from './node-client.mjs';

const nodeSqlite = {
    open: (file, keyFile) => (keyFile ? open(file, { keyFile }) : new DatabaseSync(file)),
    prepare: (database, sql) => {
        const statement = database.prepare(sql);
        statement.setReadBigInts(true);
        return statement;
    },
};

const betterSqlite3 = {
    open: (file, keyFile) =>
        keyFile ? openBetterSqlite3(Database, file, { keyFile }) : new Database(file),
    prepare: (database, sql) => database.prepare(sql).safeIntegers(),
};

const [which] = process.argv.splice(2, 1);
const client = { 'node-sqlite': nodeSqlite, 'better-sqlite3': betterSqlite3 }[which];
main(client.open, client.prepare);
