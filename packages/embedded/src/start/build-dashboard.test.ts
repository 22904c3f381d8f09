import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { dashboardEnv } from './stores.ts';

type BuildDashboard = (root: string, build: (folder: string) => void) => void;
const script = new URL('../../build-dashboard.js', import.meta.url);
const { buildDashboard } = (await import(script.href)) as { buildDashboard: BuildDashboard };

const SOURCES = [
  'services/dashboard/src/pages/monitors.tsx',
  'services/dashboard/public/favicon.svg',
  'services/dashboard/index.html',
  'services/dashboard/vite.config.ts',
  'services/dashboard/package.json',
  'packages/contracts/src/monitor.ts',
  'pnpm-lock.yaml',
];
const PAGE = 'services/dashboard/dist/index.html';

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(() => folder.remove());

async function touch(path: string, hoursAgo: number): Promise<void> {
  const time = new Date(Date.now() - hoursAgo * 3_600_000);
  await utimes(join(folder.path, path), time, time);
}

/** Writes every source an hour before the page. */
async function writeBuilt(): Promise<void> {
  for (const path of [...SOURCES, PAGE]) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true });
    await writeFile(join(folder.path, path), '');
    // Folders count too, because creating or deleting a file changes their time.
    for (let part = path; part !== '.'; part = dirname(part)) await touch(part, 2);
  }
  await touch(PAGE, 1);
}

function builds(): string[] {
  const built: string[] = [];
  buildDashboard(folder.path, (dashboard) => built.push(dashboard));
  return built;
}

it('does not build without a dashboard, or if nothing has changed since the last build', async () => {
  expect(builds()).toEqual([]);
  await writeBuilt();
  expect(builds()).toEqual([]);
});

it.each(SOURCES)('builds once when %s is newer', async (source) => {
  await writeBuilt();
  await touch(source, 0.5);
  expect(builds()).toEqual([join(folder.path, 'services', 'dashboard')]);
  expect(builds()).toEqual([]);
});

it('builds when a file was deleted, and again after a failure', async () => {
  await writeBuilt();
  await rm(join(folder.path, SOURCES[0] ?? ''));
  const fail = (): void => {
    throw new Error('Building failed');
  };
  expect(() => buildDashboard(folder.path, fail)).toThrow('Building failed');
  expect(builds()).toHaveLength(1);
});

it('the api serves the configured dashboard or else the built one, if there is one', async () => {
  const built = join(folder.path, 'services', 'dashboard', 'dist');
  expect(dashboardEnv(undefined, built)).toEqual({});
  await writeBuilt();
  expect(dashboardEnv(undefined, built)).toEqual({ DASHBOARD_DIR: built });
  expect(dashboardEnv('/srv/other', built)).toEqual({ DASHBOARD_DIR: '/srv/other' });
});
