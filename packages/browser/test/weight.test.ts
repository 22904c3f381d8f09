import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, test } from '@jest/globals';
import { DASHBOARD_FOLDER } from '@tocsin/browser/dashboard-system';

const MAX_SCRIPT_BYTES = 300_000;
const MAX_FONT_BYTES = 60_000;
/** The source of the page at `/`. */
const FIRST_PAGE = 'src/monitors/list/monitors-page.tsx';

/** The built file for a source, and the sources that it loads before it runs. */
interface Chunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly isDynamicEntry?: boolean;
}

const read = (file: string): Promise<Buffer> => readFile(join(DASHBOARD_FOLDER, file));

/** The manifest of Vite. */
let manifest: Readonly<Record<string, Chunk>>;
beforeAll(async () => {
  manifest = JSON.parse(String(await read('.vite/manifest.json'))) as typeof manifest;
});

/** Returns the files that load with these sources. */
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
  const weights = await Promise.all(files.map(async (file) => gzipSync(await read(file)).length));
  const sum = weights.reduce((total, bytes) => total + bytes, 0);
  expect(sum).toBeLessThanOrEqual(MAX_SCRIPT_BYTES);
  expect(sum).toBeGreaterThan(50_000);
});

test('other pages load when they are opened', () => {
  const first = filesOf(['index.html', FIRST_PAGE]).length;
  const lazy = Object.values(manifest).filter(({ isDynamicEntry }) => isDynamicEntry === true);
  expect(lazy.length).toBeGreaterThan(15);
  expect(filesOf(Object.keys(manifest)).length).toBeGreaterThan(first + 10);
});

test('the page preloads its only typeface, of at most 60 kB', async () => {
  const html = String(await read('index.html'));
  const preloaded = [...html.matchAll(/<link\s[^>]*href="([^"]+\.woff2)"[^>]*>/g)].map(
    ([, file = '']) => file,
  );
  const sheets = [...html.matchAll(/href="([^"]+\.css)"/g)].map(([, file = '']) => read(file));
  const styles = (await Promise.all(sheets)).join('');
  const used = [...styles.matchAll(/url\("?([^")]+\.woff2)"?\)/g)].map(([, file]) => file);
  expect(preloaded).toHaveLength(1);
  expect(used).toEqual(preloaded);
  expect((await read(preloaded[0] ?? '')).length).toBeLessThanOrEqual(MAX_FONT_BYTES);
});
