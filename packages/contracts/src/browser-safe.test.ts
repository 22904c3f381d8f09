import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const SOURCES = new URL('./', import.meta.url);
const NODE_ONLY =
  /\bnode:|\b(?:Buffer|process|require|__dirname|__filename|setImmediate)\b|\bfrom '(?!\.\.?\/|zod')/;

function* sources(): Iterable<[file: string, code: string]> {
  for (const file of readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) continue;
    const text = readFileSync(new URL(file, SOURCES), 'utf8');
    yield [file, text.replaceAll(/\/\*[^]*?\*\/|\/\/.*$/gm, '')];
  }
}

test('contracts do not depend on Node, because the dashboard runs them in browsers', () => {
  const needing = [...sources()].filter(([, code]) => NODE_ONLY.test(code)).map(([file]) => file);
  expect(needing).toEqual([]);
  expect([...sources()].map(([file]) => file)).toEqual(
    expect.arrayContaining(['monitors/monitor.ts', 'routes/routes.ts']),
  );
});
