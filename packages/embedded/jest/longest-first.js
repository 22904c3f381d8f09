import Sequencer from '@jest/test-sequencer';

/** Tests that run whole systems take longest: begun last, one of them would run alone beside an idle core. */
const LONGEST_FIRST = ['chaos', 'browser', 'e2e', 'bench', 'fuzz', 'queue'];

/** Without jest's cache of durations, which a fresh clone does not have, a test's size says little about how long it takes. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    return super
      .sort(tests)
      .map((test) => ({ test, rank: rankOf(test.path) }))
      .sort((one, other) => one.rank - other.rank)
      .map(({ test }) => test);
  }
}

function rankOf(path) {
  const rank = LONGEST_FIRST.findIndex((name) => path.includes(`/packages/${name}/test/`));
  return rank === -1 ? LONGEST_FIRST.length : rank;
}
