import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import { createCertificate } from '@tocsin/embedded/certificates';
import { SERVER_PORTS } from '@tocsin/embedded/ports';
import { interfaceAddresses } from './attack-vectors.ts';
import { HOSTILE_ZONE, PUBLIC_ADDRESS } from './attack-vectors/hostile-names.ts';
import { ConnectionWatch } from './connection-watch.ts';
import { DnsServer } from './dns-server.ts';

const TLS_HANDSHAKE = 0x16;
const TRIES = 10;
/** Ports above most that vectors name, and below those of other servers and clients in the test run. */
const GROUND_PORTS = { first: 12_000, last: SERVER_PORTS.first } as const;

/** Addresses that an attacker wants to reach. The canary listens on them. */
export const CANARY_ADDRESSES: readonly string[] = [
  '127.0.0.1',
  '127.0.0.2',
  '127.1.1.1',
  '127.2.2.2',
  '127.127.127.127',
  '::1',
  ...interfaceAddresses(),
];

/**
 * Simulates a machine as an attacker sees it, with a public server, a canary on every address that must stay closed, and the attacker's own
 * DNS server. HTTP and HTTPS share one port.
 */
export class AttackGround {
  readonly dns: DnsServer;
  readonly port: number;
  /** PEM of the CA that signed every certificate here. */
  readonly ca: string;
  /** Handles requests to the public server. By default it responds with 200. */
  respond: RequestListener = okay;
  /** TCP connections that the canary accepted. */
  canaryConnections = 0;
  readonly watch = new ConnectionWatch();
  readonly #servers: net.Server[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(dns: DnsServer, port: number, ca: string) {
    this.dns = dns;
    this.port = port;
    this.ca = ca;
  }

  static async open(): Promise<AttackGround> {
    const certificate = await createCertificate(['*.attack.test', PUBLIC_ADDRESS, ...CANARY_ADDRESSES]);
    const dns = await DnsServer.start(HOSTILE_ZONE);
    for (let left = TRIES; ; left -= 1) {
      const ground = new AttackGround(dns, randomInt(GROUND_PORTS.first, GROUND_PORTS.last), certificate.ca);
      try {
        await ground.#listen(certificate);
        return ground;
      } catch (error) {
        await ground.#stop();
        // Another process has taken the port on one of the addresses.
        if (left === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      }
    }
  }

  /** Returns the URL of a vector with the port of this ground. */
  url(text: string): string {
    return text.replaceAll('PORT', String(this.port));
  }

  /** Like `url`, but with https in place of http. */
  secureUrl(text: string): string {
    return this.url(text).replace(/^http(?!s)/i, 'https');
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.dns.stop();
  }

  async #listen(tls: { key: string; cert: string }): Promise<void> {
    const respond: RequestListener = (request, response) => this.respond(request, response);
    const open = eitherProtocol(http.createServer(respond), https.createServer(tls, respond));
    const trap = eitherProtocol(http.createServer(okay), https.createServer(tls, okay));
    await this.#serve(PUBLIC_ADDRESS, open);
    for (const address of CANARY_ADDRESSES) {
      await this.#serve(address, (socket) => {
        this.canaryConnections += 1;
        trap(socket);
      });
    }
  }

  async #serve(address: string, take: (socket: Socket) => void): Promise<void> {
    const server = net.createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      take(socket);
    });
    this.#servers.push(server);
    server.listen(this.port, address);
    await once(server, 'listening');
  }

  async #stop(): Promise<void> {
    this.watch.stop();
    for (const socket of this.#sockets) socket.destroy();
    const listening = this.#servers.filter((server) => server.listening);
    await Promise.all(listening.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

function okay(...[request, response]: Parameters<RequestListener>): void {
  request.resume();
  response.writeHead(200, { connection: 'close' }).end();
}

/** Passes a connection to the HTTP or HTTPS server, according to its first byte. */
function eitherProtocol(plain: http.Server, secure: https.Server): (socket: Socket) => void {
  secure.on('tlsClientError', () => undefined);
  return (socket) => {
    socket.once('data', (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      (first[0] === TLS_HANDSHAKE ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  };
}
