// open() reopens its databases with the same key, and reports those that it cannot open.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

import { StrongroomError, extensionPath, open } from '@strongroom/node';

import {
  CANARY, KEY, PASSPHRASE, content, fill, folder, isReadable, keyFile, passphraseFile,
} from './support.js';

const refused = (code, words) => (error) => {
  assert(error instanceof StrongroomError, inspect(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  return true;
};

test('every kind of key opens what it made and nothing else', (t) => {
  const at = folder(t);
  const kinds = [
    { keyFile: keyFile(at('my key&file?.key')) },
    { passphraseFile: passphraseFile(at('passphrase')) },
    { key: KEY },
    { passphrase: PASSPHRASE },
  ];
  for (const made of kinds) {
    const path = at(`${Object.keys(made)[0]} 100%.db`);
    fill(open(path, made));
    assert(!isReadable(path));
    for (const opened of kinds) {
      if (opened === made) assert.equal(content(open(path, opened)), CANARY);
      else assert.throws(() => open(path, opened), refused('wrong-key', /^wrong key/u));
    }
  }
});

test('one key has many forms, and paths may be URLs', (t) => {
  const at = folder(t);
  fill(open(pathToFileURL(at('x.db')), { key: KEY }));
  const digits = Buffer.from(KEY).toString('hex');
  for (const key of [KEY, Buffer.from(KEY), digits, digits.toUpperCase()]) {
    assert.equal(content(open(at('x.db'), { key })), CANARY);
  }
  const file = pathToFileURL(keyFile(at('a key')));
  fill(open(at('y.db'), { keyFile: file }));
  assert.equal(content(open(at('y.db'), { keyFile: file })), CANARY);
});

test('a passphrase is the same wherever it comes from', (t) => {
  const at = folder(t);
  for (const [index, passphrase] of [PASSPHRASE, 'ends\r', 'ends\n', 'ends\r\n'].entries()) {
    fill(open(at(`${index}.db`), { passphrase }));
    // A trailing newline in the file is ignored.
    writeFileSync(at('file'), `${passphrase}\r\n`, { mode: 0o600 });
    assert.equal(content(open(at(`${index}.db`), { passphraseFile: at('file') })), CANARY);
  }
});

test('what is no key is refused without repeating it', (t) => {
  const path = folder(t)('x.db');
  for (const key of [
    undefined, {}, 'classified', { key: KEY, passphrase: 'classified' }, { passphrase: '' },
    { passphrase: 'classified'.repeat(410) }, { passphrase: 'classified \ud800' },
    { passphrase: 'classified\0' }, { passphrase: 5 }, { key: KEY.subarray(1) },
    { key: 'classified'.repeat(7) }, { keyFile: '' }, { keyFile: 5 },
  ]) {
    assert.throws(() => open(path, key), (error) => {
      assert.equal(error.code, 'misuse');
      assert(!inspect(error).includes('classified'));
      return true;
    });
  }
  assert.throws(() => open(path, { key: KEY }, { cipher: 'rot13' }), refused('misuse', /cipher/u));
  for (const wrong of ['', 'a\0b', 5]) {
    assert.throws(() => open(wrong, { key: KEY }), refused('misuse', /a path/u));
  }
  assert(!existsSync(path));
});

test('no variable keeps a secret', (t) => {
  const at = folder(t);
  const before = { ...process.env };
  fill(open(at('x.db'), { key: KEY }));
  assert.throws(() => open(at('x.db'), { passphrase: PASSPHRASE }), refused('wrong-key', /wrong/u));
  assert.deepEqual({ ...process.env }, before);
});

test('a key file that cannot be read is named', (t) => {
  const at = folder(t);
  const key = { keyFile: at('no-such.key') };
  assert.throws(() => open(at('x.db'), key), refused('unusable', /no-such\.key/u));
  fill(open(at('y.db'), { key: KEY }));
  assert.throws(() => open(at('y.db'), key), refused('unusable', /no-such\.key/u));
});

test('SQL changes no keys unless it may', (t) => {
  const path = folder(t)('x.db');
  fill(open(path, { key: KEY }));
  process.env.STRONGROOM_KEYS_IN_SQL = 'on';
  t.after(() => delete process.env.STRONGROOM_KEYS_IN_SQL);
  const database = open(path, { key: KEY });
  assert.throws(() => database.exec("PRAGMA rekey='new'"), /keys_in_sql=on/u);
  database.close();
  const leave = open(path, { key: KEY }, { keysInSql: true });
  leave.exec("PRAGMA rekey='new'");
  leave.close();
  assert.equal(content(open(path, { passphrase: 'new' })), CANARY);
});

test('what is no encrypted database is not a wrong key', (t) => {
  const at = folder(t);
  fill(new DatabaseSync(at('plain.db')));
  writeFileSync(at('foreign.db'), 'x'.repeat(8192));
  const opens = (name) => () => open(at(name), { key: KEY });
  assert.throws(opens('plain.db'), refused('unusable', /plain SQLite database/u));
  assert.throws(opens('foreign.db'), refused('unusable', /not a Strongroom file/u));
});

test('nothing is begun anew where that is not wanted', (t) => {
  const at = folder(t);
  assert.throws(() => open(at('missing.db'), { key: KEY }, { create: false }), /unable to open/u);
  assert(!existsSync(at('missing.db')));
  writeFileSync(at('empty.db'), '');
  const opens = () => open(at('empty.db'), { key: KEY }, { create: false });
  assert.throws(opens, refused('unusable', /empty/u));
});

test('read-only, ciphers and the options of DatabaseSync', (t) => {
  const path = folder(t)('x.db');
  fill(open(path, { key: KEY }, { cipher: 'aes-256-gcm' }));
  const database = open(path, { key: KEY }, { readOnly: true, readBigInts: true });
  assert(database instanceof DatabaseSync);
  const answer = database.prepare('PRAGMA strongroom_cipher').get();
  assert.deepEqual(Object.values(answer), ['aes-256-gcm']);
  assert.throws(() => database.exec('DELETE FROM t'), /readonly/u);
  database.close();
});

test('the extension is a file', () => {
  assert(existsSync(extensionPath()));
});

test('a worker opens by a key file, and is told why by nothing else', async (t) => {
  const at = folder(t);
  const file = keyFile(at('key'));
  fill(open(at('x.db'), { keyFile: file }));
  const script = `
    import { parentPort, workerData } from 'node:worker_threads';
    import { open } from '@strongroom/node';
    const { path, key } = workerData;
    try {
      const database = open(path, key);
      parentPort.postMessage(database.prepare('SELECT a FROM t').get().a);
      database.close();
    } catch (error) {
      parentPort.postMessage(error.message);
    }`;
  writeFileSync(new URL('./worker.generated.mjs', import.meta.url), script);
  const said = (key) => new Promise((resolve, reject) => {
    const workerData = { path: at('x.db'), key };
    const worker = new Worker(new URL('./worker.generated.mjs', import.meta.url), { workerData });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  assert.equal(await said({ keyFile: file }), CANARY);
  assert.match(await said({ key: KEY }), /worker thread/u);
});

test('require() gives the same functions', async () => {
  const { createRequire } = await import('node:module');
  assert.equal(createRequire(import.meta.url)('@strongroom/node').open, open);
});
