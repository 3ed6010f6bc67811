// webpack without any setting for the package.

import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import webpack from 'webpack';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

webpack({
  mode: 'production',
  entry: at('../bundled.js'),
  output: { path: at('../built/webpack') },
  performance: { hints: false },
}, (error, stats) => {
  if (error || stats.hasErrors() || stats.hasWarnings()) {
    console.error(error ?? stats.toString('errors-warnings'));
    process.exitCode = 1;
    return;
  }
  cpSync(at('index.html'), at('../built/webpack/index.html'));
});
