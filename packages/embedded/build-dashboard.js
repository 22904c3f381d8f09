import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** Sources of the dashboard, relative to the root of the repository. */
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
 * Builds `services/dashboard`, if it exists, unless the last build is newer than the sources. Uses only Node.js, like `bootstrap.js`.
 * @param {string} root root of the repository
 * @param {(folder: string) => void} build builds `dist` in this folder, and does not return after a failure
 */
export function buildDashboard(root, build) {
  const folder = join(root, 'services', 'dashboard');
  if (!existsSync(join(folder, 'vite.config.ts'))) return;
  const page = join(folder, 'dist', 'index.html');
  const builtAt = lastChange(page);
  if (SOURCES.every((source) => lastChange(join(root, source)) <= builtAt)) return;
  const startedAt = new Date();
  build(folder);
  // The build may lack changes made while it ran.
  utimesSync(page, startedAt, startedAt);
}

/** Epoch milliseconds of the last change in a file or folder, or 0 if it does not exist. */
function lastChange(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  return readdirSync(path).reduce(
    (latest, name) => Math.max(latest, lastChange(join(path, name))),
    stats.mtimeMs,
  );
}
