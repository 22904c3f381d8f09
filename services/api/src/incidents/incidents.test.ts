import { describe, expect, test } from '@jest/globals';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { IncidentNote, Timeline } from '@tocsin/contracts/incidents/timeline';
import { LIMITS } from '@tocsin/contracts/limits';
import { systemActor } from '@tocsin/db/audit-log/actor';
import { deleteUser } from '@tocsin/db/users/users';
import { until } from '@tocsin/embedded/testing/until';
import { goDown } from '../testing/channels.ts';
import { newMonitor } from '../testing/monitors.ts';
import { checkOnce } from '../testing/schedules.ts';
import { newSignedInUser, type TestUser } from '../testing/sign-in.ts';
import { StreamReader } from '../testing/stream-reader.ts';
import { useTestApi } from '../testing/test-api.ts';

const INCIDENTS = '/api/dashboard/incidents';
const UNKNOWN = '019a9f0e-5d2e-7c11-8f5a-1c1f4d1b2a3c';

const api = await useTestApi({ streamLimits: { pollMs: 20 } });
const ada = await newSignedInUser(api, { role: 'member', name: 'Ada' });
const bob = await newSignedInUser(api, { role: 'member', name: 'Bob' });
const owner = await newSignedInUser(api, { role: 'owner', name: 'Grace' });
const stranger = await newSignedInUser(api, { accountId: api.other.id });

async function list(query: object = {}, { agent } = ada): Promise<Incident[]> {
  const response = await agent.get(INCIDENTS).query(query);
  if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  return (response.body as { incidents: Incident[] }).incidents;
}

async function newIncident(name = 'Shop'): Promise<{ readonly path: string; readonly monitorId: string }> {
  const { id: monitorId } = await newMonitor(api, { name });
  await goDown(api, monitorId);
  const [incident] = await list({ monitorId });
  return { path: `${INCIDENTS}/${incident?.id}`, monitorId };
}

const acknowledge = ({ agent }: TestUser, path: string) => agent.put(`${path}/acknowledgement`).send({});
const withdraw = ({ agent }: TestUser, path: string) => agent.delete(`${path}/acknowledgement`);
const incidentOf = async (path: string): Promise<Incident> =>
  ((await ada.agent.get(path)).body as { incident: Incident }).incident;
const notesOf = async (path: string): Promise<IncidentNote[]> =>
  ((await bob.agent.get(`${path}/timeline`)).body as Timeline).entries.flatMap((entry) =>
    entry.kind === 'note' ? [entry.note] : [],
  );

async function addNote(user: TestUser, path: string, text: string): Promise<string> {
  const response = await user.agent.post(`${path}/notes`).send({ text });
  expect(response.status).toBe(201);
  const { note } = response.body as { note: IncidentNote };
  return `${path}/notes/${note.id}`;
}

describe('incidents', () => {
  test('are listed newest first, filtered and paged', async () => {
    const [past, open] = [await newIncident('Past'), await newIncident('Open')];
    await checkOnce(api, past.monitorId);
    const all = await list();
    expect(all.map(({ monitorName }) => monitorName)).toEqual(['Open', 'Past']);
    expect(await list({ state: 'open' })).toMatchObject([{ monitorId: open.monitorId }]);
    expect(await list({ monitorId: past.monitorId })).toEqual([all[1]]);
    expect(await list({ limit: 1, before: all[0]?.id })).toEqual([all[1]]);
    expect(await incidentOf(past.path)).toEqual(all[1]);
    expect(await list({}, stranger)).toEqual([]);
    for (const [field, value] of [
      ['state', 'closed'],
      ['monitorId', 'x'],
      ['before', UNKNOWN],
    ] as const) {
      const response = await ada.agent.get(INCIDENTS).query({ [field]: value });
      expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: field }] }]);
    }
  });
});

describe('an acknowledgement', () => {
  test('names one user, may be repeated, and is free again when anyone removes it', async () => {
    const { path } = await newIncident();
    const first = await acknowledge(ada, path);
    expect([first.status, first.body]).toMatchObject([
      200,
      { incident: { acknowledgedBy: { id: ada.id, name: 'Ada' }, acknowledgedAt: expect.any(String) } },
    ]);
    const { incident } = first.body as { incident: Incident };
    expect((await acknowledge(ada, path)).body).toMatchObject({
      incident: { ...incident, durationSeconds: expect.any(Number) },
    });
    const second = await acknowledge(bob, path);
    expect([second.status, second.body]).toMatchObject([
      409,
      { detail: expect.stringMatching(/^Ada acknowledged/) },
    ]);
    for (const expected of [200, 200]) expect((await withdraw(bob, path)).status).toBe(expected);
    expect(await incidentOf(path)).toMatchObject({ acknowledgedAt: null, acknowledgedBy: null });
    expect((await acknowledge(bob, path)).status).toBe(200);
  });

  test('of several users at once is given to one of them', async () => {
    const { path } = await newIncident();
    const users = [ada, bob, owner];
    const statuses = (await Promise.all(users.map((user) => acknowledge(user, path)))).map(
      ({ status }) => status,
    );
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 409, 409]);
    expect((await incidentOf(path)).acknowledgedBy?.id).toBe(users[statuses.indexOf(200)]?.id);
  });

  test('of a resolved incident cannot be made or removed, but repeated', async () => {
    const { path, monitorId } = await newIncident();
    await acknowledge(ada, path);
    await checkOnce(api, monitorId);
    expect((await acknowledge(ada, path)).status).toBe(200);
    const removed = await withdraw(ada, path);
    expect([removed.status, removed.body]).toMatchObject([
      409,
      { detail: expect.stringMatching(/resolved at .*keeps/) },
    ]);
    const other = await newIncident();
    await checkOnce(api, other.monitorId);
    const late = await acknowledge(ada, other.path);
    expect([late.status, late.body]).toMatchObject([409, { detail: expect.stringMatching(/no longer/) }]);
  });
});

describe('a note', () => {
  test('may be edited by its author only, and deleted by its author and owners', async () => {
    const { path } = await newIncident();
    const note = await addNote(ada, path, 'The disk is **full**');
    expect(await notesOf(path)).toMatchObject([
      { text: 'The disk is **full**', author: { id: ada.id, name: 'Ada' }, editedAt: null },
    ]);
    for (const { agent } of [bob, owner]) {
      const refused = await agent.patch(note).send({ text: 'Mine' });
      expect([refused.status, refused.body]).toMatchObject([
        403,
        { type: 'urn:tocsin:problem:author-required', detail: expect.stringMatching(/^Ada wrote/) },
      ]);
    }
    expect((await bob.agent.delete(note)).status).toBe(403);
    const edited = await ada.agent.patch(note).send({ text: 'Fixed' });
    expect(edited.body).toMatchObject({ note: { text: 'Fixed', editedAt: expect.any(String) } });
    expect((await owner.agent.delete(note)).status).toBe(204);
    expect((await ada.agent.delete(note)).status).toBe(404);
    expect(await notesOf(path)).toEqual([]);
    const own = await addNote(ada, path, 'Another');
    expect((await ada.agent.delete(own)).status).toBe(204);
  });

  test('has a valid text', async () => {
    const { path } = await newIncident();
    for (const text of ['  ', 'x'.repeat(LIMITS.noteCharacters + 1)]) {
      const response = await ada.agent.post(`${path}/notes`).send({ text });
      expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: 'text' }] }]);
    }
  });

  test('keeps the name of an author who is removed', async () => {
    const { path } = await newIncident();
    const leaving = await newSignedInUser(api, { role: 'member', name: 'Linus' });
    await addNote(leaving, path, 'Bye');
    await acknowledge(leaving, path);
    await deleteUser(api.context.db, systemActor(api.account.id), leaving.id);
    expect(await notesOf(path)).toMatchObject([{ author: { name: 'Linus' } }]);
    expect((await incidentOf(path)).acknowledgedBy).toEqual({ id: leaving.id, name: 'Linus' });
  });

  test('is refused beyond the limit of an incident, also by two at once', async () => {
    const { path } = await newIncident();
    await api.database.pool.query(
      `insert into incident_notes (id, incident_id, author_id, author_name, text)
       select gen_random_uuid(), $1, $1, 'Ada', 'x' from generate_series(2, $2::int)`,
      [path.split('/').at(-1), LIMITS.notesPerIncident],
    );
    const post = () => ada.agent.post(`${path}/notes`).send({ text: 'One more' });
    const statuses = (await Promise.all([post(), post()])).map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([201, 409]);
  });

  test('is not found under another incident', async () => {
    const [one, other] = [await newIncident(), await newIncident()];
    const elsewhere = (await addNote(ada, one.path, 'Here')).replace(one.path, other.path);
    expect((await ada.agent.patch(elsewhere).send({ text: 'x' })).status).toBe(404);
    expect((await ada.agent.delete(elsewhere)).status).toBe(404);
  });
});

test('streams send an incident whenever people change it, and again in a replay', async () => {
  const { path } = await newIncident();
  const reader = await StreamReader.open(api, { cookie: bob.cookie });
  await until('a position', () => reader.lastEventId);
  const sent = () => reader.received.filter(({ event }) => event === 'incident').map(({ data }) => data);
  await acknowledge(ada, path);
  await until('the acknowledgement', () => sent().length === 1);
  expect(sent()[0]).toEqual({ ...(await incidentOf(path)), durationSeconds: expect.any(Number) });
  const note = await addNote(ada, path, 'Found it');
  await until('the note', () => sent().length === 2);
  await ada.agent.delete(note);
  await until('the deleted note', () => sent().length === 3);
  await withdraw(ada, path);
  await until('the withdrawal', () => sent().length === 4);
  expect(sent()[3]).toMatchObject({ acknowledgedBy: null });
  await reader.close();
  const again = await StreamReader.open(api, { cookie: bob.cookie, position: reader.lastEventId });
  await until('the replay', () => again.received.some(({ event }) => event === 'incident'));
  await again.close();
});
