import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ROOT } from '@tocsin/distribution/repository';

/** Commands that can download a package of this name from the registry, which anyone may have published. Tocsin's package has a scope. */
const UNSCOPED =
  /\b(?:(?:npx|pnpx|bunx|npm exec|pnpm exec|pnpm dlx|yarn dlx)|(?:npm|pnpm) (?:i|install|add))\s+(?:-\S+\s+)*tocsin(?:@\S+)?(?![\w-])/;
const TEXT = /(?:\.(?:css|html|js|json|md|sh|ts|tsx|txt|ya?ml)|Dockerfile|LICENSE|run)$/;
const THIS_FILE = 'packages/distribution/test/documented-commands.test.ts';
const SKIPPED = new Set(['node_modules', 'dist', '.git', '.data', '.test-data', 'coverage']);

function filesIn(folder: string): string[] {
  return readdirSync(ROOT + folder, { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.has(name))
    .flatMap((entry) => {
      const path = `${folder}${entry.name}`;
      if (entry.isDirectory()) return filesIn(`${path}/`);
      return TEXT.test(path) && path !== THIS_FILE ? [path] : [];
    });
}

test('no file instructs readers to run an unscoped package', () => {
  const files = filesIn('');
  expect(files).toEqual(expect.arrayContaining(['README.md', 'docs/monitors-as-code.md', 'infra/README.md']));
  expect(files.filter((file) => UNSCOPED.test(readFileSync(ROOT + file, 'utf8')))).toEqual([]);
});
