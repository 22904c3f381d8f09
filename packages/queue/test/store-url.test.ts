import { expect, test } from '@jest/globals';
import { storedName } from '@tocsin/queue/queue-store';
import { parseStoreUrl } from '@tocsin/queue/store-url';
import { SettingsError } from '@tocsin/runtime/env';

test.each([
  ['redis://localhost:6379', { kind: 'redis', url: 'redis://localhost:6379' }],
  ['rediss://:secret@host/2', { kind: 'redis', url: 'rediss://:secret@host/2' }],
  ['postgres://u:p@host/db', { kind: 'postgres', url: 'postgres://u:p@host/db' }],
  [
    'redis+cluster://a:7000,b:7001',
    {
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
      ],
      options: {},
    },
  ],
  [
    'rediss+sentinel://user:p%40ss@a,[::1]:26380/mymaster/3',
    {
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: '::1', port: 26_380 },
      ],
      options: {
        name: 'mymaster',
        db: 3,
        username: 'user',
        password: 'p@ss',
        tls: {},
        enableTLSForSentinelMode: true,
        sentinelTLS: {},
      },
    },
  ],
  [
    'redis+sentinel://a/main?sentinelUsername=watch&sentinelPassword=p%26w',
    {
      kind: 'sentinel',
      sentinels: [{ host: 'a', port: 26_379 }],
      options: { name: 'main', db: 0, sentinelUsername: 'watch', sentinelPassword: 'p&w' },
    },
  ],
])('%s', (url, expected) => {
  expect(parseStoreUrl(url)).toEqual(expected);
});

test.each([
  'localhost:6379',
  'http://host',
  'redis+sentinel://host',
  'redis+sentinel://host/main?password=x',
  'redis+cluster://',
  'redis+cluster://host?sentinelPassword=x',
  'postgres://a/db?target_session_attrs=standby',
])('refuses %j, and names the setting', (url) => {
  expect(() => parseStoreUrl(url)).toThrow(SettingsError);
  expect(() => parseStoreUrl(url)).toThrow(/^QUEUE_URL /);
});

test.each([
  'redis+cluster://:s3cr/et@host:6379',
  'redis+sentinel://u:s3cret@:1/x',
  'redis+sentinel://host/main?sentinelPasword=s3cret',
])('does not repeat %j, which may hold a password', (url) => {
  expect(() => parseStoreUrl(url)).toThrow(SettingsError);
  expect(() => parseStoreUrl(url)).not.toThrow(/s3cr/);
});

test('queues are named by job and region, and stored under a hash tag', () => {
  expect(storedName('check', 'eu-west-1')).toBe('{checks.eu-west-1}');
  expect(storedName('trigger', 'default')).toBe('{triggers.default}');
  expect(storedName('delivery', null)).toBe('{deliveries}');
  expect(() => storedName('check', null)).toThrow(TypeError);
});
