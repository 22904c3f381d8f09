import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Receipt } from '../world/receivers.ts';
import type { TargetVisit } from '../world/targets.ts';

/*
 * The targets of the monitors (`/m/<key>`) and the receiver of the webhooks (HTTPS, `/<key>`) in the network of the system under test.
 * It runs as a single file in a container, so it imports only Node.js.
 *
 * POST /turns  sets which targets respond with 500 (`Turns`). All others respond with 200
 * GET  /log    shows what was received (`OutsideLog`)
 */

/**
 * The body of `POST /turns`, by target. A target fails at once, and then passes and fails in turns of this many milliseconds. With null,
 * it passes. Only visits to these targets are logged.
 */
export type Turns = Readonly<Record<string, number | null>>;

/** The body of `GET /log`. */
export interface OutsideLog {
  readonly visits: TargetVisit[];
  readonly receipts: Receipt[];
}

const log: OutsideLog = { visits: [], receipts: [] };
let turns: Turns = {};
let turnsSince = 0;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, root = '', key = ''] = (request.url ?? '/').split('/');
  if (root === 'm') visit(key, request, response);
  else if (root === 'log') response.end(JSON.stringify(log));
  else if (root === 'turns') {
    turns = JSON.parse(await readBody(request)) as Turns;
    turnsSince = Date.now();
    response.writeHead(204).end();
  } else response.writeHead(404).end();
}

function visit(key: string, { socket }: IncomingMessage, response: ServerResponse): void {
  const at = Date.now();
  const turnMs = turns[key];
  const isDown = typeof turnMs === 'number' && Math.floor((at - turnsSince) / turnMs) % 2 === 0;
  const state = isDown ? 'down' : 'up';
  const { localAddress: address = '', remoteAddress: client = '' } = socket;
  if (turnMs !== undefined) log.visits.push({ key, address, client, at, state, respondedAt: at });
  response.writeHead(isDown ? 500 : 200).end(state);
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '/', headers, socket } = request;
  log.receipts.push({
    at: Date.now(),
    key: url.slice(1),
    address: socket.localAddress ?? '',
    id: String(headers['webhook-id']),
    signedAt: String(headers['webhook-timestamp']),
    signature: String(headers['webhook-signature']),
    body: await readBody(request),
    status: 200,
  });
  response.end('ok');
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Drops the connection of a client that ends in the middle of a request. */
function listener(respond: typeof handle) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    respond(request, response).catch(() => response.destroy());
  };
}

const certificate = { key: readFileSync('/outside/key.pem'), cert: readFileSync('/outside/cert.pem') };
createServer(listener(handle)).listen({ port: 8080, backlog: 4_096 });
createSecureServer(certificate, listener(receive)).listen(8443);
process.on('SIGTERM', () => process.exit(0));
