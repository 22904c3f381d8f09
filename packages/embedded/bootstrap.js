/*
 * `npm start`, `npm test` and what `npm run` has, from a fresh clone on: installs what is missing, builds, runs.
 * Nothing is installed yet when this begins, so it uses Node alone.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './build-dashboard.js';
import { findForeignCommand } from './find-foreign-command.js';

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
  'test:restarts': '../chaos/dist/restarts.js',
  'test:soak': '../chaos/dist/soak/main.js',
  'bench:dashboard': '../browser/dist/measure/main.js',
  screenshots: '../browser/dist/screenshots/main.js',
};
/** What these print on stdout is data. They need no dashboard. */
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
  fail(`Tocsin needs Node 20.19 or later, this is ${process.versions.node}: see https://nodejs.org`);
}

/** Does nothing if the lockfile, and the kind of machine, are those of the last time. */
function install() {
  const stampFile = `${root}node_modules/.tocsin-install`;
  const stamp = createHash('sha256')
    .update(readFileSync(`${root}pnpm-lock.yaml`))
    .update(`${process.platform} ${process.arch} ${process.versions.modules}`)
    .digest('hex');
  if (readIfThere(stampFile) === stamp) return;
  say('Installing packages …');
  // A shell finds npx.cmd on Windows; nothing here needs quoting.
  run('npx', ['--yes', PNPM, 'install', '--frozen-lockfile'], 'Installing the packages failed', {
    shell: process.platform === 'win32',
  });
  mkdirSync(`${root}node_modules`, { recursive: true });
  writeFileSync(stampFile, stamp);
}

/** npx runs what is linked there, whichever package it is of. */
function checkCommand() {
  const other = findForeignCommand(root);
  if (other === undefined) return;
  fail(
    `${other} is not the tocsin command of this repository. ` +
      'Remove the package that installed it (`npx ' +
      PNPM +
      ' remove -w tocsin`), delete node_modules and try again.',
  );
}

function build() {
  if (readIfThere(`${root}packages/embedded/dist/.tsbuildinfo`) === undefined) say('Building …');
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-b'], 'Building failed');
}

function runVite(folder) {
  say('Building the dashboard …');
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
  run(process.execPath, [vite, 'build'], 'Building the dashboard failed', { cwd: folder });
}

/** Quiet, unless it fails. */
function run(file, fileArgs, failure, options = {}) {
  // For the installer: never ask, and install what building needs, too.
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

function readIfThere(file) {
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
