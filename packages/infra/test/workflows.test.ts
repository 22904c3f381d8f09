import { existsSync, readdirSync } from 'node:fs';
import { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { beforeAll, expect, test } from '@jest/globals';
import { readRepositoryFile, ROOT } from '@tocsin/infra/repository';
import { parse } from 'yaml';

const FOLDER = '.github/workflows/';
const FILES = readdirSync(ROOT + FOLDER).map((name) => FOLDER + name);

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
}
interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The errors of GitHub's own parser. */
function errorsOf(name: string, content: string): string[] {
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => message);
}

let texts: ReadonlyMap<string, string>;
let workflows: readonly [string, Workflow][];
let scripts: Readonly<Record<string, string>>;
beforeAll(async () => {
  texts = new Map(
    await Promise.all(FILES.map(async (file) => [file, await readRepositoryFile(file)] as const)),
  );
  workflows = [...texts].map(([file, text]) => [file, parse(text, { uniqueKeys: true }) as Workflow]);
  ({ scripts } = JSON.parse(await readRepositoryFile('package.json')) as { scripts: Record<string, string> });
});

function jobs(): Job[] {
  return workflows.flatMap(([, workflow]) => Object.values(workflow.jobs));
}

function steps(): Step[] {
  return jobs().flatMap((job) => job.steps ?? []);
}

test('there are workflows for changes and for releases', () => {
  expect(FILES.toSorted()).toEqual([`${FOLDER}ci.yml`, `${FOLDER}release.yml`]);
});

test.each(FILES)('%s matches the workflow schema of GitHub', (file) => {
  expect(errorsOf(file, texts.get(file) ?? '')).toEqual([]);
});

test('the example for users matches the schema, too', async () => {
  const file = 'examples/github-actions.yml';
  expect(errorsOf(file, await readRepositoryFile(file))).toEqual([]);
});

test.each([
  ['an unknown key', 'timeout-minutes:', 'timeout-minute:'],
  ['an unknown permission', 'contents: read', 'content: read'],
  ['an unknown context', '${{ github.token }}', '${{ gitub.token }}'],
])('the workflow schema rejects %s', (_, good, bad) => {
  const text = texts.get(`${FOLDER}release.yml`) ?? '';
  expect(text).toContain(good);
  expect(errorsOf('bad.yml', text.replace(good, bad))).not.toEqual([]);
});

test('every command of a workflow is a script or a file of this repository', () => {
  const commands = steps().flatMap(({ run }) => (run === undefined ? [] : [run]));
  const names = commands.flatMap((run) =>
    [...run.matchAll(/npm run (?:-\S+ )*([\w:-]+)/g)].map(([, name]) => name),
  );
  const files = commands.flatMap((run) => [...run.matchAll(/\bbash (\S+)/g)].map(([, file]) => file));
  expect(names).toEqual(['release']);
  expect(files).toEqual(['.ci/run']);
  for (const name of names) expect(scripts).toHaveProperty([name ?? '']);
  for (const file of files) expect(existsSync(`${ROOT}${file ?? ''}`)).toBe(true);
  for (const { uses } of jobs()) if (uses !== undefined) expect(existsSync(ROOT + uses)).toBe(true);
});

test('actions are pinned to a commit, with their version beside it', () => {
  const lines = [...texts.values()].flatMap((text) => text.match(/^ +(?:- )?uses: .*$/gm) ?? []);
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines)
    expect(line).toMatch(/uses: (\.\/\S+|[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/);
});

test('only the job that publishes may write', () => {
  for (const [, { permissions }] of workflows) expect(permissions).toEqual({ contents: 'read' });
  const writing = workflows.flatMap(([file, workflow]) =>
    Object.entries(workflow.jobs).flatMap(([name, { permissions = {} }]) =>
      Object.values(permissions).includes('write') ? [`${file} ${name}`] : [],
    ),
  );
  expect(writing).toEqual([`${FOLDER}release.yml release`]);
});

test('no script contains an expression, which could inject code', () => {
  for (const { run = '' } of steps()) expect(run).not.toContain('${{');
});

test('every job has a timeout', () => {
  for (const job of jobs()) if (job.steps) expect(job['timeout-minutes']).toBeGreaterThan(0);
});
