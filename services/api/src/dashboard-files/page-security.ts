import type { RequestHandler } from 'express';
import { contentSecurityPolicy, referrerPolicy } from 'helmet';

/** What the dashboard's page may load and who may show it: itself, from here, nothing else. */
const loadsOnlyFromHere = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    defaultSrc: ["'self'"],
    scriptSrc: ["'self'"],
    // The component library writes style elements.
    styleSrc: ["'self'", "'unsafe-inline'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    objectSrc: ["'none'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
    formAction: ["'self'"],
  },
});

/** In place of what API answers have. Links into the dashboard carry tokens: no other site is told where somebody came from. */
export const pageSecurity: readonly RequestHandler[] = [
  loadsOnlyFromHere,
  referrerPolicy({ policy: 'same-origin' }),
];
