import { expect, test } from '@jest/globals';
import { describeEdit, undoEdits } from './label-edit.ts';

const MONITORS = [
  { id: 'web', labels: { app: 'shop', tier: 'web' } },
  { id: 'api', labels: { app: 'shop', team: 'a' } },
  { id: 'job', labels: { app: 'shop', team: 'a' } },
  { id: 'new', labels: { team: 'b' } },
];

test.each([
  [{ set: { team: 'b' }, remove: [] }, 'Changes 3 of 4 monitors. Replaces or removes team=a (2).'],
  [{ set: { env: 'prod' }, remove: [] }, 'Changes 4 of 4 monitors.'],
  [{ set: {}, remove: ['tier'] }, 'Changes 1 of 4 monitors. Replaces or removes tier=web (1).'],
])('describes the edit %j', (edit, text) => {
  expect(describeEdit(MONITORS, edit)).toBe(text);
});

test('undoes an edit with one request for all monitors that had the same labels', () => {
  expect(undoEdits(MONITORS, { set: { team: 'b' }, remove: ['tier'] })).toEqual([
    { monitorIds: ['web'], set: { tier: 'web' }, remove: ['team'] },
    { monitorIds: ['api', 'job'], set: { team: 'a' }, remove: ['tier'] },
    { monitorIds: ['new'], set: { team: 'b' }, remove: ['tier'] },
  ]);
});
