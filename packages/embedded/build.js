/* Builds the sources and the dashboard. Uses only Node.js, like `bootstrap.js`. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildDashboard } from './build-dashboard.js';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Compiles all workspaces. Does nothing if no source has changed. */
export function build(say) {
  if (readIfExists(`${ROOT}packages/embedded/dist/.tsbuildinfo`) === undefined) say('Building …');
  run(process.execPath, [`${ROOT}node_modules/typescript/bin/tsc`, '-b'], 'Could not build Tocsin');
}

/** Bundles the dashboard. Does nothing if no source has changed. */
export function bundleDashboard(say) {
  buildDashboard(ROOT, (folder) => {
    say('Building the dashboard …');
    const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
    run(process.execPath, [vite, 'build'], 'Could not build the dashboard', { cwd: folder });
  });
}

/** Runs a program in the repository. Prints its output and exits only if it fails. */
export function run(file, args, failure, options = {}) {
  // CI=true makes pnpm ask no questions. NODE_ENV=production would skip packages that the build needs.
  const { NODE_ENV: _, NODE_OPTIONS: __, ...env } = process.env;
  const result = spawnSync(file, args, {
    cwd: ROOT,
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

export function readIfExists(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

export function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
