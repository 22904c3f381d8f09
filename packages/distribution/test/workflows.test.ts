import { readdirSync } from 'node:fs';
import { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { expect, test } from '@jest/globals';
import { readRepositoryFile, ROOT } from '@tocsin/distribution/repository';
import { parse } from 'yaml';

const FOLDER = '.github/workflows/';
const FILES = readdirSync(ROOT + FOLDER).map((name) => FOLDER + name);

interface Job {
  readonly steps?: readonly { readonly run?: string }[];
  readonly permissions?: Readonly<Record<string, string>>;
}
interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const texts = new Map(
  await Promise.all(FILES.map(async (file) => [file, await readRepositoryFile(file)] as const)),
);
const workflows = [...texts].map(
  ([file, text]) => [file, parse(text, { uniqueKeys: true }) as Workflow] as const,
);
const jobs = workflows.flatMap(([, workflow]) => Object.values(workflow.jobs));
const commands = jobs.flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []));

test.each([...FILES, 'examples/github-actions.yml'])(
  '%s matches the workflow schema of GitHub',
  async (file) => {
    const content = await readRepositoryFile(file);
    const { context } = parseWorkflow({ name: file, content }, new NoOperationTraceWriter());
    expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
  },
);

test('actions are pinned to a commit, with their version next to it', () => {
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
  for (const command of commands) expect(command).not.toContain('${{');
});
