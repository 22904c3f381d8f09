/** One suite for the whole monorepo; servers are started once by the global set-up and shared by database and key prefix. */
export default {
  testMatch: ['<rootDir>/{packages,services}/*/{src,test}/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'es6' } },
    ],
  },
  // Resolve our own workspaces to their TypeScript sources, everything else as Node does.
  testEnvironmentOptions: { customExportConditions: ['tocsin-source', 'node', 'node-addons'] },
  globalSetup: '<rootDir>/packages/embedded/jest/global-setup.js',
  globalTeardown: '<rootDir>/packages/embedded/jest/global-teardown.js',
  testSequencer: '<rootDir>/packages/embedded/jest/sequencer.js',
  // Only ends a run that hangs.
  testTimeout: 300_000,
  // For two cores: the tests of whole systems mostly wait, for an interval or a retry.
  maxWorkers: 4,
};
