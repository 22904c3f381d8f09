import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Suites of whole systems run built code in other processes, so an edited source does not reach them. */
const WHOLE_SYSTEMS = /^packages\/(bench|browser|campaigns|cli|distribution|embedded|lab)\//;
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+\.ts|@tocsin\/[^']+)'/g;

/** Returns a function that lists the tests that import a source, directly or not. The nearest by name, folder and imports come first. */
export function coveringTests(tree: string): (file: string) => string[] {
  const files = execFileSync('git', ['-C', tree, 'ls-files', 'packages', 'services'], { encoding: 'utf8' })
    .split('\n')
    .filter((file) => file.endsWith('.ts'));
  const workspaces = new Map(
    files.map((file) => workspaceOf(file)).map((folder) => [`@tocsin/${folder.split('/')[1]}`, folder]),
  );
  const importers = new Map<string, string[]>();
  for (const file of files) {
    for (const [, target = ''] of readFileSync(join(tree, file), 'utf8').matchAll(IMPORT)) {
      const imported = resolve(file, target, workspaces);
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  return (file) => {
    const depths = reach(file, importers);
    const depth = (test: string): number => depths.get(test) ?? 0;
    return [...depths.keys()]
      .filter((test) => test.endsWith('.test.ts') && !WHOLE_SYSTEMS.test(test))
      .sort(
        (one, other) =>
          distance(one, file) - distance(other, file) ||
          depth(one) - depth(other) ||
          one.localeCompare(other),
      );
  };
}

/** Returns the files that import this one, breadth first, with the number of imports between. */
function reach(file: string, importers: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const depths = new Map([[file, 0]]);
  for (const [each, depth] of depths) {
    for (const importer of importers.get(each) ?? []) {
      if (!depths.has(importer)) depths.set(importer, depth + 1);
    }
  }
  return depths;
}

function resolve(file: string, target: string, workspaces: ReadonlyMap<string, string>): string {
  if (target.startsWith('.')) return join(dirname(file), target);
  const [scope, name, ...path] = target.split('/');
  return `${workspaces.get(`${scope}/${name}`)}/src/${path.join('/')}.ts`;
}

function distance(test: string, file: string): number {
  if (test === file.replace(/\.ts$/, '.test.ts')) return 0;
  const name = file.slice(file.lastIndexOf('/') + 1, -'.ts'.length);
  if (test.endsWith(`/${name}.test.ts`)) return 1;
  if (dirname(test) === dirname(file)) return 2;
  return workspaceOf(test) === workspaceOf(file) ? 3 : 4;
}

function workspaceOf(file: string): string {
  return file.split('/').slice(0, 2).join('/');
}
