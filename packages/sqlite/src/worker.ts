// The worker: it has the databases open, and does what clients ask.

import { Database, type Statement } from './database.js';
import { Engine } from './engine.js';
import { StrongroomError } from './errors.js';
import {
  failureOf, type Answer, type Call, type Operation, type Operations, type Start,
} from './protocol.js';
import { Turns } from './turns.js';

/** How long a client waits for the transaction of another, in milliseconds. */
const WAIT_MS = 5_000;

/** A client and its connection. */
class Client {
  #database: Database | undefined;
  readonly #statements = new Map<number, Statement>();
  #next = 1;
  /** The client's calls, each after the one before. */
  queue: Promise<unknown> = Promise.resolve();

  constructor(readonly engine: Engine) {}

  get database(): Database {
    if (!this.#database) throw new StrongroomError('misuse', 'the database is closed');
    return this.#database;
  }

  /** Whether others must wait. */
  get isUnderWay(): boolean {
    return this.#statements.size > 0 || (this.#database?.isInTransaction() ?? false);
  }

  statement(number: number): Statement {
    const statement = this.#statements.get(number);
    if (!statement) throw new StrongroomError('misuse', 'the statement has ended');
    return statement;
  }

  end(number: number): void {
    this.#statements.get(number)?.finalize();
    this.#statements.delete(number);
  }

  readonly operations: { [O in Operation]: (...args: globalThis.Parameters<Operations[O]>) =>
    ReturnType<Operations[O]> | Promise<ReturnType<Operations[O]>> } = {
    open: async (name, options) => {
      if (this.#database) throw new StrongroomError('misuse', 'the connection is open already');
      this.#database = await Database.open(this.engine, name, options);
    },
    close: async () => {
      const database = this.#database;
      this.#database = undefined;
      this.#statements.clear();
      await database?.close();
    },
    exec: (sql) => {
      this.database.exec(sql);
    },
    query: (sql, parameters) => {
      const { database } = this;
      const statement = database.prepare(sql);
      try {
        statement.bind(parameters);
        const columns = statement.getColumnNames();
        const rows = [];
        while (statement.step()) rows.push(statement.get());
        const changes = columns.length > 0 ? 0 : database.changes();
        return { columns, rows, changes, lastInsertRowId: database.lastInsertRowId() };
      } finally {
        statement.finalize();
      }
    },
    begin: (sql, parameters) => {
      const statement = this.database.prepare(sql);
      try {
        statement.bind(parameters);
      } catch (error) {
        statement.finalize();
        throw error;
      }
      const number = this.#next++;
      this.#statements.set(number, statement);
      return { statement: number, columns: statement.getColumnNames() };
    },
    fetch: (number, count) => {
      const statement = this.statement(number);
      const rows = [];
      try {
        while (rows.length < count && statement.step()) rows.push(statement.get());
      } catch (error) {
        this.end(number);
        throw error;
      }
      if (rows.length < count) this.end(number);
      return rows;
    },
    finish: (number) => {
      this.end(number);
    },
    transact: () => {
      this.database.exec('BEGIN IMMEDIATE');
    },
    export: () => this.database.export(),
    keys: () => this.database.keys(),
    addKey: (key) => this.database.addKey(key),
    removeKey: (slot, left) => this.database.removeKey(slot, left),
    rekey: (key) => this.database.rekey(key),
    rotate: () => this.database.rotate(),
  };
}

let engine: Promise<Engine> | undefined;
const clients = new Map<string, Client>();
const turns = new Turns(WAIT_MS);

async function done({ client: name, operation, arguments: args }: Call): Promise<Answer['result']> {
  if (!engine) throw new StrongroomError('misuse', 'the worker was not started');
  let client = clients.get(name);
  if (!client) {
    client = new Client(await engine);
    clients.set(name, client);
  }
  const one = client;
  const before = one.queue;
  const result = (async () => {
    await before.catch(() => undefined);
    await turns.take(name);
    try {
      const operate = one.operations[operation] as (...args: unknown[]) => Answer['result'];
      return await operate(...args);
    } finally {
      if (operation === 'close') clients.delete(name);
      if (!one.isUnderWay) turns.give(name);
    }
  })();
  one.queue = result;
  return result;
}

onmessage = ({ data }: MessageEvent<Start | Call>) => {
  if ('module' in data) {
    engine = Engine.load(data.module);
    // Whoever calls is told.
    engine.catch(() => undefined);
    return;
  }
  const { client, id } = data;
  done(data)
    .then((result): Answer => ({ client, id, result }))
    .catch((error: unknown): Answer => ({ client, id, error: failureOf(error) }))
    .then((answer) => postMessage(answer));
};
