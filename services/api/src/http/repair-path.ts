import type { RequestHandler } from 'express';

/**
 * A path with broken percent-encoding names nothing of ours, which is for the routes to say, each in its turn (404, design
 * §3). Express would answer 400 before any of them: so the stray percent signs are taken as they are.
 */
export const repairPath: RequestHandler = (req, _res, next) => {
  const [path = '', ...query] = req.url.split('?');
  try {
    decodeURIComponent(path);
  } catch {
    req.url = [path.replaceAll('%', '%25'), ...query].join('?');
  }
  next();
};
