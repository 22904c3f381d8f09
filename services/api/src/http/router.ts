import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { type Method, methodOf, pathOf, type Route } from '@tocsin/contracts/routes/route';
import { type RequestHandler, Router } from 'express';
import { type Guards, requireAccess } from '../access/access.ts';
import type { Implementation } from './implement.ts';
import { parseJsonBody } from './json-body.ts';
import { LargeBodies } from './large-bodies.ts';
import { stateOf } from './request-state.ts';
import { compress, compressQuickly, keepUncompressed, keepUncompressedForWriters } from './headers.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** The order of stages is the order of errors. It is caller and rate limit, method, body, access, then the handler's errors. */
export function createRouter(implementations: readonly Implementation[], guards: Guards): Router {
  const router = Router({ caseSensitive: true });
  const largeBodies = new LargeBodies();
  const byPath = new Map<string, Implementation[]>();
  for (const implementation of implementations) {
    const path = pathOf(implementation.route);
    byPath.set(path, [...(byPath.get(path) ?? []), implementation]);
  }
  // A fixed part must come before a parameter in the same position.
  const paths = [...byPath].toSorted(([one], [other]) =>
    parametersOf(one).localeCompare(parametersOf(other)),
  );
  for (const [path, methods] of paths) addPath(router, path, methods, guards, largeBodies);
  router.use('/api/cli', ...guards('/api/cli', 'key'), notFound);
  router.use('/api/auth', ...guards('/api/auth', 'anyone'), notFound);
  router.use('/api/dashboard', ...guards('/api/dashboard', 'user'), notFound);
  router.use('/api/operator', ...guards('/api/operator', 'operator'), notFound);
  return router;
}

/** Marks the parameters of a path with 1, and the other parts with 0. */
function parametersOf(path: string): string {
  return path
    .split('/')
    .map((part) => Number(part.startsWith(':')))
    .join('');
}

function addPath(
  router: Router,
  path: string,
  implementations: readonly Implementation[],
  guards: Guards,
  largeBodies: LargeBodies,
): void {
  const routes = implementations.map(({ route }) => route);
  const [access = 'anyone', ...others] = routes.map((route) => route.access);
  if (others.some((other) => (other === 'anyone') !== (access === 'anyone')))
    throw new Error(`some methods of ${path} require authentication and others do not`);
  const expressRoute = router.route(path);
  expressRoute.all(
    ...guards(path, access),
    ...(access === 'anyone' ? [] : compressionOf(routes)),
    (_req, res, next) => {
      stateOf(res).route = path;
      next();
    },
  );
  const allowed: string[] = [];
  for (const method of METHODS) {
    const found = implementations.find(({ route }) =>
      [methodOf(route), route.alias].includes(method.toUpperCase() as Method),
    );
    if (found === undefined) continue;
    expressRoute[method](...stagesOf(found.route, largeBodies), found.handler);
    // Express handles HEAD like GET.
    allowed.push(...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
  }
  const allow = allowed.join(', ');
  expressRoute.all((req) => {
    throw new AppError('method_not_allowed', `${req.method} is not allowed here. Allowed: ${allow}.`, {
      headers: { Allow: allow },
    });
  });
}

/** Compression would delay the messages of a stream. */
function compressionOf(routes: readonly Route[]): readonly RequestHandler[] {
  if (routes.some(({ response }) => response === 'text/event-stream')) return [];
  return [routes.some(({ isStreamed }) => isStreamed) ? compressQuickly : compress];
}

function stagesOf(route: Route, largeBodies: LargeBodies): readonly RequestHandler[] {
  const { body, maxBodyBytes, showsSecret, isUncompressed } = route;
  const bodyStage =
    maxBodyBytes === undefined
      ? parseJsonBody(LIMITS.apiBodyBytes)
      : parseJsonBody(maxBodyBytes, largeBodies);
  return [
    ...(showsSecret ? [keepUncompressed] : []),
    ...(isUncompressed ? [keepUncompressedForWriters] : []),
    ...(body === undefined ? [] : [bodyStage]),
    requireAccess(route),
  ];
}

export const notFound: RequestHandler = () => {
  throw new AppError('not_found', 'This path does not exist.');
};
