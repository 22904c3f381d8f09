import { expect, test } from '@jest/globals';
import { describeAction, describeTarget, listChanges } from './entries.ts';

const EXISTS = { key: 'a', operator: 'Exists' };

test('listChanges formats values, and lists the keys of objects that differ', () => {
  expect(
    listChanges([
      { field: 'interval', from: 30, to: 60 },
      { field: 'runbookUrl', from: null, to: 'https://wiki.example' },
      { field: 'regions', from: ['eu', 'us'], to: [] },
      { field: 'labels', from: { app: 'shop', old: '' }, to: { app: 'blog' } },
      { field: 'selector', from: null, to: { matchLabels: { app: 'shop' }, matchExpressions: [EXISTS] } },
      { field: 'headers', from: { Authorization: '(secret)' }, to: null },
      { field: 'body', from: '(secret)', to: '(secret)' },
      { field: 'name', from: 'x'.repeat(301), to: '' },
    ]),
  ).toEqual([
    { field: 'interval', from: '30', to: '60' },
    { field: 'runbookUrl', from: null, to: 'https://wiki.example' },
    { field: 'regions', from: 'eu, us', to: '(empty)' },
    { field: 'labels.app', from: 'shop', to: 'blog' },
    { field: 'labels.old', from: '(empty)', to: null },
    { field: 'selector.matchLabels.app', from: null, to: 'shop' },
    { field: 'selector.matchExpressions', from: null, to: '{"key":"a","operator":"Exists"}' },
    { field: 'headers.Authorization', from: '(secret)', to: null },
    { field: 'body', from: '(secret)', to: '(secret)' },
    { field: 'name', from: `${'x'.repeat(300)}…`, to: '(empty)' },
  ]);
});

test.each([
  ['invitation.accepted', 'invitation', 'member', 'Invitation accepted (member)'],
  ['set.applied', 'set', 'shop', 'Files applied to source shop'],
  ['monitor.updated', 'monitor', 'Shop', 'Monitor updated Shop'],
] as const)('describes %s of a target', (action, type, name, text) => {
  expect(`${describeAction(action)} ${describeTarget({ type, id: null, name })}`).toBe(text);
});
