// Copies the package's files beside the page.

import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const dist = fileURLToPath(new URL('.', import.meta.resolve('@strongroom/sqlite')));

for (const [from, to] of [
  [at('index.html'), 'index.html'],
  [at('../connection.js'), 'connection.js'],
  [at('../page.js'), 'page.js'],
  [dist, 'sqlite'],
]) cpSync(from, at(`../built/plain/${to}`), { recursive: true });
