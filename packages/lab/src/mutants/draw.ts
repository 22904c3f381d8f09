import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mutationsOf, type Mutation } from './mutations.ts';

/** Folders whose rules decide whether an alert is lost or false, with their shares of the mutants. */
export const AREAS: Readonly<Record<string, number>> = {
  'packages/core/src': 80,
  'packages/contracts/src': 60,
  'packages/egress/src': 50,
  'services/checker/src/probe': 40,
  'services/checker/src/checks': 35,
  'services/checker/src/record': 25,
  'services/notifier/src': 35,
  'packages/db/src/checks': 20,
  'packages/db/src/status-changes': 25,
  'packages/db/src/deliveries': 30,
  'packages/db/src/maintenance-windows': 30,
};

export interface Mutant extends Mutation {
  readonly area: string;
  /** Relative to the repository. */
  readonly file: string;
  /** The source around the mutation identifies its place in later revisions. */
  readonly before: string;
  readonly original: string;
  readonly after: string;
}

const CONTEXT = 60;

export const DEFAULT_COUNT = Object.values(AREAS).reduce((sum, share) => sum + share, 0);

/** Draws about this many mutants from the sources of a revision. The same arguments give the same mutants in every clone. */
export function drawMutants(tree: string, revision: string, seed: number, count: number): Mutant[] {
  return Object.entries(AREAS).flatMap(([area, share]) => {
    const sources = sourcesOf(tree, revision, area);
    return [...sources]
      .flatMap(([file, source]) =>
        mutationsOf(source).map((mutation) => ({
          file,
          source,
          mutation,
          rank: rankOf(seed, file, mutation),
        })),
      )
      .sort((one, other) => one.rank.localeCompare(other.rank))
      .slice(0, Math.ceil((share * count) / DEFAULT_COUNT))
      .filter(({ source, mutation }) => isValid(source, mutation))
      .map(({ file, source, mutation }) => toMutant(area, file, source, mutation));
  });
}

function toMutant(area: string, file: string, source: string, mutation: Mutation): Mutant {
  const { start, end } = mutation;
  return {
    ...mutation,
    area,
    file,
    before: source.slice(Math.max(0, start - CONTEXT), start),
    original: source.slice(start, end),
    after: source.slice(end, end + CONTEXT),
  };
}

/** A mutant that does not parse, such as `a ?? b && c`, would be killed by any test. */
function isValid(source: string, { start, end, replacement }: Mutation): boolean {
  try {
    mutationsOf(source.slice(0, start) + replacement + source.slice(end));
    return true;
  } catch {
    return false;
  }
}

/** Applies a mutation to the current source. Returns null if the code around it no longer exists. */
export function applyMutant(source: string, mutant: Mutant): string | null {
  const { before, original, after, replacement } = mutant;
  const found = source.indexOf(before + original + after);
  if (found === -1) return null;
  const start = found + before.length;
  return source.slice(0, start) + replacement + source.slice(start + original.length);
}

function sourcesOf(tree: string, revision: string, area: string): Map<string, string> {
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', tree, ...args], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const files = git('ls-tree', '-r', '--name-only', revision, area)
    .split('\n')
    .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|\/testing\/|\/test\//.test(file));
  return new Map(files.map((file) => [file, git('show', `${revision}:${file}`)]));
}

function rankOf(seed: number, file: string, { start, replacement }: Mutation): string {
  return createHash('sha256').update(`${seed} ${file} ${start} ${replacement}`).digest('hex');
}
