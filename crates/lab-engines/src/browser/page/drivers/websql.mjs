// WebSQL: the SQLite that was part of the browser itself, until Chromium 119.
//
// It runs a statement only within a transaction that it opens itself, refuses some statements, and
// returns rows as objects. The lab splits a script into statements, because the interface takes one
// at a time.

import { Failure } from '../host.mjs';

const SIZE_MAX = 512 * 1024 * 1024;
const CACHE_PAGES = -2000;
// Statements that WebSQL does not allow, that cannot run in a transaction, or that the browser's
// SQLite was compiled without.
const REFUSED = /not authorized|from within a transaction|near "ANALYZE"/i;
const BEGIN = /^\s*begin\b/i;
const COMMIT = /^\s*(commit|end)\b/i;

export async function open() {
  if (!globalThis.openDatabase) throw new Failure('this browser has no WebSQL');
  const database = globalThis.openDatabase('speed', '', 'speed', SIZE_MAX);
  const statements = (texts) => runAll(database, texts);
  await attempt(() => statements([`PRAGMA cache_size = ${CACHE_PAGES}`]));
  return {
    statements,
    settings: () => settings(statements),
    // Such a database is closed only when its page ends.
    close: () => {},
  };
}

async function attempt(run) {
  try {
    return await run();
  } catch {
    return undefined;
  }
}

async function settings(statements) {
  const found = [];
  const queries = [
    ['sqlite', 'SELECT sqlite_version() AS value'],
    ...['journal_mode', 'synchronous', 'cache_size', 'page_size'].map((name) => [
      name,
      `PRAGMA ${name}`,
    ]),
  ];
  for (const [name, query] of queries) {
    const rows = await attempt(() => statements([query]));
    found.push([name, rows ? String(rows[0][0]?.[0]) : 'not told: refused']);
  }
  return found;
}

// Statements between BEGIN and COMMIT are one transaction, any other is one by itself.
async function runAll(database, texts) {
  const answers = texts.map(() => []);
  let at = 0;
  while (at < texts.length) {
    const first = at;
    if (BEGIN.test(texts[at])) {
      const end = texts.findIndex((text, index) => index > first && COMMIT.test(text));
      if (end < 0) throw new Failure('a transaction without an end', { number: at + 1 });
      await transaction(database, texts, first + 1, end, answers);
      at = end + 1;
    } else {
      await transaction(database, texts, first, first + 1, answers);
      at = first + 1;
    }
  }
  return answers;
}

function transaction(database, texts, from, to, answers) {
  return new Promise((done, fail) => {
    let failure;
    const work = (tx) => {
      for (let at = from; at < to; at += 1) {
        tx.executeSql(
          texts[at].replace(/[;\s]+$/, ''),
          [],
          (_, result) => {
            answers[at] = rows(result, texts[at], at + 1, (found) => { failure ??= found; });
          },
          (_, error) => {
            const notPossible = REFUSED.test(error.message);
            const message = notPossible ? `WebSQL refuses it: ${error.message}` : error.message;
            failure ??= new Failure(message, { number: at + 1, notPossible });
            // Rolls the transaction back.
            return true;
          },
        );
      }
    };
    const ended = () => (failure ? fail(failure) : done());
    database.transaction(
      work,
      (error) => {
        failure ??= new Failure(error.message, { number: from + 1 });
        ended();
      },
      ended,
    );
  });
}

// Rows as lists. An object keeps only one of two columns with the same name, so such an answer
// cannot be compared.
function rows(result, text, number, tell) {
  const list = [];
  for (let at = 0; at < result.rows.length; at += 1) list.push(Object.values(result.rows.item(at)));
  if (list.length > 0 && list[0].length < columnsAskedFor(text)) {
    const why = 'two columns have one name, and WebSQL gives one of them';
    tell(new Failure(why, { number, notPossible: true }));
  }
  return list.map((row) => row.map((value) => {
    return typeof value === 'number' && !Number.isInteger(value) ? { real: value } : value;
  }));
}

// A lower bound, at least one, for the number of columns that a query lists before its FROM.
function columnsAskedFor(text) {
  const select = /^\s*select\s+(distinct\s+)?/i.exec(text);
  if (!select) return 1;
  let depth = 0;
  let count = 1;
  for (const [token] of text.slice(select[0].length).matchAll(/'(?:[^']|'')*'|"[^"]*"|\w+|\S/g)) {
    if (token === '(') depth += 1;
    if (token === ')') depth -= 1;
    if (depth === 0 && token === ',') count += 1;
    if (depth === 0 && /^from$/i.test(token)) break;
  }
  return count;
}
