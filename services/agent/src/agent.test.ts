import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  AGENT_CLOSE,
  AGENT_PATH,
  AGENT_PROTOCOL,
  MAX_GATEWAY_FRAME_BYTES,
} from '@tocsin/contracts/agents/protocol';
import { type LocalTarget, loopbackEgress, useLocalTargets } from '@tocsin/probe/testing/local-targets';
import { captureLog } from '@tocsin/runtime/testing/captured-log';
import { until } from '@tocsin/runtime/testing/until';
import { Agent, type AgentOptions } from './agent.ts';
import { TestGateway } from './testing/test-gateway.ts';
import { VERSION } from './version.ts';

const TOKEN = `tocsin_agent_${'0'.repeat(48)}`;
const targets = useLocalTargets();

let gateway: TestGateway;
let log: ReturnType<typeof captureLog>;
let agents: Agent[];
/** Reports the lateness of the agent's event loop in ms. */
let sampleLateness: (lateMs: number) => void;
beforeEach(async () => {
  gateway = await TestGateway.start();
  log = captureLog();
  agents = [];
});
// The targets are closed by now, so that all probes end.
afterEach(async () => {
  gateway.end();
  await Promise.all(agents.map((agent) => agent.stop()));
  await gateway.stop();
});

function startAgent(changes: Partial<AgentOptions> = {}): Agent {
  const agent = new Agent({
    url: gateway.url,
    token: TOKEN,
    proxy: null,
    egress: loopbackEgress(),
    concurrency: 100,
    logger: log.logger,
    watchLateness: (onSample) => {
      sampleLateness = onSample;
      return () => undefined;
    },
    ...changes,
  });
  agents.push(agent);
  agent.start();
  return agent;
}

/** A target that responds only when the returned function is called. */
async function waitingTarget(): Promise<
  LocalTarget & { readonly respond: () => void; readonly cut: () => void }
> {
  const open: net.Socket[] = [];
  const target = await targets.tcp((socket) => open.push(socket.resume()));
  return {
    ...target,
    respond: () => open.forEach((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')),
    cut: () => open.forEach((socket) => socket.destroy()),
  };
}

/** Stops the clock of `setTimeout` until `jest.useRealTimers`. */
function holdTimeouts(): void {
  const others = ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const;
  const repeated = ['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const;
  jest.useFakeTimers({ doNotFake: [...others, ...repeated] });
}

const connected = (target: LocalTarget, count = 1): Promise<unknown> =>
  until('the probes have reached their target', () => target.connections() === count);

test('an agent introduces itself with its token, version, name and credits', async () => {
  startAgent({ url: `${gateway.url}/tocsin/` });
  const { messages, request, socket } = await gateway.connection(0);
  expect(request.url).toBe(`/tocsin${AGENT_PATH}`);
  expect(request.headers.authorization).toBe(`Bearer ${TOKEN}`);
  expect(socket.protocol).toBe(AGENT_PROTOCOL);
  expect(messages).toEqual([{ type: 'hello', version: VERSION, name: expect.any(String), credits: 100 }]);
});

test('it runs the probes of a gateway and returns their results', async () => {
  const target = await targets.http((request, response) => {
    response.writeHead(request.url === '/fails' ? 500 : 200, { 'x-part': 'test' }).end('what went wrong');
  });
  startAgent();
  const connection = await gateway.connection(0);
  connection.probe('one', target.origin);
  connection.probe('two', `${target.origin}/fails`);
  connection.probe('refused', `http://127.0.0.1:${await targets.closedPort()}`);
  connection.probe('blocked', 'http://169.254.169.254/');
  expect(await connection.result('one')).toMatchObject({
    ticket: 'ticket of one',
    status: 'UP',
    statusCode: 200,
    response: null,
    ageMs: expect.any(Number),
  });
  expect(await connection.result('two')).toMatchObject({
    status: 'DOWN',
    errorReason: 'HTTP_500',
    response: { headers: { 'x-part': 'test' }, body: 'what went wrong' },
  });
  expect(await connection.result('refused')).toMatchObject({
    errorReason: 'CONNECTION_REFUSED',
    transportFailure: 'connection',
    ownFailure: null,
  });
  expect(await connection.result('blocked')).toMatchObject({ status: 'DOWN', transportFailure: null });
});

test('a failure below HTTP counts while the connection to the gateway is alive', async () => {
  const target = await targets.tcp((socket) => socket.destroy());
  startAgent();
  const connection = await gateway.connection(0);
  let probes = 0;
  // A busy machine may interrupt the connection, so that a failure does not count.
  const counted = await until('a failure counts', async () => {
    probes += 1;
    connection.probe(`${probes}`, target.origin);
    const result = await connection.result(`${probes}`);
    return result.ownFailure === null && result;
  });
  expect(counted).toMatchObject({ status: 'DOWN', statusCode: null, transportFailure: 'connection' });
});

describe('when the connection is lost', () => {
  test('results are sent again until a gateway confirms them, and not afterwards', async () => {
    const target = await waitingTarget();
    startAgent();
    const first = await gateway.connection(0);
    first.probe('sent', (await targets.http((_request, response) => response.end())).origin);
    await first.result('sent');
    first.probe('running', target.origin);
    first.probe('no-ticket', target.origin, { ticket: null });
    await connected(target, 2);
    first.socket.terminate();

    const second = await gateway.connection(1);
    await second.result('sent');
    target.respond();
    await second.result('running');
    second.send({ type: 'recorded', ids: ['sent'] });
    // Messages arrive in order, so the agent has seen the confirmation when this one has an effect.
    second.probe('last', `http://127.0.0.1:${await targets.closedPort()}`);
    await second.result('last');
    second.socket.terminate();

    const third = await gateway.connection(2);
    await third.result('last');
    expect(third.results.map(({ id }) => id)).toEqual(['running', 'last']);
    expect(second.results.map(({ id }) => id)).not.toContain('no-ticket');
  });

  test('running probes still use credits of the next gateway', async () => {
    const target = await waitingTarget();
    startAgent();
    const first = await gateway.connection(0);
    first.probe('running', target.origin);
    await connected(target);
    first.socket.terminate();
    const second = await gateway.connection(1);
    expect(second.credits).toBe(99);
    target.respond();
    await second.result('running');
    sampleLateness(0);
    await until('the credit is back', () => second.credits === 100);
  });

  test('a failure below HTTP does not count', async () => {
    const target = await waitingTarget();
    startAgent();
    const first = await gateway.connection(0);
    first.probe('cut', target.origin);
    await connected(target);
    first.socket.terminate();
    const second = await gateway.connection(1);
    target.cut();
    expect(await second.result('cut')).toMatchObject({
      ticket: 'ticket of cut',
      status: 'DOWN',
      errorReason: 'UNKNOWN_ERROR',
      ownFailure: 'agent_disconnected',
    });
  });
});

test('a canceled probe ends, and its result is not sent', async () => {
  const target = await waitingTarget();
  startAgent();
  const first = await gateway.connection(0);
  first.probe('hangs', target.origin);
  first.probe('ended', `http://127.0.0.1:${await targets.closedPort()}`);
  await Promise.all([connected(target), first.result('ended')]);
  first.send({ type: 'cancel', ids: ['hangs', 'ended', 'unknown'] });
  await until('the probe is dropped', () => first.dropped.length > 0);
  expect(first.dropped).toEqual(['hangs']);
  await target.allClosed();
  first.probe('last', `http://127.0.0.1:${await targets.closedPort()}`);
  await first.result('last');
  first.socket.terminate();
  const second = await gateway.connection(1);
  await second.result('last');
  expect(second.results.map(({ id }) => id)).toEqual(['last']);
});

describe('capacity', () => {
  test('of a canceled probe is free at once, even if its failure is not confirmed yet', async () => {
    const target = await targets.tcp((socket) => socket.destroy());
    startAgent({ concurrency: 1 });
    const connection = await gateway.connection(0);
    connection.isResponsive = false;
    connection.probe('failed', target.origin);
    await connected(target);
    const { pings } = connection;
    await until('the agent waits for a pong', () => connection.pings > pings + 1);
    connection.send({ type: 'cancel', ids: ['failed'] });
    connection.probe('next', `http://127.0.0.1:${await targets.closedPort()}`);
    await until('the next probe ends', () => connection.results.length + connection.dropped.length > 0);
    expect(connection.results.map(({ id }) => id)).toEqual(['next']);
  });

  test('credits fall while the event loop is late, and then rise again', async () => {
    startAgent();
    const connection = await gateway.connection(0);
    const untilCredits = (credits: number): Promise<unknown> =>
      until(`${credits} credits`, () => connection.credits === credits);
    sampleLateness(150);
    await untilCredits(50);
    sampleLateness(75);
    sampleLateness(0);
    await untilCredits(55);
  });

  test('the agent drops probes beyond its concurrency', async () => {
    const target = await waitingTarget();
    startAgent({ concurrency: 1 });
    const connection = await gateway.connection(0);
    connection.probe('one', target.origin);
    connection.probe('one', target.origin);
    connection.probe('two', target.origin);
    await until('the second one is dropped', () => connection.dropped.length > 0);
    target.respond();
    await connection.result('one');
    expect(connection.dropped).toEqual(['two']);
    expect(connection.results).toHaveLength(1);
  });

  test('an agent with many unconfirmed results takes no more probes', async () => {
    const port = await targets.closedPort();
    startAgent({ concurrency: 1 });
    const connection = await gateway.connection(0);
    for (const id of ['one', 'two']) {
      connection.probe(id, `http://127.0.0.1:${port}`);
      await connection.result(id);
    }
    sampleLateness(0);
    await until('no credits are left', () => connection.credits === 0);
    connection.confirmAll();
    await until('results are confirmed', () => {
      sampleLateness(0);
      return connection.credits === 1;
    });
  });
});

test.each([
  ['a message that is not JSON', 'hello', 1_002],
  ['an unknown message', '{"type":"restart"}', 1_002],
  ['a second welcome', '{"type":"welcome","version":"1.0.0","region":"branch"}', 1_002],
  ['an oversized message', `"${'x'.repeat(MAX_GATEWAY_FRAME_BYTES)}"`, 1_009],
])('after %s, the agent connects again', async (_what, text, code) => {
  startAgent();
  const { socket } = await gateway.connection(0);
  socket.send(text);
  const [closeCode] = (await once(socket, 'close')) as [number];
  expect(closeCode).toBe(code);
  await gateway.connection(1);
});

describe('problems are logged once', () => {
  const problems = (): string[] => log.text().match(/"level":"(?:warn|error)"/g) ?? [];

  test('while gateways refuse connections', async () => {
    gateway.refusal = 503;
    startAgent();
    await until('several attempts', () => gateway.refused > 2);
    expect(problems()).toHaveLength(1);
    expect(log.text()).toContain('HTTP status 503');
    gateway.refusal = null;
    await gateway.connection(0);
    await until('the agent is connected', () => log.text().includes('Connected to a gateway'));
  });

  test('with what to do about a refused token', async () => {
    gateway.refusal = 401;
    startAgent();
    await until('the problem is logged', () => log.text().includes('refused AGENT_TOKEN'));
    expect(gateway.refused).toBe(1);
  });

  test.each([
    [AGENT_CLOSE.tokenRevoked, 'the token was deleted', 'Create a token on the Regions page'],
    [AGENT_CLOSE.upgradeRequired, 'the oldest supported version is 9.0.0', 'Upgrade the agent'],
  ])('with what to do about the close code %d', async (code, reason, message) => {
    startAgent();
    const connection = await gateway.connection(0);
    connection.socket.close(code, reason);
    await until('the problem is logged', () => log.text().includes(reason));
    expect(log.text()).toContain(message);
    expect(problems()).toHaveLength(1);
  });

  test('but a restarting gateway is not a problem', async () => {
    startAgent();
    (await gateway.connection(0)).socket.close(AGENT_CLOSE.restarting);
    await gateway.connection(1);
    expect(problems()).toHaveLength(0);
  });
});

test('an agent connects through an HTTP proxy', async () => {
  const requests: string[] = [];
  const proxy = net.createServer((client) => {
    client.once('data', (head) => {
      requests.push(String(head));
      const upstream = net.connect(gateway.port, '127.0.0.1');
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
      for (const socket of [client, upstream]) socket.on('error', () => undefined);
    });
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo;
  startAgent({ url: 'http://tocsin.example', proxy: `http://me:secret@127.0.0.1:${port}` });
  const connection = await gateway.connection(0);
  expect(connection.request.headers.host).toBe('tocsin.example');
  expect(requests[0]).toMatch(/^CONNECT tocsin\.example:80 HTTP\/1\.1\r\n/);
  expect(requests[0]).toContain(`Proxy-Authorization: Basic ${btoa('me:secret')}\r\n`);
  expect(requests[0]).not.toContain(TOKEN);
  proxy.close();
});

test('a connection to a proxy that never responds is closed', async () => {
  const proxy = net.createServer();
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo;
  holdTimeouts();
  startAgent({ proxy: `http://127.0.0.1:${port}` });
  const [client] = (await once(proxy, 'connection')) as [net.Socket];
  const closed = once(client.resume(), 'close');
  jest.advanceTimersByTime(20_000);
  await closed;
  proxy.close();
});

describe('shutdown', () => {
  test('an agent finishes its probes and waits until their results are recorded', async () => {
    const target = await waitingTarget();
    const agent = startAgent();
    const connection = await gateway.connection(0);
    connection.probe('one', target.origin);
    await connected(target);
    let isStopped = false;
    const stopping = agent.stop().then(() => (isStopped = true));
    await until('it takes no more probes', () => connection.credits === 0);
    target.respond();
    await connection.result('one');
    expect(isStopped).toBe(false);
    connection.confirmAll();
    await stopping;
    expect(await connection.closed()).toBe(1_000);
  });

  test('probes that do not end in time are left to other agents', async () => {
    const target = await waitingTarget();
    const agent = startAgent();
    const connection = await gateway.connection(0);
    connection.probe('hangs', target.origin);
    await connected(target);
    holdTimeouts();
    const stopping = agent.stop();
    jest.advanceTimersByTime(20_000);
    jest.useRealTimers();
    await stopping;
    // Gateways run the probes of a closed connection again, but not dropped ones.
    expect([connection.dropped, await connection.closed()]).toEqual([[], 1_000]);
  });

  test('an agent without a connection stops at once', async () => {
    gateway.refusal = 503;
    const agent = startAgent();
    await until('an attempt', () => gateway.refused > 0);
    await agent.stop();
    expect(gateway.connections).toBe(0);
  });
});
