import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** What the dashboard is made of, from the root of the repository. */
const SOURCES = [
  'services/dashboard/src',
  'services/dashboard/public',
  'services/dashboard/index.html',
  'services/dashboard/vite.config.ts',
  'services/dashboard/package.json',
  'packages/contracts/src',
  'pnpm-lock.yaml',
];

/**
 * Builds `services/dashboard`, if there is one, where something that it is made of is newer than what was built last. Uses Node
 * alone, like `bootstrap.js`.
 * @param {string} root of the repository
 * @param {(folder: string) => void} build makes `dist` in this folder; does not return where that fails
 */
export function buildDashboard(root, build) {
  const folder = join(root, 'services', 'dashboard');
  if (!existsSync(join(folder, 'vite.config.ts'))) return;
  const page = join(folder, 'dist', 'index.html');
  const builtAt = lastChange(page);
  if (SOURCES.every((source) => lastChange(join(root, source)) <= builtAt)) return;
  const startedAt = new Date();
  build(folder);
  // What changed while it was built may not be in it.
  utimesSync(page, startedAt, startedAt);
}

/** Epoch milliseconds; of a folder, the latest in it: what was added or removed counts as well. 0 where there is nothing. */
function lastChange(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  return readdirSync(path).reduce(
    (latest, name) => Math.max(latest, lastChange(join(path, name))),
    stats.mtimeMs,
  );
}
