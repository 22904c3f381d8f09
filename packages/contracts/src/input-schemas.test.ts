import { expect, test } from '@jest/globals';
import type { z } from 'zod';
import { createApiKeySchema } from './api-keys/api-key.ts';
import { createChannelSchema, monitorChannelsSchema } from './channels/channel.ts';
import { toFieldErrors } from './field-errors.ts';
import { httpsUrl, pageLimit } from './fields.ts';
import { createMaintenanceWindowSchema } from './maintenance-windows/maintenance-window.ts';
import { monitorSetSchema } from './monitor-sets/monitor-set.ts';
import { periodQuerySchema } from './monitors/stats.ts';
import { emailSchema, newPasswordSchema } from './people/user.ts';
import { availabilityQuerySchema } from './reports/availability.ts';
import { CREATE } from './routes/route.ts';

const ID = '0197f2a4-0000-7000-8000-000000000001';
const OTHER = '0197f2a4-0000-7000-8000-000000000002';
const [FROM, TO] = ['2026-01-01T00:00Z', '2026-01-02T00:00Z'];

/** Returns the paths of all invalid fields in an object with these fields and other valid ones. */
const pathsOf = (schema: z.ZodType, valid: object, fields: object): string[] =>
  toFieldErrors(schema.safeParse({ ...valid, ...fields }).error?.issues ?? [], schema).map(
    ({ path }) => path,
  );

const secretOf = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
const channel = { name: 'ops', url: 'https://hooks.example' };

test.each<[object, string[]]>([
  [{}, []],
  [{ url: 'http://hooks.example' }, ['url']],
  [{ monitorIds: [ID, OTHER] }, []],
  [{ monitorIds: [ID, ID.toUpperCase()] }, ['monitorIds.1']],
  [{ monitorIds: 'x' }, ['monitorIds']],
  [{ events: ['monitor.down', 'monitor.up'] }, []],
  [{ events: [] }, ['events']],
  [{ events: ['monitor.down', 'monitor.down'] }, ['events']],
  [{ events: ['monitor.slow'] }, ['events.0']],
  [{ allMonitors: 'yes' }, ['allMonitors']],
  [{ secret: secretOf(24) }, []],
  [{ secret: secretOf(64) }, []],
  [{ secret: secretOf(23) }, ['secret']],
  [{ secret: secretOf(65) }, ['secret']],
  [{ secret: secretOf(25).replace('=', '') }, ['secret']],
])('a channel with %j has errors at %j', (fields, paths) => {
  expect(pathsOf(createChannelSchema, channel, fields)).toEqual(paths);
});

test.each<[object, string[]]>([
  [{ add: [ID], remove: [OTHER] }, []],
  [{ add: [ID, ID] }, ['add.1']],
  [{ add: [ID], remove: [ID] }, ['remove']],
])('a change of the channels of a monitor: %j has errors at %j', (change, paths) => {
  expect(pathsOf(monitorChannelsSchema, {}, change)).toEqual(paths);
});

test.each<[object, string[]]>([
  [{ endsAt: TO }, []],
  [{ durationSeconds: 30 * 86_400 }, []],
  [{ durationSeconds: 30 * 86_400 + 1 }, ['durationSeconds']],
  [{ durationSeconds: 0 }, ['durationSeconds']],
  [{}, ['endsAt']],
  [{ endsAt: TO, durationSeconds: 60 }, ['endsAt']],
])('a maintenance window of a program with %j has errors at %j', (fields, paths) => {
  expect(pathsOf(createMaintenanceWindowSchema, { name: 'deploy' }, fields)).toEqual(paths);
});

test.each<[object, string[]]>([
  [{}, []],
  [{ endsAt: '2026-01-02' }, ['endsAt']],
  [{ monitorIds: [ID, ID] }, ['monitorIds']],
  [
    { monitorIds: Array.from({ length: 5_001 }, (_, index) => ID.slice(0, -4) + String(index + 1_000)) },
    ['monitorIds'],
  ],
  [{ rrule: 'x'.repeat(501) }, ['rrule']],
  [{ timeZone: 5 }, ['timeZone']],
])('a maintenance window with other fields has errors (%#)', (fields, paths) => {
  const valid = { name: 'deploy', startsAt: FROM, endsAt: TO };
  expect(pathsOf(createMaintenanceWindowSchema, valid, fields)).toEqual(paths);
});

test.each<[object, string[]]>([
  [{}, []],
  [{ window: '6h' }, []],
  [{ window: '2h' }, ['window']],
  [{ from: FROM, to: TO }, []],
  [{ window: '6h', from: FROM, to: TO }, ['window']],
  [{ from: FROM }, ['to']],
  [{ to: TO }, ['from']],
  [{ from: FROM, to: FROM }, ['to']],
  [{ from: FROM, to: '2027-02-05T00:00Z' }, []],
  [{ from: FROM, to: '2027-02-05T00:00:00.001Z' }, ['to']],
])('the period %j has errors at %j', (period, paths) => {
  expect(pathsOf(periodQuerySchema, {}, period)).toEqual(paths);
});

test.each<[object, string[]]>([
  [{}, []],
  [{ groupBy: 'example.com/team', selector: 'app=shop', maintenance: 'included' }, []],
  [{ to: FROM }, ['to']],
  [{ groupBy: '-' }, ['groupBy']],
  [{ selector: 'app=' + '='.repeat(3) }, ['selector']],
  [{ maintenance: 'some' }, ['maintenance']],
])('a report with %j has errors at %j', (fields, paths) => {
  expect(pathsOf(availabilityQuerySchema, { from: FROM, to: TO }, fields)).toEqual(paths);
});

test.each<[object, string[]]>([
  [{ scopes: 'read', sources: ['shop', 'shop/*'] }, []],
  [{ scopes: 'write,read' }, ['scopes']],
  [{ sources: [] }, ['sources']],
  [{ sources: ['shop', 'shop'] }, ['sources']],
  [{ sources: ['s*p'] }, ['sources.0']],
  [{ expiresAt: FROM }, ['expiresAt']],
  [{ expiresAt: '9999-01-01T00:00Z' }, []],
])('an API key with %j has errors at %j', (fields, paths) => {
  expect(pathsOf(createApiKeySchema, { name: 'CI' }, fields)).toEqual(paths);
});

test('a set of monitors names the monitor, the channel and the field of each error', () => {
  const monitors = [
    { externalId: 'a', name: 'A', url: 'https://a.example' },
    { externalId: 'b', url: 'b' },
    5,
  ];
  const channels = [{ ...channel, externalId: 'c', monitorExternalIds: ['a', 'a'] }];
  const set = { source: 'shop', monitors, channels, prune: 'yes' };
  const expected = [
    'monitors.1.name',
    'monitors.1.url',
    'monitors.2',
    'channels.0.monitorExternalIds.1',
    'prune',
  ];
  expect(pathsOf(monitorSetSchema, {}, set)).toEqual(expected);
});

test.each<[z.ZodType, unknown, unknown]>([
  [pageLimit, '1', 1],
  [pageLimit, '500', 500],
  [pageLimit, '501', 500],
  [pageLimit, undefined, 50],
  [pageLimit, '0', null],
  [pageLimit, '1.5', null],
  [emailSchema, ' Ann@Example.com ', 'ann@example.com'],
  [emailSchema, 'ann', null],
  [newPasswordSchema, '12345678', '12345678'],
  [newPasswordSchema, '1234567', null],
  [newPasswordSchema, 'x'.repeat(129), null],
  [httpsUrl, 'HTTPS://a.example', 'HTTPS://a.example'],
  [httpsUrl, 'HTTP://a.example', null],
  [httpsUrl, 'https://@a.example', null],
  [CREATE.headers, { 'Idempotency-Key': 'key 1' }, { 'Idempotency-Key': 'key 1' }],
  [CREATE.headers, { 'Idempotency-Key': '"a\\"b"' }, { 'Idempotency-Key': 'a"b' }],
  [CREATE.headers, { 'Idempotency-Key': '' }, null],
  [CREATE.headers, { 'Idempotency-Key': 'x'.repeat(256) }, null],
])('a single value is parsed or refused (%#): %p %p', (schema, input, expected) => {
  expect(schema.safeParse(input).data ?? null).toEqual(expected);
});
