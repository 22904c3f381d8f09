import { AppError } from '@tocsin/contracts/errors';
import type { RequestHandler, Router } from 'express';
import { stateOf } from './request-state.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** One path with the stages of each of its methods; any other method is a 405 with `Allow` (design §3). */
export function resource(
  router: Router,
  path: string,
  methods: Readonly<Partial<Record<Method, readonly RequestHandler[]>>>,
): void {
  const route = router.route(path);
  route.all((req, res, next) => {
    stateOf(res).route = path === '/' && req.baseUrl !== '' ? req.baseUrl : req.baseUrl + path;
    next();
  });
  const allowed: string[] = [];
  for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
    const stages = methods[method];
    if (stages === undefined) continue;
    route[method](...stages);
    // Express answers HEAD with what GET would.
    allowed.push(...(method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
  }
  const allow = allowed.join(', ');
  route.all((req) => {
    throw new AppError('method_not_allowed', `${req.method} is not possible here; ${allow} are.`, {
      headers: { Allow: allow },
    });
  });
}

/** The answer where no path matched. */
export const notFound: RequestHandler = () => {
  throw new AppError('not_found', 'There is nothing at this path.');
};
