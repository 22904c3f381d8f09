import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import { afterEach, jest } from '@jest/globals';
import { createEgress, type Egress } from '@tocsin/egress/create-egress';
import { Prober, type ProbeResult, type ProbeTarget } from '../probe.ts';

/** A local server to check, with what it received. */
export interface LocalTarget {
  /** URL without a trailing slash. */
  readonly origin: string;
  readonly port: number;
  readonly connections: () => number;
  /** Resolves once all connections to it are closed. */
  readonly allClosed: () => Promise<void>;
}

export interface LocalTargets {
  http(listener: http.RequestListener, host?: string): Promise<LocalTarget>;
  https(options: https.ServerOptions, listener: http.RequestListener): Promise<LocalTarget>;
  /** Speaks only HTTP/2, over TLS or (with `null`) over plain TCP. */
  http2(options: http2.SecureServerOptions | null): Promise<LocalTarget>;
  /** Starts servers that may send invalid bytes, with or without TLS. */
  tls(options: tls.TlsOptions, listener: (socket: tls.TLSSocket) => void): Promise<LocalTarget>;
  tcp(listener: (socket: net.Socket) => void): Promise<LocalTarget>;
  /** Returns a port of 127.0.0.1 that refuses connections, and that no other process can take. */
  closedPort(): Promise<number>;
  closeAll(): Promise<void>;
}

export function createLocalTargets(): LocalTargets {
  const cleanups: (() => Promise<void>)[] = [];

  async function serve(server: net.Server, scheme: string, host = '127.0.0.1'): Promise<LocalTarget> {
    const open = new Set<net.Socket>();
    let connections = 0;
    server.on('connection', (socket: net.Socket) => {
      connections += 1;
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    cleanups.push(async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    return {
      origin: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
      port,
      connections: () => connections,
      allClosed: async () => {
        await Promise.all([...open].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
      },
    };
  }

  return {
    http: (listener, host) => serve(http.createServer(listener), 'http', host),
    https: (options, listener) => serve(https.createServer(options, listener), 'https'),
    http2: (options) =>
      options === null
        ? serve(http2.createServer(), 'http')
        : serve(http2.createSecureServer(options), 'https'),
    tls: (options, listener) =>
      serve(
        tls.createServer(options, (socket) => {
          socket.on('error', () => undefined);
          listener(socket);
        }),
        'https',
      ),
    tcp: (listener) => serve(net.createServer(listener), 'http'),
    closedPort: async () => {
      const { port } = await serve(net.createServer(), 'http');
      // The local port of a connection is in use, and nothing listens on it.
      const socket = net.connect({ port, host: '127.0.0.1' });
      await once(socket, 'connect');
      cleanups.push(async () => void socket.destroy());
      return socket.localPort ?? 0;
    },
    closeAll: async () => {
      await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()));
    },
  };
}

/** Provides local servers for one test file. They are closed after each test, when the clock runs again. */
export function useLocalTargets(): LocalTargets {
  const targets = createLocalTargets();
  afterEach(async () => {
    jest.useRealTimers();
    await targets.closeAll();
  });
  return targets;
}

/** Sends these bytes in response to any request, then closes the connection. */
export function responding(targets: LocalTargets, bytes: string | Buffer): Promise<LocalTarget> {
  return targets.tcp((socket) => socket.once('data', () => socket.end(bytes)));
}

/** Sends `head` in response to any request, then `more` for as long as the client accepts it. @param onSent gets the number of sent bytes */
export function pouring(
  targets: LocalTargets,
  head: string,
  more: string | Buffer,
  onSent: (bytes: number) => void = () => undefined,
): Promise<LocalTarget> {
  return targets.tcp((socket) => {
    const pour = (): void => {
      while (!socket.destroyed) {
        onSent(more.length);
        if (!socket.write(more)) return;
      }
    };
    socket.on('drain', pour);
    socket.once('data', () => {
      socket.write(head);
      pour();
    });
  });
}

/** State of new connections. A hanging one stays open without a response. */
export type ConnectionState = 'work' | 'break' | 'hang';

/** Responds to any request while connections work. */
export function serveWhileConnected(
  targets: LocalTargets,
  connections: () => ConnectionState,
): Promise<LocalTarget> {
  return targets.tcp((socket) => {
    const state = connections();
    if (state === 'break') socket.destroy();
    else
      socket.once(
        'data',
        () => state === 'work' && socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
      );
  });
}

/** Calls `done` with the whole body of a request. */
export function withBody(request: http.IncomingMessage, done: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => done(Buffer.concat(chunks).toString()));
}

/** Makes guarded connections that may reach this machine. */
export function loopbackEgress(extraCa: string | null = null): Egress {
  return createEgress({ allowCidrs: ['127.0.0.0/8', '::1/128'], extraCa });
}

/** Makes connections to names, which all fail with this error. */
export function failingEgress(error: Error): Egress {
  return createEgress({
    allowCidrs: [],
    lookup: (_name, _options, done) => void setImmediate(done, error, []),
  });
}

/** Longer than any test runs, so that no check times out on a busy machine. */
export const NO_TIMEOUT_MS = 600_000;

/**
 * Stops the clock of probes until `jest.useRealTimers`. It moves only with `jest.advanceTimersByTime`, so that a timeout ends a check at a
 * known moment even on a busy machine.
 */
export function holdProbeClock(): void {
  // Everything but `setTimeout`, `clearTimeout` and `performance`.
  const doNotFake = [
    'Date',
    'hrtime',
    'nextTick',
    'queueMicrotask',
    'setImmediate',
    'clearImmediate',
  ] as const;
  jest.useFakeTimers({ doNotFake: [...doNotFake, 'setInterval', 'clearInterval'] });
}

/** Probes a URL with a plain GET that `changes` modify. */
export function check(
  url: string,
  egress: Egress,
  changes: Partial<ProbeTarget> = {},
  prober: Prober = new Prober({ egress }),
): Promise<ProbeResult> {
  const target = {
    url,
    method: 'GET',
    headers: null,
    body: null,
    timeoutMs: NO_TIMEOUT_MS,
    assertions: null,
    owner: { account: 'test', resource: url },
  } as const;
  return prober.probe({ ...target, ...changes });
}
