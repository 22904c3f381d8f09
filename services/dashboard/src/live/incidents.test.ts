import { expect, test } from '@jest/globals';
import { INCIDENT } from '@tocsin/contracts/routes/examples';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import { updateIncident } from './incidents.ts';

const open = { id: INCIDENT.id, openedAt: INCIDENT.openedAt, acknowledgedAt: null, acknowledgedBy: null };
const rows = [
  { id: 'down', incident: open },
  { id: 'down too', incident: { ...open, id: 'another' } },
  { id: 'up', incident: null },
];

const acknowledged: Incident = {
  ...INCIDENT,
  acknowledgedAt: '2026-11-20T12:01:00.000Z',
  acknowledgedBy: { id: '019a9f19-7283-7495-86a7-b8c9daebfc0d', name: 'Ada' },
};

test('an acknowledgement appears in the row of its incident, and disappears when it is removed', () => {
  const after = updateIncident(rows, acknowledged);
  expect(after[0]?.incident).toEqual({
    ...open,
    acknowledgedAt: acknowledged.acknowledgedAt,
    acknowledgedBy: 'Ada',
  });
  expect([after[1], after[2]]).toEqual([rows[1], rows[2]]);
  expect(after[1]).toBe(rows[1]);
  expect(updateIncident(after, INCIDENT)).toEqual(rows);
});

test('a resolved incident does not return', () => {
  const resolved = { ...acknowledged, resolvedAt: '2026-11-20T12:05:00.000Z' };
  const after = updateIncident(rows, resolved);
  expect(after[0]?.incident).toBeNull();
  expect(updateIncident(after, acknowledged)[0]?.incident).toBeNull();
});
