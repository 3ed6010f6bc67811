// Runs statements with the functions of an SQLite compiled to WebAssembly. They are called by their
// own names, so any build works that exports them and provides memory.

import { Failure } from './host.mjs';

const ROW = 100;
const DONE = 101;
const [INTEGER, REAL, TEXT, BLOB] = [1, 2, 3, 4];
// For each database, whatever its build's defaults are.
const PRAGMAS = ['page_size = 4096', 'cache_size = -2000', 'synchronous = FULL'];
const EVERY_SETTING = ['journal_mode', 'synchronous', 'cache_size', 'page_size', 'locking_mode'];

export class Connection {
  // `exports`: SQLite's functions; `memory()`: its bytes; `alloc(n)` and `free(at)`. `judge()` may
  // classify an error as no failure, by returning properties of a `Failure` with its message.
  constructor({ exports, memory, alloc, free }, database, judge = () => undefined) {
    Object.assign(this, { exports, memory, alloc, free, database, judge });
    this.encoder = new TextEncoder();
    this.decoder = new TextDecoder();
    // Out-pointers for a statement, and for the end of its text.
    this.out = alloc(8);
  }

  // Runs the pragmas that open the database and those that all databases get; afterwards it is
  // really open.
  begin(pragmas = []) {
    for (const [index, pragma] of [...pragmas, ...PRAGMAS].entries()) {
      try {
        this.statements([`PRAGMA ${pragma}`]);
      } catch (error) {
        // The text may contain a key, so no message shows it.
        throw new Failure(`pragma ${index + 1} of those that open the database failed (${error.message})`);
      }
    }
    this.value('SELECT count(*) FROM sqlite_schema');
  }

  statements(texts) {
    return texts.map((text, index) => {
      const rows = [];
      this.withText(text, (at, end) => {
        // The rest of the text is at most an empty statement.
        this.step(at, end, rows, index + 1);
      });
      return rows;
    });
  }

  // The whole text is in memory, and each statement is prepared where the one before ended.
  script(text) {
    const rows = [];
    this.withText(text, (at, end) => {
      for (let number = 1; at < end; number += 1) at = this.step(at, end, rows, number);
    });
    return rows;
  }

  // The first value of a query.
  value(query) {
    return this.statements([query])[0][0]?.[0];
  }

  settings() {
    const values = EVERY_SETTING.map((name) => [name, this.value(`PRAGMA ${name}`)]);
    return [['sqlite', this.value('SELECT sqlite_version()')], ...values]
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]);
  }

  // Calls `use` with the bounds of the text in memory; a zero byte follows it.
  withText(text, use) {
    const bytes = this.encoder.encode(text);
    const at = this.alloc(bytes.length + 1);
    if (!at) throw new Failure('the page has no memory left');
    try {
      const memory = this.memory();
      memory.set(bytes, at);
      memory[at + bytes.length] = 0;
      use(at, at + bytes.length);
    } finally {
      this.free(at);
    }
  }

  // Prepares the statement at an address, steps it to its end and keeps its rows. Returns the
  // address where its text ends. The length passed to SQLite is -1: with any other, it copies the
  // rest of the text for each statement.
  step(at, end, rows, number) {
    const { exports, out } = this;
    const prepared = exports.sqlite3_prepare_v3(this.database, at, -1, 0, out, out + 4);
    if (prepared) this.fail(prepared, number);
    const view = this.view();
    const statement = view.getUint32(out, true);
    const next = view.getUint32(out + 4, true);
    if (!statement) return next || end;
    const columns = exports.sqlite3_column_count(statement);
    let code;
    while ((code = exports.sqlite3_step(statement)) === ROW) {
      const row = new Array(columns);
      for (let column = 0; column < columns; column += 1) row[column] = this.column(statement, column);
      rows.push(row);
    }
    if (code !== DONE) {
      const failure = this.failure(code, number);
      exports.sqlite3_finalize(statement);
      throw failure;
    }
    exports.sqlite3_finalize(statement);
    return next;
  }

  column(statement, column) {
    const { exports } = this;
    switch (exports.sqlite3_column_type(statement, column)) {
      case INTEGER: {
        const value = exports.sqlite3_column_int64(statement, column);
        const number = Number(value);
        return Number.isSafeInteger(number) ? number : value;
      }
      case REAL:
        return { real: exports.sqlite3_column_double(statement, column) };
      case TEXT: {
        const at = exports.sqlite3_column_text(statement, column);
        return this.decoder.decode(this.bytes(at, exports.sqlite3_column_bytes(statement, column)));
      }
      case BLOB: {
        const at = exports.sqlite3_column_blob(statement, column);
        return this.bytes(at, exports.sqlite3_column_bytes(statement, column)).slice();
      }
      default:
        return null;
    }
  }

  // Shared memory cannot be decoded in place.
  bytes(at, length) {
    const memory = this.memory();
    const shared = globalThis.SharedArrayBuffer && memory.buffer instanceof SharedArrayBuffer;
    return shared ? memory.slice(at, at + length) : memory.subarray(at, at + length);
  }

  // After memory has grown it is another buffer.
  view() {
    const { buffer } = this.memory();
    if (this.known?.buffer !== buffer) this.known = new DataView(buffer);
    return this.known;
  }

  fail(code, number) {
    throw this.failure(code, number);
  }

  failure(code, number) {
    const extended = this.exports.sqlite3_extended_errcode?.(this.database) ?? code;
    const at = this.exports.sqlite3_errmsg(this.database);
    const memory = this.memory();
    const text = this.decoder.decode(this.bytes(at, memory.indexOf(0, at) - at));
    const { message, ...properties } = this.judge() ?? { message: `${text} (${extended})` };
    return new Failure(message, { number, ...properties });
  }
}
