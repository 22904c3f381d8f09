import { expect, test } from '@jest/globals';
import { welcome } from './welcome.ts';

const SECOND_START = {
  port: 3_000,
  host: '127.0.0.1',
  health: [],
  uid: null,
  publicUrl: undefined,
  agentPort: 7_000,
  agentUrl: 'http://127.0.0.1:7000',
  database: 'PostgreSQL',
  queue: 'PostgreSQL',
  dataDir: '.tocsin',
  apiKey: null,
  bootstrapKey: false,
  setupPath: null,
  adminEmail: undefined,
  egressAllowed: [],
};

test.each([
  ['the first start', { apiKey: 'tocsin_live_a', setupPath: '/setup?token=a' }, true],
  ['a first start with a key in the settings', { bootstrapKey: true, setupPath: '/setup?token=a' }, true],
  ['a later start', {}, false],
  ['a later start with a key in the settings', { bootstrapKey: true }, false],
])('explains how to create the first monitor, if it is %s', (_, facts, isExplained) => {
  expect(welcome({ ...SECOND_START, ...facts }).includes('Create your first monitor')).toBe(isExplained);
});
