// Does pieces of work on a database. What opens one is a driver, `drivers/NAME.mjs`:
//
//   export async function open(options)  gives a database:
//     statements(texts)  runs them in order; gives the rows of each, as lists of values
//     script(text)       runs a text of statements; gives all rows
//     settings()         gives pairs of name and value
//     close()
//
// Each may give a promise instead. Values are null, number, string, Uint8Array and, for integers
// that a number cannot hold, bigint. `statements` and `script` throw a `Failure`.

// A statement that failed, or that the engine cannot do by what it is.
export class Failure extends Error {
  // `number`: the statement's place, from 1. `notPossible`: by what the engine is; `ends`: nothing
  // more can be done with the database.
  constructor(message, { number = 1, notPossible = false, ends = false } = {}) {
    super(message);
    Object.assign(this, { number, notPossible, ends });
  }
}

export class Host {
  // Gives `{done: …}` or `{error: …}`, never throws.
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

  // Takes what is to be run, so that its way here is over when the clock starts.
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

  // The rows of what was run last.
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

// A value as JSON keeps it: a real is told from an integer.
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
