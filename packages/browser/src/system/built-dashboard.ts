import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const BUILT_DASHBOARD = join(ROOT, 'services', 'dashboard', 'dist');
/** Of the PostgreSQL of a test run: one of its processes builds, the others wait for it. */
const BUILD_LOCK = 8_262_101;

type BuildDashboard = (root: string, build: (folder: string) => void) => void;

/**
 * Builds the dashboard where something that it is made of has changed, as `npm start` does. Only inside a run of tests.
 * @returns its folder
 */
export async function ensureDashboard(): Promise<string> {
  const script = new URL('../../../embedded/build-dashboard.js', import.meta.url);
  const { buildDashboard } = (await import(script.href)) as { buildDashboard: BuildDashboard };
  const client = new Client({ connectionString: process.env['TEST_DATABASE_URL'] });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [BUILD_LOCK]);
    buildDashboard(ROOT, runVite);
  } finally {
    await client.end();
  }
  return BUILT_DASHBOARD;
}

function runVite(folder: string): void {
  const vite = join(folder, 'node_modules', 'vite', 'bin', 'vite.js');
  // What a test run sets is not meant for a build.
  const { NODE_ENV: _, NODE_OPTIONS: __, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [vite, 'build'], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`Building the dashboard failed:\n${stdout}${stderr}`);
}
