import { expect, test } from '@jest/globals';
import { AUDIT_ACTIONS } from '@tocsin/contracts/vocabulary';
import { describeAction, describeActor, listChanges, summarizeChanges } from './entries.ts';

test.each([
  ['monitor.updated', 'Monitor updated'],
  ['channel.secretRevealed', 'Channel secret revealed'],
  ['maintenanceWindow.ended', 'Maintenance window ended'],
  ['apiKey.created', 'API key created'],
  ['session.failed', 'Sign-in failed'],
])('describes %s as "%s"', (action, text) => {
  expect(describeAction(action)).toBe(text);
});

test('describes each action differently', () => {
  expect(new Set(AUDIT_ACTIONS.map(describeAction)).size).toBe(AUDIT_ACTIONS.length);
});

test('describeActor tells keys from users', () => {
  expect(describeActor({ type: 'apiKey', id: 'k', name: 'CI' })).toBe('CI (API key)');
  expect(describeActor({ type: 'user', id: 'u', name: 'Ada' })).toBe('Ada');
});

test('listChanges formats values, and lists the keys of objects that differ', () => {
  expect(
    listChanges([
      { field: 'interval', from: 30, to: 60 },
      { field: 'runbookUrl', from: null, to: 'https://wiki.example' },
      { field: 'regions', from: ['eu', 'us'], to: [] },
      { field: 'labels', from: { app: 'shop', old: '' }, to: { app: 'blog' } },
      {
        field: 'selector',
        from: null,
        to: { matchLabels: { app: 'shop' }, matchExpressions: [{ key: 'a', operator: 'Exists' }] },
      },
      { field: 'headers', from: { Authorization: '(secret)' }, to: null },
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
    { field: 'name', from: `${'x'.repeat(300)}…`, to: '(empty)' },
  ]);
});

test('listChanges shows a secret that changed', () => {
  expect(listChanges([{ field: 'headers', from: { A: '(secret)' }, to: { A: '(secret)' } }])).toEqual([
    { field: 'headers.A', from: '(secret)', to: '(secret)' },
  ]);
});

test('summarizeChanges names the first fields', () => {
  const fields = ['name', 'url', 'interval', 'timeout', 'method'];
  expect(summarizeChanges(fields.map((field) => ({ field, from: null, to: 1 })))).toBe(
    '5 changes: name, url, interval and 2 more',
  );
});
