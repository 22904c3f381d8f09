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
    <style>
      :root { --scalar-custom-header-height: 56px; color-scheme: light dark; }
      body { margin: 0; background: light-dark(#fff, #1a1d22); }
      header {
        position: sticky; top: 0; z-index: 10; box-sizing: border-box; height: 56px; padding: 0 16px;
        display: flex; align-items: center; gap: 16px;
        font: 500 14px system-ui, sans-serif; color: light-dark(#5c636a, #a9afb9);
        background: light-dark(#fff, #1a1d22); border-bottom: 1px solid light-dark(#e4e7eb, #343941);
      }
      header a { display: flex; align-items: center; gap: 8px; color: light-dark(#0b7285, #3bc9db); }
    </style>
  </head>
  <body>
    <header>
      <a href="/"><img src="/favicon.svg" width="28" height="28" alt="" />Back to the dashboard</a>
      API reference
    </header>
    <main id="reference"></main>
    <script src="/docs/scalar.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

/** Uses the colors and the scheme of the dashboard, and disables everything that sends requests to other hosts. */
const START = `const scheme = localStorage.getItem('mantine-color-scheme-value') ?? 'auto';
const isDark = scheme === 'dark' || (scheme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
document.documentElement.style.colorScheme = isDark ? 'dark' : 'light';
Scalar.createApiReference('#reference', {
  url: '/api/cli/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  hideTestRequestButton: true,
  showDeveloperTools: 'never',
  forceDarkModeState: isDark ? 'dark' : 'light',
  hideDarkModeToggle: true,
  customCss: \`
    :root { --scalar-font: system-ui, sans-serif; --scalar-radius: 6px; }
    .light-mode { --scalar-color-accent: #0b7285; --scalar-color-2: #5c636a; --scalar-background-2: #f6f7f9; --scalar-border-color: #e4e7eb; }
    .dark-mode { --scalar-color-accent: #3bc9db; --scalar-color-2: #a9afb9; --scalar-background-1: #1a1d22; --scalar-background-2: #22262c; --scalar-border-color: #343941; }
  \`,
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
