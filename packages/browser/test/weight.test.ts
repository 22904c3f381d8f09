import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from '@jest/globals';
import { DASHBOARD_FOLDER } from '@tocsin/browser/dashboard-system';

const MAX_SCRIPT_BYTES = 300_000;
const MAX_FONT_BYTES = 60_000;
/** The source of the page at `/`. */
const FIRST_PAGE = 'src/monitors/list/monitors-page.tsx';

/** The manifest of Vite: the file of each source, and what that file loads before it runs. */
type Manifest = Readonly<
  Record<
    string,
    { readonly file: string; readonly imports?: readonly string[]; readonly isDynamicEntry?: boolean }
  >
>;

let manifest: Manifest;
beforeAll(async () => {
  manifest = JSON.parse(await readFile(join(DASHBOARD_FOLDER, '.vite', 'manifest.json'), 'utf8')) as Manifest;
});

/** The files that load with these sources. */
function filesOf(sources: readonly string[]): string[] {
  const seen = new Set<string>();
  const visit = (source: string): void => {
    const chunk = manifest[source];
    if (chunk === undefined) throw new Error(`${source} is not in the manifest`);
    if (seen.has(chunk.file)) return;
    seen.add(chunk.file);
    for (const imported of chunk.imports ?? []) visit(imported);
  };
  for (const source of sources) visit(source);
  return [...seen];
}

test('the first page loads at most 300 kB of JavaScript, gzipped', async () => {
  const files = filesOf(['index.html', FIRST_PAGE]);
  const weights = await Promise.all(
    files.map(async (file) => [file, gzipSync(await readFile(join(DASHBOARD_FOLDER, file))).length] as const),
  );
  const sum = weights.reduce((total, [, bytes]) => total + bytes, 0);
  expect({ files: Object.fromEntries(weights), isLight: sum <= MAX_SCRIPT_BYTES, sum }).toMatchObject({
    isLight: true,
  });
  expect(sum).toBeGreaterThan(50_000);
});

test('other pages load when they are opened', () => {
  const first = filesOf(['index.html', FIRST_PAGE]).length;
  const lazy = Object.values(manifest).filter(({ isDynamicEntry }) => isDynamicEntry === true);
  expect(lazy.length).toBeGreaterThan(15);
  expect(filesOf(Object.keys(manifest)).length).toBeGreaterThan(first + 10);
});

test('the page preloads its only typeface, of at most 60 kB', async () => {
  const html = await readFile(join(DASHBOARD_FOLDER, 'index.html'), 'utf8');
  const preloaded = [...html.matchAll(/<link\s[^>]*href="([^"]+\.woff2)"[^>]*>/g)].map(
    ([, file]) => file ?? '',
  );
  const styles = await Promise.all(
    [...html.matchAll(/href="([^"]+\.css)"/g)].map(([, file]) =>
      readFile(join(DASHBOARD_FOLDER, file ?? ''), 'utf8'),
    ),
  );
  const used = [...styles.join('').matchAll(/url\("?([^")]+\.woff2)"?\)/g)].map(([, file]) => file);
  expect(preloaded).toHaveLength(1);
  expect(used).toEqual(preloaded);
  const { size } = await stat(join(DASHBOARD_FOLDER, preloaded[0] ?? ''));
  expect(size).toBeLessThanOrEqual(MAX_FONT_BYTES);
});

test('the page has no inline script or handler, and names no other host', async () => {
  const html = await readFile(join(DASHBOARD_FOLDER, 'index.html'), 'utf8');
  expect(html.match(/<script(?![^>]*\ssrc=)[^>]*>/g)).toBeNull();
  expect(html.match(/\son\w+=/g)).toBeNull();
  expect(html.match(/(?:src|href)="(?!\/)[^"]*"/g)).toBeNull();
});
