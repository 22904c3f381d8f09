/*
 * `x.test.ts` is part of `npm test`. `x.slow.test.ts` is part of `npm run test:all` only, and `x.campaign.ts` of `npm run test:campaigns`.
 * docs/testing.md says which test belongs where.
 */
const FILES = { fast: '*.test.ts', slow: '*.slow.test.ts', all: '*.test.ts', campaign: '*.campaign.ts' };
const tier = process.env.TEST_TIER ?? 'all';

const RULES = [
  'packages/{core,contracts,egress,probe,runtime,embedded,bench,campaigns,distribution}',
  'services/{agent,dashboard,operator}',
];
const SERVERS = ['packages/{cli,db,queue}', 'services/{api,checker,notifier}'];
const SYSTEMS = ['packages/{lab,browser}'];
const SLOW = '\\.slow\\.test\\.ts$';

/** @param ignored a pattern of paths, beside the slow tests that are no part of `npm test` */
function project(displayName, testMatch, ignored, options = {}) {
  return {
    displayName,
    testMatch,
    testPathIgnorePatterns: [...ignored, ...(tier === 'fast' ? [SLOW] : [])],
    extensionsToTreatAsEsm: ['.ts'],
    transform: {
      '\\.ts$': [
        '@swc/jest',
        { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'es6' } },
      ],
    },
    // Resolve our own workspaces to their TypeScript sources, everything else as Node does.
    testEnvironmentOptions: { customExportConditions: ['tocsin-source', 'node', 'node-addons'] },
    ...options,
  };
}

function filesIn(folders, name) {
  return folders.map((folder) => `<rootDir>/${folder}/{src,test}/**/${name}`);
}

/** jest runs the set-up of a project only if it runs a test of it, so rules are tested without servers and without a build. */
export default {
  projects: [
    project('rules', filesIn(RULES, FILES[tier]), [SLOW, '\\.campaign\\.ts$']),
    project('servers', filesIn(SERVERS, FILES[tier]), [], {
      globalSetup: '<rootDir>/packages/embedded/jest/start-servers.js',
      globalTeardown: '<rootDir>/packages/embedded/jest/stop-servers.js',
    }),
    // Slow tests and campaigns of any package may start built programs.
    project(
      'systems',
      [
        ...filesIn(SYSTEMS, FILES[tier]),
        ...filesIn(RULES, tier === 'campaign' ? FILES.campaign : FILES.slow),
      ],
      [],
      {
        globalSetup: '<rootDir>/packages/embedded/jest/start-systems.js',
        globalTeardown: '<rootDir>/packages/embedded/jest/stop-servers.js',
      },
    ),
  ],
  // Only ends a run that hangs.
  testTimeout: 300_000,
  testSequencer: '<rootDir>/packages/embedded/jest/sequencer.js',
  // Sized for two cores, because the tests of whole systems mostly wait for an interval or a retry.
  maxWorkers: 4,
  // Each test file loads its modules again, and their memory is not freed. A worker of 1.5 GB also takes too long to exit.
  workerIdleMemoryLimit: '600MB',
};
