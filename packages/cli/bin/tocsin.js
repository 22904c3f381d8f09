#!/usr/bin/env node
/* The command `tocsin`. What it does is in `src/`, built to `dist/`. */
import { existsSync } from 'node:fs';

const program = new URL('../dist/main.js', import.meta.url);
if (existsSync(program)) {
  const { main } = await import(program.href);
  await main(process.argv.slice(2));
} else {
  process.stderr.write('tocsin is not built yet: run `npm run tocsin -- --help` once.\n');
  process.exitCode = 1;
}
