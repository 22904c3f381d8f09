import { expect, test } from '@jest/globals';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import { INCIDENT } from '@tocsin/contracts/routes/examples';
import { updateIncident } from './incidents.ts';

const open = { id: INCIDENT.id, openedAt: INCIDENT.openedAt, acknowledgedAt: null, acknowledgedBy: null };
const rows = [
  { id: INCIDENT.monitorId, incident: open },
  { id: 'down too', incident: { ...open, id: 'another' } },
  { id: 'up', incident: null },
];
const acknowledged: Incident = {
  ...INCIDENT,
  acknowledgedAt: '2026-11-20T12:01:00.000Z',
  acknowledgedBy: { id: '019a9f19-7283-7495-86a7-b8c9daebfc0d', name: 'Ada' },
};
const shown = { ...open, acknowledgedAt: acknowledged.acknowledgedAt, acknowledgedBy: 'Ada' };

test('an acknowledgement appears in the row of its monitor, and disappears when it is removed', () => {
  const after = updateIncident(rows, acknowledged);
  expect(after[0]?.incident).toEqual(shown);
  expect(after[1]).toBe(rows[1]);
  expect(after[2]).toBe(rows[2]);
  expect(updateIncident(after, INCIDENT)).toEqual(rows);
});

test('the row of a monitor that has just gone down gets its incident', () => {
  const [row] = updateIncident([{ id: INCIDENT.monitorId, incident: null }], acknowledged);
  expect(row?.incident).toEqual(shown);
});

test('a note about a resolved incident does not hide a later one', () => {
  const resolved = { ...acknowledged, resolvedAt: '2026-11-20T12:05:00.000Z' };
  expect(updateIncident(rows, resolved)[0]?.incident).toBeNull();
  const later = [{ id: INCIDENT.monitorId, incident: { ...open, id: 'later' } }];
  expect(updateIncident(later, resolved)).toEqual(later);
});
