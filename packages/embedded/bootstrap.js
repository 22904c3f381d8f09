/*
 * Runs `npm start`, `npm test` and the programs of `npm run`, even in a fresh clone: installs missing packages, builds, runs.
 * It uses only Node, because no package may be installed yet.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './build-dashboard.js';
import { findOtherCommand } from './find-other-command.js';

const PNPM = 'pnpm@12.21.0';
const PROGRAMS = {
  start: './dist/start/main.js',
  test: './dist/test-run/main.js',
  demo: './dist/demo/main.js',
  tocsin: '../cli/dist/main.js',
  'pack:cli': '../infra/dist/cli-package/main.js',
  bench: '../bench/dist/main.js',
  release: '../infra/dist/release/main.js',
  'test:containers': '../infra/dist/containers/main.js',
  'test:kubernetes': '../infra/dist/kubernetes/main.js',
  'test:faults': '../chaos/dist/main.js',
  'test:fuzz': '../fuzz/dist/main.js',
  'test:networks': '../chaos/dist/networks/main.js',
  'test:restarts': '../chaos/dist/restarts.js',
  'test:soak': '../chaos/dist/soak/main.js',
  'bench:dashboard': '../browser/dist/measure/main.js',
  screenshots: '../browser/dist/screenshots/main.js',
};
/** These programs print data on stdout, and need no dashboard. */
const PRINTS_DATA = new Set(['tocsin', 'pack:cli']);
const root = fileURLToPath(new URL('../../', import.meta.url));

const [command, ...args] = process.argv.slice(2);
const program = PROGRAMS[command];
if (program === undefined)
  fail(`Usage: node packages/embedded/bootstrap.js ${Object.keys(PROGRAMS).join('|')}`);
checkNode();
install();
checkCommand();
build();
if (command !== 'bench' && !PRINTS_DATA.has(command)) buildDashboard(root, runVite);
const { main } = await import(program);
await main(args);

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  fail(`Tocsin requires Node.js 20.19 or later. This is ${process.versions.node}. See https://nodejs.org`);
}

/** Does nothing if the lockfile and the platform have not changed since the last installation. */
function install() {
  const stampFile = `${root}node_modules/.tocsin-install`;
  const stamp = createHash('sha256')
    .update(readFileSync(`${root}pnpm-lock.yaml`))
    .update(`${process.platform} ${process.arch} ${process.versions.modules}`)
    .digest('hex');
  if (readIfExists(stampFile) === stamp) return;
  say('Installing packages …');
  // On Windows, npx.cmd needs a shell. No argument needs quoting.
  run('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], 'Could not install the packages', {
    shell: process.platform === 'win32',
  });
  mkdirSync(`${root}node_modules`, { recursive: true });
  writeFileSync(stampFile, stamp);
}

/** Otherwise npx would run another package's command. */
function checkCommand() {
  const other = findOtherCommand(root);
  if (other === undefined) return;
  fail(
    `${other} is not the tocsin command of this repository. ` +
      'Remove the package that installed it (`npx ' +
      PNPM +
      ' remove -w tocsin`), delete node_modules and try again.',
  );
}

function build() {
  if (readIfExists(`${root}packages/embedded/dist/.tsbuildinfo`) === undefined) say('Building …');
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-b'], 'Could not build Tocsin');
}

function runVite(folder) {
  say('Building the dashboard …');
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
  run(process.execPath, [vite, 'build'], 'Could not build the dashboard', { cwd: folder });
}

/** Prints the output only after a failure. */
function run(file, fileArgs, failure, options = {}) {
  // With CI, pnpm asks no questions. With NODE_ENV=production, it would skip packages that the build needs.
  const { NODE_ENV: _, ...env } = process.env;
  const result = spawnSync(file, fileArgs, {
    cwd: root,
    env: { ...env, CI: 'true' },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  fail(`${failure}${result.error ? ` (${result.error.message})` : ''}`);
}

function readIfExists(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function say(line) {
  (PRINTS_DATA.has(command) ? process.stderr : process.stdout).write(`${line}\n`);
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
