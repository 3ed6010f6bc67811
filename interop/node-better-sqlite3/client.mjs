// A client with better-sqlite3. ../README.md says what it must do.
import process from 'node:process';
import Database from 'better-sqlite3';
import { main } from './node-client.mjs';

// better-sqlite3 accepts no URI, so Strongroom becomes the default VFS, for every database opened
// after this. The common key is set here too, or follows by `PRAGMA key`.
function loadExtension(keyFile) {
    process.env.STRONGROOM_DEFAULT = '1';
    if (keyFile) process.env.STRONGROOM_KEY_FILE = keyFile;
    const loader = new Database(':memory:');
    loader.loadExtension(process.env.STRONGROOM_EXTENSION);
    loader.close();
}

main(
    (file, keyFile) => {
        loadExtension(keyFile);
        return new Database(file);
    },
    (database, sql) => database.prepare(sql).safeIntegers(),
);
