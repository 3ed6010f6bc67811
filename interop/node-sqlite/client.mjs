// A client with node:sqlite. ../README.md says what it must do.
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { main } from './node-client.mjs';

// Once loaded on any connection, the extension stays for the whole process.
function loadExtension() {
    const loader = new DatabaseSync(':memory:', { allowExtension: true });
    loader.loadExtension(process.env.STRONGROOM_EXTENSION);
    loader.close();
}

main(
    (file, keyFile) => {
        loadExtension();
        const url = pathToFileURL(file);
        url.searchParams.set('vfs', 'strongroom');
        // SQL must not change the keys, whatever the environment says.
        url.searchParams.set('keys_in_sql', 'off');
        if (keyFile) url.searchParams.set('key_file', keyFile);
        return new DatabaseSync(url);
    },
    (database, sql) => {
        const statement = database.prepare(sql);
        statement.setReadBigInts(true);
        return statement;
    },
);
