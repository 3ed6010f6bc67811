// The path of the extension, and the message if it does not load.
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { StrongroomError } from './errors.js';

const FILES: Readonly<Record<string, string>> = {
  linux: 'libstrongroom.so',
  darwin: 'libstrongroom.dylib',
  win32: 'strongroom.dll',
};

/** The path of the extension, for libraries that load extensions themselves. */
export function extensionPath(): string {
  const machine = `${process.platform}-${process.arch}`;
  const file = FILES[process.platform];
  if (file !== undefined) {
    const path = fileURLToPath(new URL(`./${machine}/${file}`, import.meta.url));
    if (existsSync(path)) return path;
  }
  throw new StrongroomError(
    'not-supported',
    `this package has no extension for ${machine}: install one that was made for that machine`,
  );
}

/** Has a connection load the extension. It then serves every connection of the same SQLite. */
export function load(connection: { loadExtension(path: string): unknown }): void {
  const path = extensionPath();
  try {
    connection.loadExtension(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StrongroomError(
      'not-supported',
      `SQLite does not load the extension ${path}: ${reason}${hint()}`,
      { cause: error },
    );
  }
}

function hint(): string {
  if (process.platform !== 'linux') return '';
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  const version = report.header?.glibcVersionRuntime;
  return version === undefined
    ? '. This Node was built for another C library than glibc, and the extension needs glibc'
    : ` (this machine has glibc ${version})`;
}
