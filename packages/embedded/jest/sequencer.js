import { createHash } from 'node:crypto';
import Sequencer from '@jest/test-sequencer';

/** Tests of whole systems take longest. If one of them started last, it would run alone while the other cores are idle. */
const LONGEST_FIRST = ['lab', 'browser', 'queue', 'fuzz', 'bench', 'chaos', 'cli'];

/** Longest first, by folder: a fresh clone has no cache of durations. `TEST_SHUFFLE_SEED` gives a random order instead. */
export default class FileSequencer extends Sequencer {
  sort(tests) {
    const seed = process.env.TEST_SHUFFLE_SEED ?? '';
    const rank =
      seed === '' ? folderRank : (path, { rootDir }) => shuffleRank(seed, path.slice(rootDir.length));
    return super
      .sort(tests)
      .map((test) => ({ test, rank: rank(test.path, test.context.config) }))
      .sort((one, other) => one.rank - other.rank)
      .map(({ test }) => test);
  }
}

function folderRank(path) {
  const rank = LONGEST_FIRST.findIndex((name) => path.includes(`/packages/${name}/test/`));
  return rank === -1 ? LONGEST_FIRST.length : rank;
}

/** @param path relative to the repository, so that a seed gives the same order in every clone */
function shuffleRank(seed, path) {
  return createHash('sha256').update(`${seed} ${path}`).digest().readUIntBE(0, 6);
}
