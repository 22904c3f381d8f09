import { createHash } from 'node:crypto';
import Sequencer from '@jest/test-sequencer';

/** Longest first, because a long test that starts last would run alone while other cores are idle. */
const PROJECTS = ['systems', 'servers', 'rules'];

/** Orders test files by project, because a fresh clone has no cached durations. `TEST_SHUFFLE_SEED` sets a random order. */
export default class FileSequencer extends Sequencer {
  sort(tests) {
    const seed = process.env.TEST_SHUFFLE_SEED ?? '';
    const rank = seed === '' ? projectRank : (test) => shuffleRank(seed, test);
    return super
      .sort(tests)
      .map((test) => ({ test, rank: rank(test) }))
      .sort((one, other) => one.rank - other.rank)
      .map(({ test }) => test);
  }
}

function projectRank({ context }) {
  return PROJECTS.indexOf(context.config.displayName.name);
}

/** Hashes the relative path, so that a seed gives the same order in every clone. */
function shuffleRank(seed, { path, context }) {
  const relative = path.slice(context.config.rootDir.length);
  return createHash('sha256').update(`${seed} ${relative}`).digest().readUIntBE(0, 6);
}
