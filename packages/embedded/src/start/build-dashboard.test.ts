import { mkdir, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { dashboardEnv } from './stores.ts';

type BuildDashboard = (root: string, build: (folder: string) => void) => void;
const script = new URL('../../build-dashboard.js', import.meta.url);
const { buildDashboard } = (await import(script.href)) as { buildDashboard: BuildDashboard };

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
beforeEach(async () => {
  folder = await createTemporaryFolder();
});
afterEach(() => folder.remove());

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
const HOUR_MS = 3_600_000;

/** Changed this long ago. */
async function write(path: string, ageMs: number): Promise<void> {
  const file = join(folder.path, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, '');
  await touch(path, ageMs);
}

async function touch(path: string, ageMs: number): Promise<void> {
  const time = new Date(Date.now() - ageMs);
  await utimes(join(folder.path, path), time, time);
}

/** Everything an hour older than the page. */
async function writeBuilt(): Promise<void> {
  for (const source of SOURCES) await write(source, 2 * HOUR_MS);
  const dashboard = 'services/dashboard';
  for (const path of [
    `${dashboard}/src/pages`,
    `${dashboard}/src`,
    `${dashboard}/public`,
    'packages/contracts/src',
  ])
    await touch(path, 2 * HOUR_MS);
  await write(PAGE, HOUR_MS);
}

function builds(): string[] {
  const built: string[] = [];
  buildDashboard(folder.path, (dashboard) => built.push(dashboard));
  return built;
}

describe('building the dashboard', () => {
  it('does nothing without a dashboard', () => {
    expect(builds()).toEqual([]);
  });

  it('does nothing if nothing has changed since the last build', async () => {
    await writeBuilt();
    expect(builds()).toEqual([]);
  });

  it.each(SOURCES)('builds once when %s is newer', async (source) => {
    await writeBuilt();
    await touch(source, HOUR_MS / 2);
    expect(builds()).toEqual([join(folder.path, 'services', 'dashboard')]);
    expect(builds()).toEqual([]);
  });

  it('builds when a file was deleted, and when there is no build', async () => {
    await writeBuilt();
    await rm(join(folder.path, SOURCES[0] ?? ''));
    expect(builds()).toHaveLength(1);
    await rm(join(folder.path, PAGE));
    expect(() => buildDashboard(folder.path, () => fail())).toThrow('Building failed');
    // What failed is tried again.
    expect(() => buildDashboard(folder.path, () => fail())).toThrow('Building failed');
  });
});

function fail(): void {
  throw new Error('Building failed');
}

describe('the dashboard that the api serves', () => {
  it('is the configured one, else the built one, else none', async () => {
    const built = join(folder.path, 'services', 'dashboard', 'dist');
    expect(dashboardEnv(undefined, built)).toEqual({});
    await writeBuilt();
    expect(dashboardEnv(undefined, built)).toEqual({ DASHBOARD_DIR: built });
    expect(dashboardEnv('/srv/other', built)).toEqual({ DASHBOARD_DIR: '/srv/other' });
  });
});
