import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { useTestServers } from '@tocsin/embedded/testing/run-servers';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { runCommand, say } from '../command.ts';
import { number, text, type ValuesOf } from '../options.ts';
import { coveringTests } from './covering-tests.ts';
import { applyMutant, AREAS, DEFAULT_COUNT, drawMutants, type Mutant } from './draw.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const PNPM = 'pnpm@12.21.0';
/** Ends a run whose mutant loops forever. */
const LIMIT_MS = 100_000;
/** The nearest files run first, because they usually decide, and a run of few files starts faster. */
const FIRST_FILES = 3;

const ABOUT = `Plants bugs in a clone of the last commit, one at a time, and runs the tests that import the changed file until one fails.
A mutant that survives shows a rule that no test fixes. Whole systems are not run.`;
const OPTIONS = {
  seed: number('seed of the draw', 1, { min: 1 }),
  count: number('how many mutants', DEFAULT_COUNT, { min: 1, max: 10_000 }),
  files: number('test files that each mutant has to survive', 5, { min: 1, max: 500 }),
  from: text('draws from the sources of this revision instead of the last commit', 'REVISION'),
  json: text('writes each mutant with its outcome', 'FILE'),
  earlier: text(
    'that file of an earlier run: tests that failed then run first, and survivors are not tried again',
    'FILE',
  ),
  tree: text('an installed clone to work in, instead of a new one', 'FOLDER'),
};

interface Verdict {
  readonly mutant: Mutant;
  /** `gone`: the code no longer exists. `unreached`: no test imports the file. */
  readonly outcome: 'killed' | 'survived' | 'gone' | 'unreached';
  /** The test file that failed, `timeout`, or null. */
  readonly killer: string | null;
}

/** @public called by `campaigns/main.ts` */
export function main(args: readonly string[]): Promise<void> {
  return runCommand(args, { name: 'test:campaigns -- mutants', about: ABOUT, options: OPTIONS, run });
}

async function run(options: ValuesOf<typeof OPTIONS>, teardown: Teardown): Promise<number> {
  const tree = options.tree ?? (await clone(teardown));
  const mutants = drawMutants(tree, options.from ?? 'HEAD', options.seed, options.count);
  const earlier = new Map(
    (options.earlier === null ? [] : readVerdicts(options.earlier)).map((verdict) => [
      keyOf(verdict.mutant),
      verdict,
    ]),
  );
  const testsOf = coveringTests(tree);
  await teardown.start(useTestServers(), (servers) => servers.stop());
  const verdicts: Verdict[] = [];
  for (const mutant of mutants) {
    const before = earlier.get(keyOf(mutant));
    const tests = testsOf(mutant.file);
    const nearest = [...tests.filter((test) => test === before?.killer), ...tests].slice(0, options.files);
    const verdict =
      before?.outcome === 'survived'
        ? before
        : await tryMutant(tree, mutant, [...new Set(nearest)], teardown);
    verdicts.push(verdict);
    if (options.json !== null) writeFileSync(options.json, JSON.stringify(verdicts, null, 1));
    if (verdict.outcome !== 'killed') say(describe(verdict));
  }
  say(report(verdicts));
  return 0;
}

/** Clones the last commit, and installs its packages. @returns the folder */
async function clone(teardown: Teardown): Promise<string> {
  const { path } = await teardown.start(createTemporaryFolder(), (folder) => folder.remove());
  const tree = join(path, 'clone');
  await execute('git', ['clone', '--quiet', '--local', ROOT, tree], ROOT);
  await execute('npx', ['--yes', PNPM, 'install', '--frozen-lockfile', '--prefer-offline'], tree);
  return tree;
}

async function execute(file: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(file, args, {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, CI: 'true' },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with exit code ${code}`);
}

async function tryMutant(
  tree: string,
  mutant: Mutant,
  tests: readonly string[],
  teardown: Teardown,
): Promise<Verdict> {
  const path = join(tree, mutant.file);
  const source = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const mutated = applyMutant(source, mutant);
  if (mutated === null) return { mutant, outcome: 'gone', killer: null };
  if (tests.length === 0) return { mutant, outcome: 'unreached', killer: null };
  writeFileSync(path, mutated);
  try {
    for (const group of [tests.slice(0, FIRST_FILES), tests.slice(FIRST_FILES)]) {
      const killer = group.length === 0 ? null : await firstFailure(tree, group, teardown);
      if (killer !== null) return { mutant, outcome: 'killed', killer };
    }
    return { mutant, outcome: 'survived', killer: null };
  } finally {
    writeFileSync(path, source);
  }
}

/** Returns the first test file that fails, `timeout`, or null if every test passes. */
async function firstFailure(
  tree: string,
  tests: readonly string[],
  teardown: Teardown,
): Promise<string | null> {
  const jest = createRequire(join(tree, 'package.json')).resolve('jest/bin/jest');
  const args = [
    '--ci',
    '--bail=1',
    '--silent',
    '--runInBand',
    '--forceExit',
    '--testTimeout=20000',
    '--runTestsByPath',
    ...tests,
  ];
  const child = spawn(process.execPath, [jest, ...args], {
    cwd: tree,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '--experimental-vm-modules --disable-warning=ExperimentalWarning' },
  });
  teardown.onStop(() => Promise.resolve(child.kill('SIGKILL')));
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(timer);
  if (code === 0) return null;
  return signal === null ? (/^FAIL .*?(\S+\.ts)/m.exec(output)?.[1] ?? 'unknown') : 'timeout';
}

function readVerdicts(path: string): Verdict[] {
  return JSON.parse(readFileSync(path, 'utf8')) as Verdict[];
}

function keyOf({ file, start, replacement }: Mutant): string {
  return `${file} ${start} ${replacement}`;
}

function describe({ outcome, mutant: { file, before, original, replacement } }: Verdict): string {
  const code = before.slice(before.lastIndexOf('\n') + 1).trimStart();
  return `${outcome}: ${file}: ${code}[${original} → ${replacement}]`;
}

function report(verdicts: readonly Verdict[]): string {
  const rows = Object.keys(AREAS).map((area) => {
    const own = verdicts.filter(({ mutant, outcome }) => mutant.area === area && outcome !== 'gone');
    const killed = own.filter(({ outcome }) => outcome === 'killed').length;
    return `| ${area} | ${killed} of ${own.length} |`;
  });
  return ['| area | mutants killed |', '| --- | --- |', ...rows].join('\n');
}
