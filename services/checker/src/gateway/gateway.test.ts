import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  AGENT_CLOSE,
  AGENT_PATH,
  AGENT_PROTOCOL,
  MAX_AGENT_FRAME_BYTES,
} from '@tocsin/contracts/agents/protocol';
import { until } from '@tocsin/embedded/testing/until';
import { ProbeAbortedError } from '@tocsin/probe/probe';
import { GATEWAY_VERSION, REFUSED, TestAgent } from '../testing/test-agent.ts';
import { openCheckerDatabase, REGION } from '../testing/test-checker.ts';
import { createGate } from '../testing/test-recorder.ts';
import { createToken, TestGateway } from '../testing/test-gateway.ts';

const AGENT_TOKEN = `tocsin_agent_${'0'.repeat(48)}`;

const database = await openCheckerDatabase();
afterAll(() => database.close());

function resultWith(response: object): string {
  const result = { ...REFUSED, id: 'unknown', ticket: null, response };
  return JSON.stringify({ type: 'results', results: [result] });
}

/** Returns the connections in the database, or null without any. */
async function storedConnections(): Promise<object[] | null> {
  const rows = await database.query('select region, name, version, in_flight from agent_connections');
  return rows.length === 0 ? null : rows;
}

let system: TestGateway;
beforeEach(async () => {
  system = await TestGateway.start(database);
});
afterEach(async () => {
  await system.gateway.stop();
  await database.query('truncate agent_regions cascade');
});

describe('an agent', () => {
  test('is welcome with the version of the gateway and its region, and is stored and counted', async () => {
    const token = await createToken(database, 'branch');
    const agent = await system.connect({}, token);
    expect(agent.frames).toEqual([{ type: 'welcome', version: GATEWAY_VERSION, region: 'branch' }]);
    const [stored] = await until('the connection to be stored', storedConnections);
    expect(stored).toEqual({ region: 'branch', name: 'test', version: GATEWAY_VERSION, in_flight: 0 });
    expect(await system.value('tocsin_agents_connected')).toEqual({ branch: 1 });
    await agent.vanish();
    await until('the connection to be deleted', async () => (await storedConnections()) === null);
    expect(await system.value('tocsin_agents_connected')).toEqual({ branch: 0 });
  });

  test.each([
    ['is deleted', 'delete from agent_tokens'],
    ['expires', 'update agent_tokens set expires_at = now()'],
  ])('is disconnected when its token %s, and cannot connect again', async (_, change) => {
    const token = await createToken(database);
    const agent = await system.connect({}, token);
    await database.query(change);
    expect(await agent.untilClosed()).toMatchObject({ code: AGENT_CLOSE.tokenRevoked });
    await expect(system.connect({}, token)).rejects.toThrow('401');
  });

  test('that is too old is told which version it needs', async () => {
    const agent = await system.connect({ version: '1.2.0' });
    const { code, reason } = await agent.untilClosed();
    expect([code, reason]).toEqual([AGENT_CLOSE.upgradeRequired, expect.stringContaining('1.3.0')]);
    expect(system.running.size).toBe(0);
  });

  test('of an account with very many agents is refused, and those of others are not', async () => {
    await system.gateway.stop();
    let accountId = 'one';
    const findToken = async () => ({
      id: randomUUID(),
      name: 'test',
      region: REGION,
      accountId,
      expiresAt: null,
    });
    system = await TestGateway.start(database, {}, { findToken, checkEveryMs: 60_000 });
    const open = (): Promise<TestAgent> => TestAgent.open(system.gateway.port, AGENT_TOKEN);
    for (let opened = 0; opened < 1_000; opened += 100) await Promise.all(Array.from({ length: 100 }, open));
    await expect(open()).rejects.toThrow('503');
    accountId = 'other';
    await open();
  });

  test('may connect twice, and both connections are served', async () => {
    const token = await createToken(database);
    const [first, second] = [await system.connect({}, token), await system.connect({}, token)];
    await first.vanish();
    expect(second.closed).toBeNull();
    expect(system.running.has(REGION)).toBe(true);
  });

  test('reconnects when the gateway shuts down', async () => {
    const agent = await system.connect();
    await system.gateway.stop();
    expect(await agent.untilClosed()).toMatchObject({ code: AGENT_CLOSE.restarting });
    expect(await storedConnections()).toBeNull();
    await expect(system.gateway.checkListening()).rejects.toThrow('listen');
  });
});

describe('the workers of a region', () => {
  test('run while agents can run probes, within their credits', async () => {
    const first = await system.connect({ credits: 100 });
    const limits = () => {
      const { concurrency, slowLimit } = system.running.get(REGION) ?? {};
      return [concurrency, slowLimit];
    };
    await until('the workers to start', () => limits()[0] === 100);
    const second = await system.connect({ credits: 2_000 });
    await until('the workers to notice the second agent', () => limits()[0] === 2_100);
    expect(limits()).toEqual([2_100, 1_600]);
    first.send({ type: 'credits', credits: 0 });
    await until('the workers to notice the credits', () => limits()[0] === 2_000);
    await second.vanish();
    await until('the workers to close', () => !system.running.has(REGION));
    first.send({ type: 'credits', credits: 1 });
    await until('the workers to start again', () => system.running.has(REGION));
  });

  test('start only after those of the previous agent are closed', async () => {
    const { opened, open } = createGate();
    const log: string[] = [];
    await system.gateway.stop();
    system = await TestGateway.start(
      database,
      {},
      {
        startWorkers: ({ region }) => {
          log.push('started');
          return {
            region,
            checkProgress: async () => undefined,
            halt: () => undefined,
            resize: () => undefined,
            close: async () => {
              await opened;
              log.push('closed');
            },
          };
        },
      },
    );
    await (await system.connect()).vanish();
    await system.connect();
    expect(log).toEqual(['started']);
    open();
    await until('the new workers', () => log.length === 3);
    expect(log).toEqual(['started', 'closed', 'started']);
  });
});

describe('a connection is closed', () => {
  test.each([
    ['without JSON', 'hello'],
    ['with an unknown message', '{"type":"probes","probes":[]}'],
    ['with a second hello', '{"type":"hello","version":"1.4.0","name":"test","credits":1}'],
    ['with too many credits', '{"type":"credits","credits":1000000}'],
    ['with an invalid header of a long name', resultWith({ headers: { ['€'.repeat(200)]: 1 }, body: null })],
  ])('after a frame %s', async (_, text) => {
    const agent = await system.connect();
    agent.sendText(text);
    expect(await agent.untilClosed()).toMatchObject({ code: AGENT_CLOSE.protocolError });
  });

  test('after a message before the hello', async () => {
    const agent = await TestAgent.open(system.gateway.port, await createToken(database));
    agent.send({ type: 'credits', credits: 1 });
    expect(await agent.untilClosed()).toMatchObject({ code: AGENT_CLOSE.protocolError });
  });

  test('after a frame that is too large', async () => {
    const agent = await system.connect();
    agent.sendText(' '.repeat(MAX_AGENT_FRAME_BYTES + 1));
    const messageTooBig = 1009;
    expect(await agent.untilClosed()).toMatchObject({ code: messageTooBig });
  });

  test('if the agent does not respond to a probe within 15 s after its timeout', async () => {
    await system.gateway.stop();
    system = await TestGateway.start(database, {}, { checkEveryMs: 10 });
    const agent = await system.connect();
    const { prober } = await system.contextOf();
    const request = { url: 'http://shop.example/', method: 'GET', headers: null, body: null } as const;
    const owner = { account: 'shop', resource: 'shop' };
    const probing = prober.probe({ ...request, assertions: null, timeoutMs: -15_000, owner });
    await expect(probing).rejects.toThrow(ProbeAbortedError);
    await agent.untilClosed();
  });

  test('if nothing arrives for five checks in a row', async () => {
    await system.gateway.stop();
    system = await TestGateway.start(database, {}, { checkEveryMs: 10 });
    const agent = await system.connect({ isResponsive: false });
    await agent.untilClosed();
    const silent = await TestAgent.open(system.gateway.port, await createToken(database));
    await silent.untilClosed();
  });
});

describe('without a valid token', () => {
  const request = (lines: readonly string[]): string => {
    const upgrade = [
      'Host: tocsin',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
    ];
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    return [`GET ${AGENT_PATH} HTTP/1.1`, ...upgrade, key, ...lines, '', ''].join('\r\n');
  };
  const protocol = `Sec-WebSocket-Protocol: ${AGENT_PROTOCOL}`;

  async function open(): Promise<net.Socket> {
    const socket = net.connect({ port: system.gateway.port, host: '127.0.0.1' });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  test.each([
    ['no token', 401, [protocol]],
    ['a token of another format', 401, [protocol, 'Authorization: Bearer secret']],
    ['an unknown token', 401, [protocol, `Authorization: Bearer ${AGENT_TOKEN}`]],
    ['another protocol', 400, [`Authorization: Bearer ${AGENT_TOKEN}`]],
  ])('a request with %s is refused with %i and a reason', async (_, status, lines) => {
    const socket = await open();
    let text = '';
    socket.on('data', (data: Buffer) => (text += data.toString()));
    socket.write(request(lines));
    await once(socket, 'close');
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} .*\r\n\r\n[A-Z].+\\.\n$`, 's'));
  });

  test('2,000 connections leave an agent served, and at most 1,000 stay open', async () => {
    const agent = await system.connect();
    const sockets = await Promise.all(Array.from({ length: 2_000 }, open));
    const isOpen = (socket: net.Socket): boolean => !socket.closed;
    await until('connections to be closed', () => sockets.filter(isOpen).length <= 1_000);
    await system.connect();
    expect(agent.closed).toBeNull();
    for (const socket of sockets) socket.destroy();
  });

  test('the gateway responds while tokens cannot be read', async () => {
    await system.gateway.stop();
    system = await TestGateway.start(
      database,
      {},
      { findToken: () => Promise.reject(new Error('Postgres is unavailable')) },
    );
    await expect(system.connect()).rejects.toThrow('503');
  });
});
