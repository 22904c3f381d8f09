import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import dns, { type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';
import type { LookupAll } from '../dns/name-resolver.ts';

/**
 * Addresses, or another name (CNAME). A function gets the number of the question, from 1. With `failure`, `refusal` or `silence` the server
 * reports a failure, refuses the query or does not respond. With `no IPv6` it responds only to queries for IPv4 addresses, with 127.0.0.1.
 */
export type ZoneEntry =
  | readonly string[]
  | ((question: number) => readonly string[])
  | 'failure'
  | 'refusal'
  | 'silence'
  | 'no IPv6';

interface ResourceRecord {
  readonly name: string;
  readonly type: number;
  readonly data: Buffer;
}

const A = 1;
const CNAME = 5;
const AAAA = 28;
/** A busy machine must not repeat queries, because tests count them. */
const PATIENT = { timeout: 60_000, maxTimeout: 60_000, tries: 2 };
const HEADER_BYTES = 12;
const SERVER_FAILURE = 2;
const NAME_ERROR = 3;
const REFUSED = 5;
const FAILURES = new Map<ZoneEntry | undefined, number>([
  ['failure', SERVER_FAILURE],
  ['refusal', REFUSED],
]);
/** Standard response, recursion desired and available. */
const RESPONSE_FLAGS = 0x8180;

/** A DNS server on this machine that responds to A and AAAA queries as its zone says, with a time to live of 0. */
export class DnsServer {
  readonly zone = new Map<string, ZoneEntry>();
  /** Received queries in order, each as the name and `A` or `AAAA`. */
  readonly asked: string[] = [];
  /** Questions to ignore the next time, in the form of `asked`. */
  readonly lost = new Set<string>();
  /** Refuses queries while this many are unanswered, as a forwarder does. */
  maxUnanswered = Infinity;
  ignores: (address: string, port: number) => boolean = () => false;
  /** Questions to refuse the next time. */
  readonly refused = new Set<string>();
  readonly #questions = new Map<string, number>();
  readonly #unanswered: { readonly query: Buffer; readonly client: RemoteInfo }[] = [];
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (query, client) => {
      const response = this.ignores(client.address, client.port) ? null : this.#respond(query);
      if (response === null) this.#unanswered.push({ query, client });
      else void this.#send(response, client);
    });
  }

  /** @param port 0 for any free port */
  static async start(
    zone: Readonly<Record<string, ZoneEntry>>,
    port = 0,
    host = '127.0.0.1',
  ): Promise<DnsServer> {
    const socket = createSocket('udp4');
    socket.bind(port, host);
    await once(socket, 'listening');
    const server = new DnsServer(socket);
    for (const [name, entry] of Object.entries(zone)) server.zone.set(name, entry);
    return server;
  }

  /** Returns the address in the form of a name server setting. */
  get address(): string {
    const { address, port } = this.#socket.address();
    return `${address}:${port}`;
  }

  questions(name: string): number {
    return this.#questions.get(name) ?? 0;
  }

  /** Refuses unanswered queries, which would otherwise keep their process alive for minutes. */
  async stop(): Promise<void> {
    const refusals = this.#unanswered.map(({ query, client }) =>
      this.#send(encodeResponse(query, REFUSED), client),
    );
    await Promise.all(refusals);
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }

  /** A client may be unreachable by now. */
  #send(response: Buffer, { port, address }: RemoteInfo): Promise<void> {
    return new Promise((resolve) => this.#socket.send(response, port, address, () => resolve()));
  }

  /** `dns.lookup` on this server. Only `localhost` is left to the machine, which resolves it without a server. */
  readonly lookup: LookupAll = (hostname, options, callback) => {
    if (/^localhost\.?$/i.test(hostname)) return dns.lookup('localhost', options, callback);
    callbackify(() => this.#resolve(hostname))((error, addresses) => {
      if (error === null && addresses.length > 0) callback(null, addresses);
      else callback(notFound(hostname), []);
    });
  };

  async #resolve(hostname: string): Promise<LookupAddress[]> {
    const resolver = new dns.promises.Resolver(PATIENT);
    resolver.setServers([this.address]);
    const [ipv4, ipv6] = await Promise.all([
      resolver.resolve4(hostname).catch(() => []),
      resolver.resolve6(hostname).catch(() => []),
    ]);
    return [
      ...ipv6.map((address) => ({ address, family: 6 })),
      ...ipv4.map((address) => ({ address, family: 4 })),
    ];
  }

  /** Returns null if the server stays silent. */
  #respond(query: Buffer): Buffer | null {
    const { name, type } = readQuestion(query);
    if (type === A) this.#questions.set(name, this.questions(name) + 1);
    const question = `${name} ${type === A ? 'A' : 'AAAA'}`;
    this.asked.push(question);
    if (this.lost.delete(question)) return null;
    const isFull = this.#unanswered.length >= this.maxUnanswered;
    const entry = this.refused.delete(question) || isFull ? 'refusal' : this.zone.get(name);
    if (entry === 'silence' || (entry === 'no IPv6' && type === AAAA)) return null;
    const records = this.#records(name, type, this.questions(name));
    const code = FAILURES.get(entry) ?? (records === null ? NAME_ERROR : 0);
    return encodeResponse(query, code, records ?? []);
  }

  /** Returns null if the name does not exist. */
  #records(name: string, type: number, question: number): ResourceRecord[] | null {
    const entry = this.zone.get(name);
    if (entry === undefined) return null;
    const values = typeof entry === 'function' ? entry(question) : addressesOf(entry);
    return values.flatMap((value) => {
      const family = isIP(value);
      if (family === 0) {
        const alias = { name, type: CNAME, data: encodeName(value) };
        return [alias, ...(this.#records(value, type, question) ?? [])];
      }
      const isWanted = (family === 4 ? A : AAAA) === type;
      return isWanted ? [{ name, type, data: addressBytes(value) }] : [];
    });
  }
}

function addressesOf(entry: string | readonly string[]): readonly string[] {
  if (entry === 'no IPv6') return ['127.0.0.1'];
  return typeof entry === 'string' ? [] : entry;
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function encodeResponse(query: Buffer, code: number, records: readonly ResourceRecord[] = []): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(RESPONSE_FLAGS | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  const question = query.subarray(HEADER_BYTES, readQuestion(query).end);
  return Buffer.concat([header, question, ...records.map(encodeRecord)]);
}

function encodeRecord({ name, type, data }: ResourceRecord): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), fixed, data]);
}

function encodeName(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.alloc(1)]);
}

/** Keeps the family of the notation. ipaddr.js reads `::127.0.0.1` as IPv4-mapped, but not `::7f00:1`. */
function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(ipaddr.IPv4.parse(address).toByteArray());
  const { hostname } = new URL(`http://[${address}]`);
  return Buffer.from(ipaddr.IPv6.parse(hostname.slice(1, -1)).toByteArray());
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
}
