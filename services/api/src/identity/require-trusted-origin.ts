import { AppError } from '@tocsin/contracts/errors';
import type { RequestHandler } from 'express';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses what another site could make a browser send with our cookie: a request with one that changes something needs an `Origin` of ours,
 * or the browser's word (`Sec-Fetch-Site`) that the page is ours. `SameSite` of the cookie is the second wall.
 */
export function requireTrustedOrigin(trustedOrigins: readonly string[]): RequestHandler {
  const trusted = new Set(trustedOrigins);
  return function checkOrigin(req, _res, next) {
    const origin = req.get('origin');
    const isOurs = origin === undefined ? req.get('sec-fetch-site') === 'same-origin' : trusted.has(origin);
    const matters = !SAFE_METHODS.has(req.method) && req.headers.cookie !== undefined;
    if (matters && !isOurs) {
      throw new AppError(
        'untrusted_origin',
        'A request that changes something must come from the dashboard: send its Origin (see PUBLIC_URL).',
      );
    }
    next();
  };
}
