// openBetterSqlite3() reopens its databases with the same key, and reports those that it cannot
// open.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { StrongroomError, extensionPath, open, openBetterSqlite3 } from '@strongroom/node';
import Database from 'better-sqlite3';

import { CANARY, KEY, content, fill, folder, isReadable, keyFile, passphraseFile } from './support.js';

const refused = (code, words) => (error) => {
  assert(error instanceof StrongroomError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  return true;
};

const opened = (...values) => openBetterSqlite3(Database, ...values);

test('both kinds of files open what they made and nothing else', (t) => {
  const at = folder(t);
  const kinds = [
    { keyFile: keyFile(at('my key&file?.key')) },
    { passphraseFile: passphraseFile(at('passphrase')) },
  ];
  for (const made of kinds) {
    const path = at(`${Object.keys(made)[0]}.db`);
    fill(opened(path, made));
    assert(!isReadable(path));
    for (const other of kinds) {
      if (other === made) assert.equal(content(opened(path, other)), CANARY);
      else assert.throws(() => opened(path, other), refused('wrong-key', /^wrong key/u));
    }
  }
});

test('what a program said of keys is as it was, and has no say here', (t) => {
  const at = folder(t);
  const said = {
    STRONGROOM_KEY_FILE: at('none'),
    STRONGROOM_KEY_COMMAND: 'exit 1',
    STRONGROOM_PASSPHRASE_FILE: at('none'),
  };
  Object.assign(process.env, said);
  t.after(() => Object.keys(said).forEach((name) => delete process.env[name]));
  for (const key of [
    { keyFile: keyFile(at('key')) },
    { passphraseFile: passphraseFile(at('passphrase')) },
  ]) {
    const path = at(`${Object.keys(key)[0]}.db`);
    fill(opened(path, key));
    assert.equal(content(opened(path, key)), CANARY);
  }
  for (const [name, value] of Object.entries(said)) assert.equal(process.env[name], value);
  assert.equal(process.env.STRONGROOM_DEFAULT, undefined);
});

test('other keys and other files are refused', (t) => {
  const at = folder(t);
  assert.throws(() => opened(at('x.db'), { key: KEY }), refused('misuse', /keyFile or/u));
  const key = { keyFile: keyFile(at('key')) };
  assert.throws(() => opened(at('x.db'), key, { cipher: 'rot13' }), refused('misuse', /cipher/u));
  assert(!existsSync(at('x.db')));
  fill(new DatabaseSync(at('plain.db')));
  assert.throws(() => opened(at('plain.db'), key), refused('unusable', /plain SQLite database/u));
  assert.throws(
    () => opened(at('y.db'), { keyFile: at('no-such.key') }),
    refused('unusable', /no-such\.key/u),
  );
});

test('read-only, ciphers, and the options of better-sqlite3', (t) => {
  const at = folder(t);
  const key = { keyFile: keyFile(at('key')) };
  const lines = [];
  const verbose = (line) => lines.push(line);
  fill(opened(at('x.db'), key, { cipher: 'xchacha20-poly1305', verbose }));
  assert(lines.includes('CREATE TABLE t(a)'));
  const database = opened(at('x.db'), key, { readOnly: true, cipher: 'aegis-256' });
  assert(database instanceof Database);
  assert.equal(database.pragma('strongroom_cipher', { simple: true }), 'xchacha20-poly1305');
  assert.throws(() => database.exec('DELETE FROM t'), /readonly/u);
  database.close();
  assert.throws(() => opened(at('missing.db'), key, { create: false }), /unable to open/u);
  writeFileSync(at('empty.db'), '');
  assert.throws(() => opened(at('empty.db'), key, { create: false }), refused('unusable', /empty/u));
});

test('plain databases of the same process are as they were, and none begins unasked', (t) => {
  const at = folder(t);
  fill(opened(at('x.db'), { keyFile: keyFile(at('key')) }));
  fill(new DatabaseSync(at('plain.db')));
  const plain = new Database(at('plain.db'));
  plain.exec('CREATE TABLE u(a)');
  assert.equal(content(plain), CANARY);
  assert(isReadable(at('plain.db')));
  assert.throws(() => fill(new Database(at('new.db'))), /authorization denied/u);
  fill(new Database(':memory:'));
});

test('a second SQLite in the process is refused, and takes a copy of the file', (t) => {
  const at = folder(t);
  fill(opened(at('x.db'), { keyFile: keyFile(at('key')) }));
  assert.throws(() => open(at('y.db'), { key: KEY }), refused('not-supported', /another SQLite/u));

  copyFileSync(extensionPath(), at(basename(extensionPath())));
  const loader = new DatabaseSync(':memory:', { allowExtension: true });
  loader.loadExtension(at(basename(extensionPath())));
  loader.close();
  const url = pathToFileURL(at('y.db'));
  url.search = `vfs=strongroom&key_file=${encodeURIComponent(at('key'))}`;
  fill(new DatabaseSync(url));
  assert(!isReadable(at('y.db')));
  assert.equal(content(opened(at('y.db'), { keyFile: at('key') })), CANARY);
});
