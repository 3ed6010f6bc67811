// Notes in an encrypted database in the browser, offline. Serve this folder with the package's
// folder `dist` as `sqlite`.

import { importFile, open, remove } from './sqlite/index.js';

const NAME = 'notes.db';
const at = (id) => document.getElementById(id);
const say = (text) => { at('said').textContent = text; };

let db;

async function show() {
  const notes = await db.query('SELECT id, text FROM note ORDER BY id DESC');
  at('list').replaceChildren(...notes.map(({ id, text }) => {
    const item = document.createElement('li');
    const words = document.createElement('span');
    words.textContent = text;
    const remove = document.createElement('button');
    remove.textContent = 'Delete';
    remove.onclick = () => acting(async () => {
      await db.sql`DELETE FROM note WHERE id = ${id}`;
      await show();
    });
    item.append(words, remove);
    return item;
  }));
}

function opened(is) {
  at('list').replaceChildren();
  at('notes').hidden = !is;
  at('unlock').hidden = is;
  at('closed').hidden = is;
}

/** Does something, and says what went wrong. */
async function acting(body) {
  say('');
  try {
    await body();
  } catch (error) {
    const wrong = error.code === 'wrong-key';
    say(wrong ? 'That is not the passphrase of these notes.' : error.message);
  }
}

at('unlock').onsubmit = (event) => {
  event.preventDefault();
  acting(async () => {
    const passphrase = new TextEncoder().encode(at('passphrase').value);
    at('passphrase').value = '';
    db = await open(NAME, { passphrase });
    await db.exec('CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)');
    // Some browsers ask the user, who may take a while.
    navigator.storage.persist();
    opened(true);
    await show();
  });
};

at('add').onsubmit = (event) => {
  event.preventDefault();
  acting(async () => {
    await db.sql`INSERT INTO note (text) VALUES (${at('text').value})`;
    at('text').value = '';
    await show();
  });
};

at('export').onclick = () => acting(async () => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([await db.export()]));
  link.download = NAME;
  link.click();
  URL.revokeObjectURL(link.href);
});

at('close').onclick = () => acting(async () => {
  await db.close();
  opened(false);
});

at('remove').onclick = () => acting(async () => {
  const isMeant = at('remove').textContent.startsWith('Really');
  at('remove').textContent = isMeant ? 'Delete all' : 'Really delete all?';
  if (!isMeant) return;
  await db.close();
  await remove(NAME);
  opened(false);
  say('The notes are deleted.');
});

at('import').onchange = () => acting(async () => {
  const [file] = at('import').files;
  await importFile(NAME, file);
  say(`${file.name} is here now: open it with its passphrase.`);
});

navigator.serviceWorker?.register('offline.js');
