import { readFileSync } from 'node:fs';
import { Router } from 'express';
import { publicDocument } from '../http/public-document.ts';
import { noteRoute, pageSecurity } from './serve-dashboard.ts';

/** The only Scalar file that browsers need and images contain (infra/images/assemble.sh). */
const SCALAR = new URL(
  '../../node_modules/@scalar/api-reference/dist/browser/standalone.js',
  import.meta.url,
);

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
    <title>API reference · Tocsin</title>
  </head>
  <body>
    <main id="reference"></main>
    <script src="/docs/scalar.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Disables everything that sends requests to other hosts. */
const START = `Scalar.createApiReference('#reference', {
  url: '/api/cli/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  hideTestRequestButton: true,
  showDeveloperTools: 'never',
});
`;

/** Serves the API reference at `/docs`, which Scalar renders from the OpenAPI document. */
export function serveApiReference(): Router {
  const router = Router({ caseSensitive: true });
  const serve = (path: string, type: string, build: () => string | Buffer): Router =>
    router.get(path, noteRoute('/docs'), ...pageSecurity, publicDocument(type, build));
  serve('/docs', 'html', () => PAGE);
  serve('/docs/start.js', 'js', () => START);
  serve('/docs/scalar.js', 'js', () => readFileSync(SCALAR));
  return router;
}
