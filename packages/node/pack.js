// Builds the package: `node pack.js EXTENSION FOLDER` compiles the sources, copies the extension
// and everything else into FOLDER, packs it there, and prints the path of the tarball.
//
// The package is for the platform that this runs on, and declares that to npm.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const top = join(here, '../..');

function run(program, words, folder) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync(program, words, { cwd: folder, encoding: 'utf8', stdio });
}

function pack(extension, folder) {
  const made = join(resolve(folder), 'package');
  rmSync(made, { recursive: true, force: true });
  const dist = join(made, 'dist');
  const native = join(dist, `${process.platform}-${process.arch}`);
  mkdirSync(native, { recursive: true });
  const compiler = join(here, 'node_modules/typescript/bin/tsc');
  run(process.execPath, [compiler, '--project', here, '--outDir', dist], here);
  copyFileSync(extension, join(native, basename(extension)));
  copyFileSync(join(here, 'README.md'), join(made, 'README.md'));
  for (const name of ['LICENSE-APACHE', 'LICENSE-MIT']) copyFileSync(join(top, name), join(made, name));
  const description = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  delete description.devDependencies;
  description.os = [process.platform];
  description.cpu = [process.arch];
  if (process.platform === 'linux') description.libc = ['glibc'];
  writeFileSync(join(made, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
  const name = run('npm', ['pack', '--silent', '--pack-destination', '..'], made).trim();
  return join(resolve(folder), name);
}

const [extension, folder] = process.argv.slice(2);
if (extension === undefined || folder === undefined) {
  console.error('usage: node pack.js EXTENSION FOLDER');
  process.exitCode = 2;
} else {
  console.log(pack(extension, folder));
}
