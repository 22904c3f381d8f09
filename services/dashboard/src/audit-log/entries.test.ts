import { expect, test } from '@jest/globals';
import { AUDIT_ACTIONS } from '@tocsin/contracts/vocabulary';
import { describeAction, describeActor, listChanges, summarizeChanges } from './entries.ts';

test('describes actions and actors', () => {
  const actions = ['channel.secretRevealed', 'apiKey.created', 'session.failed'];
  const texts = ['Channel secret revealed', 'API key created', 'Sign-in failed'];
  expect(actions.map(describeAction)).toEqual(texts);
  expect(new Set(AUDIT_ACTIONS.map(describeAction)).size).toBe(AUDIT_ACTIONS.length);
  expect(describeActor({ type: 'apiKey', id: 'k', name: 'CI' })).toBe('CI (API key)');
  expect(describeActor({ type: 'user', id: 'u', name: 'Ada' })).toBe('Ada');
});

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

test('summarizeChanges names the first fields', () => {
  const fields = ['name', 'url', 'interval', 'timeout', 'method'];
  const changes = fields.map((field) => ({ field, from: null, to: 1 }));
  expect(summarizeChanges(changes)).toBe('5 changes: name, url, interval and 2 more');
});
