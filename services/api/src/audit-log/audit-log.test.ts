import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '@tocsin/contracts/audit-log/audit-log';
import { AUDIT_ACTIONS } from '@tocsin/contracts/vocabulary';
import { acceptInvitationOf } from '@tocsin/db/users/invitations';
import { until } from '@tocsin/embedded/testing/until';
import { goDown, newChannel } from '../testing/channels.ts';
import { MONITORS, newMonitor } from '../testing/monitors.ts';
import { browser, newSignedInUser, newUser, PASSWORD, signIn } from '../testing/sign-in.ts';
import { OPERATOR_KEY, useTestApi } from '../testing/test-api.ts';

const D = '/api/dashboard';
const LOG = `${D}/audit-log`;

const api = await useTestApi();
const { agent: owner, id: ownerId } = await newSignedInUser(api);

async function read(query: string | object, agent = owner, path = LOG): Promise<AuditEntry[]> {
  const response = await agent.get(path).query(query);
  expect([response.status, response.body]).toEqual([200, expect.anything()]);
  return (response.body as { entries: AuditEntry[] }).entries;
}

const actionsOf = async (targetId: string): Promise<string[]> =>
  (await read({ targetId })).map(({ action }) => action);

const user = () => ({ type: 'user', id: ownerId, name: 'Test user' });
const from = (field: string, before: unknown, after: unknown) => ({ field, from: before, to: after });

describe('an entry is written', () => {
  test('for each change of a monitor, with its request and without secrets', async () => {
    const requestId = randomUUID();
    const { id } = await newMonitor(api, { name: 'Cart', headers: { Authorization: 'Bearer hunter2' } });
    const put = (fields: object) =>
      api.as().put(`${MONITORS}/${id}`).set('X-Request-Id', requestId).send(fields).expect(200);
    await put({ headers: { Authorization: 'Bearer hunter3' }, interval: 30 });
    await put({ interval: 30 });
    await owner.delete(`${D}/monitors/${id}`).expect(204);
    const entries = await read({ targetId: id });
    expect(entries.map(({ action }) => action)).toEqual([
      'monitor.created',
      'monitor.updated',
      'monitor.deleted',
    ]);
    const hidden = { Authorization: '(secret)' };
    expect(entries[1]).toMatchObject({
      requestId,
      actor: { type: 'apiKey', name: 'both' },
      target: { type: 'monitor', id, name: 'Cart' },
      changes: [from('interval', 60, 30), from('headers', hidden, hidden)],
    });
    expect(entries[0]?.changes).toContainEqual(from('headers', null, hidden));
    expect(entries[2]).toMatchObject({ actor: user() });
    expect(entries[2]?.changes).toContainEqual(from('interval', 30, null));
    expect(JSON.stringify(entries)).not.toContain('hunter');
  });

  test('for a set and each of its monitors and channels, if it changes anything', async () => {
    const source = randomUUID();
    const monitors = [{ externalId: `${source}-a`, name: 'a', url: 'https://a.example' }];
    const channels = [{ externalId: `${source}-c`, name: 'c', url: 'https://hooks.invalid/c' }];
    const before = (await read('')).at(-1)?.timestamp;
    const put = (set: object) =>
      api
        .as()
        .put(MONITORS)
        .send({ source, monitors, ...set })
        .expect(200);
    await put({ channels, dryRun: true });
    await put({ channels });
    await put({ channels });
    await put({ monitors: [], channels: [], prune: true });
    const entries = await read({ since: before });
    expect(entries.map(({ action, target }) => `${action} ${target.name}`)).toEqual([
      'monitor.created a',
      'channel.created c',
      `set.applied ${source}`,
      'monitor.deleted a',
      'channel.deleted c',
      `set.applied ${source}`,
    ]);
    expect(entries[2]?.changes).toEqual([from('monitorsCreated', null, 1), from('channelsChanged', null, 1)]);
  });

  test('for each change of a channel, and when its secret is shown', async () => {
    const { channel, secret } = await newChannel(owner, { name: 'Ops' });
    const path = `${D}/channels/${channel.id}`;
    await owner.patch(path).send({ enabled: false, name: 'Ops' }).expect(200);
    await owner.get(`${path}/secret`).expect(200);
    await owner.post(`${path}/rotate-secret`).expect(200);
    await owner.delete(path).expect(204);
    const entries = await read({ targetId: channel.id });
    expect(entries).toMatchObject([
      { action: 'channel.created', actor: user() },
      { action: 'channel.updated', changes: [from('enabled', true, false)] },
      { action: 'channel.secretRevealed', changes: [] },
      { action: 'channel.secretRotated', changes: [from('secret', '(secret)', '(secret)')] },
      { action: 'channel.deleted', actor: user() },
    ]);
    expect(JSON.stringify(entries)).not.toContain(secret);
  });

  test('for each change of a maintenance window', async () => {
    const window = { name: 'Deploy', durationSeconds: 3_600, allMonitors: true };
    const { body } = await api.as().post('/api/cli/maintenance-windows').send(window).expect(201);
    const { id } = (body as { maintenanceWindow: { id: string } }).maintenanceWindow;
    const path = `${D}/maintenance-windows/${id}`;
    await owner.patch(path).send({ name: 'Deployment' }).expect(200);
    await owner.post(`${path}/end`).expect(200);
    await owner.delete(path).expect(204);
    expect(await read({ targetId: id })).toMatchObject([
      { action: 'maintenanceWindow.created', actor: { type: 'apiKey' } },
      { action: 'maintenanceWindow.updated', changes: [from('name', 'Deploy', 'Deployment')] },
      { action: 'maintenanceWindow.ended', changes: [{ field: 'endsAt' }] },
      { action: 'maintenanceWindow.deleted', actor: user() },
    ]);
  });

  test('for the canaries of a region, if they change', async () => {
    const { id } = await newMonitor(api);
    for (const canaryMonitorIds of [[id], [id], []])
      await owner.put(`${D}/regions/default`).send({ canaryMonitorIds }).expect(200);
    const updated = { action: 'region.updated', actor: user() };
    expect(await read({ targetId: 'default' })).toMatchObject([
      { ...updated, changes: [from('canaryMonitorIds', [], [id])] },
      { ...updated, changes: [from('canaryMonitorIds', [id], [])] },
    ]);
  });

  test('for an incident that is acknowledged, and no longer', async () => {
    const { id: monitorId } = await newMonitor(api, { name: 'Shop' });
    await goDown(api, monitorId);
    const { body } = await owner.get(`${D}/incidents`).query({ monitorId }).expect(200);
    const { id = '' } = (body as { incidents: { id: string }[] }).incidents[0] ?? {};
    for (const method of ['put', 'put', 'delete', 'delete'] as const)
      await owner[method](`${D}/incidents/${id}/acknowledgement`).expect(200);
    const { name } = user();
    expect(await read({ targetId: id })).toMatchObject([
      { action: 'incident.acknowledged', changes: [from('acknowledgedBy', null, name)] },
      { action: 'incident.acknowledgementRemoved', changes: [from('acknowledgedBy', name, null)] },
    ]);
  });

  test('for a key, and for those that are revoked with their creator', async () => {
    const member = await newSignedInUser(api, { role: 'member' });
    const fields = { name: 'CI', scopes: 'read' };
    const { body } = await member.agent.post(`${D}/api-keys`).send(fields).expect(201);
    const { apiKey, key } = body as { apiKey: { id: string }; key: string };
    await owner.delete(`${D}/users/${member.id}`).expect(204);
    const entries = await read({ targetId: apiKey.id });
    expect(entries).toMatchObject([
      {
        action: 'apiKey.created',
        actor: { type: 'user', id: member.id, name: 'Test user' },
        changes: [from('name', null, 'CI'), from('key', null, '(secret)'), from('scopes', null, 'read')],
      },
      { action: 'apiKey.deleted', actor: user() },
    ]);
    expect(JSON.stringify(entries)).not.toContain(key);
    expect(await actionsOf(member.id)).toEqual(['user.created', 'user.deleted']);
  });

  test('for users and invitations, without their addresses', async () => {
    const email = `${randomUUID()}@example.com`;
    const { body } = await owner.post(`${D}/invitations`).send({ role: 'member', email }).expect(201);
    const { invitation, token } = body as { invitation: { id: string }; token: string };
    const person = { token, name: 'Grace', password: PASSWORD };
    const accepted = await browser(api).post(`${D}/invitations/accept`).send(person).expect(201);
    const { id } = (accepted.body as { user: { id: string } }).user;
    for (const role of ['owner', 'owner']) await owner.patch(`${D}/users/${id}`).send({ role }).expect(200);
    const grace = { type: 'user', id, name: 'Grace' };
    const address = from('email', '(secret)', null);
    expect(await read({ targetId: invitation.id })).toMatchObject([
      { action: 'invitation.created', actor: user() },
      { action: 'invitation.accepted', actor: grace, changes: [from('role', 'member', null), address] },
    ]);
    expect(await read({ targetId: id })).toMatchObject([
      { action: 'user.created', actor: grace },
      { action: 'user.updated', actor: user(), changes: [from('role', 'member', 'owner')] },
    ]);
    expect(await read({ actorId: id, action: 'session.created' })).toHaveLength(1);
    expect(JSON.stringify(await read({ limit: 500 }))).not.toContain(email);
  });

  test('for an invitation that is revoked, and one that is accepted by single sign-on', async () => {
    const invite = async (fields: object = {}): Promise<string> => {
      const response = await owner.post(`${D}/invitations`).send({ role: 'member', ...fields });
      return (response.body as { invitation: { id: string } }).invitation.id;
    };
    const id = await invite();
    await owner.delete(`${D}/invitations/${id}`).expect(204);
    expect(await actionsOf(id)).toEqual(['invitation.created', 'invitation.deleted']);
    const email = `${randomUUID()}@example.com`;
    await invite({ email });
    await acceptInvitationOf(api.context.db, email, 'Joan');
    expect(await read({ limit: 2 })).toMatchObject([
      { action: 'invitation.accepted', actor: { name: 'Joan' } },
      { action: 'user.created', actor: { name: 'Joan' } },
    ]);
  });

  test('for sign-ins, failed ones of users, and a new password', async () => {
    const { id, email } = await newUser(api);
    const agent = browser(api);
    const send = (address: string, password: string) =>
      agent.post('/api/auth/sign-in/email').send({ email: address, password });
    await send(`${randomUUID()}@example.com`, PASSWORD).expect(401);
    await send(email, 'wrong password').expect(401);
    await send(email, PASSWORD).expect(200);
    const change = { currentPassword: PASSWORD, newPassword: `${PASSWORD}!` };
    await agent.post('/api/auth/change-password').send(change).expect(200);
    const own = { type: 'user', id, name: 'Test user' };
    expect(await read({ actorId: id })).toMatchObject([
      { action: 'session.created', actor: own, target: { type: 'session', name: 'Test user' } },
      { action: 'user.passwordChanged', actor: own, target: own },
    ]);
    // Written after the response.
    const failed = await until('the failed sign-in to be recorded', async () => {
      const entries = await read({ action: 'session.failed' });
      return entries.length > 0 && entries;
    });
    expect(failed).toMatchObject([{ actor: { type: 'user', id: null, name: 'Unknown' }, target: own }]);
  });

  test('for each agent region and each of its tokens, without the token', async () => {
    const code = `r-${randomUUID()}`;
    await owner.post(`${D}/regions`).send({ code, name: 'Office' }).expect(201);
    const tokens = `${D}/regions/${code}/agent-tokens`;
    const { body } = await owner.post(tokens).send({ name: 'Rack 1' }).expect(201);
    const { agentToken, token } = body as { agentToken: { id: string }; token: string };
    await owner.delete(`${tokens}/${agentToken.id}`).expect(204);
    await owner.delete(`${D}/regions/${code}`).expect(204);
    expect(await actionsOf(code)).toEqual(['region.created', 'region.deleted']);
    const ofToken = await read({ targetId: agentToken.id });
    expect(ofToken.map(({ action }) => action)).toEqual(['agentToken.created', 'agentToken.deleted']);
    expect(JSON.stringify(ofToken)).not.toContain(token);
  });
});

describe('reading', () => {
  test('tails the log by the timestamp of the last entry, with an API key as well', async () => {
    for (const name of ['one', 'two', 'three']) await newMonitor(api, { name });
    const latest = await read({ limit: 3 });
    expect(latest.map(({ target }) => target.name)).toEqual(['one', 'two', 'three']);
    const query = { since: latest[0]?.timestamp, limit: 1 };
    expect(await read(query, api.as(api.account.readKey), '/api/cli/audit-log')).toEqual([latest[1]]);
    expect(await read({ since: latest[2]?.timestamp })).toEqual([]);
  });

  test('pages back by the id of the earliest entry, and filters', async () => {
    const { id } = await newMonitor(api, { name: 'filtered' });
    await api.as().put(`${MONITORS}/${id}`).send({ name: 'renamed' }).expect(200);
    const [created, renamed] = await read({ targetId: id });
    expect(await read({ targetId: id, limit: 1 })).toEqual([renamed]);
    expect(await read({ targetId: id, limit: 1, before: renamed?.id })).toEqual([created]);
    expect(await read({ targetId: id, action: 'monitor.created' })).toEqual([created]);
    expect(await read({ targetId: id, actorId: created?.actor.id })).toEqual([created, renamed]);
    expect(await read({ targetId: id, actorId: ownerId })).toEqual([]);
  });

  test('shows another account nothing, not even as a cursor', async () => {
    const [entry] = await read({ limit: 1 });
    const other = await signIn(api, { accountId: api.other.id });
    expect(await read({ targetId: entry?.target.id }, other)).toEqual([]);
    const response = await other.get(LOG).query({ before: entry?.id });
    expect([response.status, response.body]).toMatchObject([400, { errors: [{ path: 'before' }] }]);
  });
});

test('a change by an operator is in the logs of the account and of the operators', async () => {
  const operator = api.as(OPERATOR_KEY);
  const path = '/api/operator/accounts';
  const { body } = await operator.post(path).send({ name: 'Shop' }).expect(201);
  const { id } = (body as { account: { id: string } }).account;
  await operator.patch(`${path}/${id}`).send({ name: 'Shop 2' }).expect(200);
  const { id: ownerOfShop, agent } = await newSignedInUser(api, { accountId: id });
  const entry = {
    actor: { type: 'operatorKey', id: null, name: 'OPERATOR_API_KEY' },
    action: 'account.updated',
    target: { type: 'account', id, name: 'Shop 2' },
    changes: [{ field: 'name', from: 'Shop', to: 'Shop 2' }],
  };
  expect(await read({ action: 'account.updated' }, agent)).toMatchObject([entry]);
  await operator.delete(`${path}/${id}?confirm=shop`).expect(204);
  const entries = await read({ limit: 500 }, operator, '/api/operator/audit-log');
  expect(entries.map(({ action }) => action)).toEqual([
    'account.created',
    'account.updated',
    'account.deleted',
  ]);
  const ofAccount = { field: 'account', from: null, to: 'shop' };
  expect(entries[1]).toMatchObject({ ...entry, changes: [...entry.changes, ofAccount] });
  expect(await read({ targetId: ownerOfShop })).toEqual([]);
});

test('every action except background actions was recorded', async () => {
  const { rows } = await api.database.pool.query<{ action: string }>('select distinct action from audit_log');
  const recorded = new Set(rows.map(({ action }) => action));
  expect(AUDIT_ACTIONS.filter((action) => !recorded.has(action))).toEqual(['channel.disabled']);
});
