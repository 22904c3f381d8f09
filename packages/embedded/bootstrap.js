/*
 * Runs `npm start`, `npm test` and the programs of `npm run`, even in a fresh clone. Installs missing packages and builds first.
 * Uses only Node.js, because packages may not be installed yet.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { build, bundleDashboard, fail, readIfExists, ROOT, run } from './build.js';
import { findOtherCommand } from './find-other-command.js';
import { runTests } from './jest/run-tests.js';

const PNPM = 'pnpm@12.21.0';
/** Built programs. `prints` programs print data on stdout. `pages` programs need the dashboard. */
const PROGRAMS = {
  start: { file: './dist/start/main.js', needs: 'pages' },
  demo: { file: './dist/demo/main.js', needs: 'pages' },
  tocsin: { file: '../cli/dist/main.js', needs: 'prints' },
  'pack:cli': { file: '../distribution/dist/cli-package/main.js', needs: 'prints' },
  bench: { file: '../bench/dist/main.js', needs: null },
  'test:campaigns': { file: '../lab/dist/campaigns/main.js', needs: 'pages' },
  'bench:dashboard': { file: '../browser/dist/measure/main.js', needs: 'pages' },
  screenshots: { file: '../browser/dist/screenshots/main.js', needs: 'pages' },
};
/** Tests build only what they need. */
const TESTS = { test: 'fast', 'test:all': 'all' };

const [command, ...args] = process.argv.slice(2);
const program = PROGRAMS[command];
const tier = TESTS[command];
if (program === undefined && tier === undefined)
  fail(
    `Usage: node packages/embedded/bootstrap.js ${[...Object.keys(TESTS), ...Object.keys(PROGRAMS)].join('|')}`,
  );
checkNode();
install();
checkCommand();
if (tier !== undefined) {
  await runTests(args, tier);
} else {
  build(say);
  if (program.needs === 'pages') bundleDashboard(say);
  const { main } = await import(program.file);
  await main(args);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Tocsin requires Node.js 20.19 or later. This is ${process.versions.node}. See https://nodejs.org`);
}

/** Does nothing if lockfile and platform have not changed since the last installation. */
function install() {
  const stampFile = `${ROOT}node_modules/.tocsin-install`;
  const stamp = createHash('sha256')
    .update(readFileSync(`${ROOT}pnpm-lock.yaml`))
    .update(`${process.platform} ${process.arch} ${process.versions.modules}`)
    .digest('hex');
  if (readIfExists(stampFile) === stamp) return;
  say('Installing packages …');
  // On Windows, npx.cmd needs a shell. No argument needs quoting.
  run('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], 'Could not install the packages', {
    shell: process.platform === 'win32',
  });
  mkdirSync(`${ROOT}node_modules`, { recursive: true });
  writeFileSync(stampFile, stamp);
}

/** Prevents npx from running another package's command. */
function checkCommand() {
  const other = findOtherCommand(ROOT);
  if (other === undefined) return;
  fail(
    `${other} is not the tocsin command of this repository. ` +
      'Remove the package that installed it (`npx ' +
      PNPM +
      ' remove -w tocsin`), delete node_modules and try again.',
  );
}

function say(line) {
  (program?.needs === 'prints' ? process.stderr : process.stdout).write(`${line}\n`);
}
