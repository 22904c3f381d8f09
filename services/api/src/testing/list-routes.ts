import { implementRoutes } from '../app.ts';
import type { ApiContext } from '../context.ts';

/** The endpoints of the api, such as `GET /api/cli/monitors/:id`. */
export function listRoutes(context: ApiContext): string[] {
  return implementRoutes(context).map(({ route }) => route.endpoint);
}
