// Runs the lab's requests on a database. A driver, `drivers/NAME.mjs`, opens it:
//
//   export async function open(options)  returns a database:
//     statements(texts)  runs them in order; returns the rows of each, as lists of values
//     script(text)       runs a text of statements; returns all rows
//     settings()         returns pairs of name and value
//     close()
//
// Each may return a promise instead. Values are null, number, string, Uint8Array and, for integers
// that a number cannot hold, bigint. `statements` and `script` throw a `Failure`.

// A statement that failed, or that the engine cannot do by design.
export class Failure extends Error {
  // `number`: the statement's number, from 1. `notPossible`: by the engine's design; `ends`: the
  // database cannot be used any further.
  constructor(message, { number = 1, notPossible = false, ends = false } = {}) {
    super(message);
    Object.assign(this, { number, notPossible, ends });
  }
}

export class Host {
  // Returns `{done: …}` or `{error: …}`, never throws.
  async do(work) {
    try {
      return { done: (await this[`do_${work.do}`](work)) ?? null };
    } catch (error) {
      const { number, notPossible, ends } = error;
      return { error: { message: said(error), number, notPossible, ends } };
    }
  }

  async do_open({ driver, options }) {
    const { open } = await import(`./drivers/${driver}.mjs`);
    this.database = await open(options);
  }

  // Stores what will be run, so that its transfer is over when the clock starts.
  do_take({ statements, script }) {
    this.taken = { statements, script };
  }

  async do_run() {
    const { statements, script } = this.taken;
    const began = performance.now();
    this.rows = statements
      ? await this.database.statements(statements)
      : [await this.database.script(script)];
    return { ns: Math.round((performance.now() - began) * 1e6) };
  }

  // The rows of the last run.
  do_rows() {
    const rows = this.rows;
    this.rows = undefined;
    return rows.map((ofStatement) => ofStatement.map((row) => row.map(written)));
  }

  async do_settings() {
    const own = [
      ['browser', navigator.userAgent],
      ['cross_origin_isolated', String(globalThis.crossOriginIsolated)],
      ['thread', globalThis.document ? 'page' : 'worker'],
    ];
    return [...(await this.database.settings()), ...own];
  }

  async do_close() {
    await this.database.close();
    this.database = undefined;
  }
}

function said(error) {
  if (error instanceof Failure) return error.message;
  return error?.stack?.includes(error.message) ? error.stack : String(error?.message ?? error);
}

// A value in JSON, which keeps reals and integers apart.
function written(value) {
  switch (typeof value) {
    case 'bigint':
      return { i: value.toString() };
    case 'number':
      return Number.isFinite(value) ? value : { r: String(value) };
    case 'object': {
      if (value === null) return null;
      if (!(value instanceof Uint8Array)) return { r: String(value.real) };
      return { b: Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join('') };
    }
    default:
      return value;
  }
}
