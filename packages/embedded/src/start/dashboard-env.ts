import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUILT = fileURLToPath(new URL('../../../../services/dashboard/dist/', import.meta.url));

/**
 * The setting that has the api serve the dashboard: the folder given, or the one that `bootstrap.js` builds. None where nothing is
 * built: the api runs alone.
 */
export function dashboardEnv(given: string | undefined, built: string = BUILT): { DASHBOARD_DIR?: string } {
  const folder = given ?? (existsSync(join(built, 'index.html')) ? built : undefined);
  return folder === undefined ? {} : { DASHBOARD_DIR: folder };
}
