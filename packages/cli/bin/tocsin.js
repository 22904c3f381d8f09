#!/usr/bin/env node
/* Plain JavaScript without top-level await, so that unsupported Node.js versions can still run the version check. */
import { existsSync, readFileSync } from 'fs';

const program = new URL('../dist/main.js', import.meta.url);
const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [major, minor] = process.versions.node.split('.').map(Number);
const [requiredMajor, requiredMinor] = engines.node.match(/\d+/g).map(Number);

if (major < requiredMajor || (major === requiredMajor && minor < requiredMinor)) {
  const required = `${requiredMajor}.${requiredMinor}`;
  fail(`tocsin requires Node.js ${required} or later. This is ${process.versions.node}.`);
} else if (!existsSync(program)) {
  fail('tocsin is not built. Run `npm run -s tocsin -- --help` in the root of the repository.');
} else {
  void import(program.href).then(({ main }) => main(process.argv.slice(2)));
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
