import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';

/*
 * The targets of the monitors (`/m/<name>`) and the receiver of the webhooks (HTTPS, any path) in the network of the system under test.
 * It runs as a single file in a container, so it imports only Node.js.
 *
 * POST /targets  sets which targets respond with 500 (`Failing`). All others respond with 200
 * GET  /log      shows every received webhook
 */

/** The body of `POST /targets`. */
export interface Failing {
  /** These targets fail. */
  readonly names?: readonly string[];
  /**
   * Targets whose name is a number below `count` pass and fail in turns. Each target has its own length of turns, from `minMs` to `maxMs`.
   */
  readonly inTurns?: { readonly count: number; readonly minMs: number; readonly maxMs: number };
}

/** The body of `GET /log`. `id` is the header webhook-id. */
export interface OutsideLog {
  readonly webhooks: { readonly id: string; readonly body: string }[];
}

const log: OutsideLog = { webhooks: [] };
let failing: Failing = {};
let failingSince = 0;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, root = '', name = ''] = (request.url ?? '/').split('/');
  const body = await readBody(request);
  if (root === 'm') response.writeHead(fails(name) ? 500 : 200).end('ok');
  else if (root === 'log') response.end(JSON.stringify(log));
  else if (root === 'targets') {
    failing = JSON.parse(body) as Failing;
    failingSince = Date.now();
    response.writeHead(204).end();
  } else response.writeHead(404).end();
}

function fails(name: string): boolean {
  const { names = [], inTurns } = failing;
  if (names.includes(name)) return true;
  if (inTurns === undefined || !(Number(name) < inTurns.count)) return false;
  const { count, minMs, maxMs } = inTurns;
  const turnMs = minMs + ((maxMs - minMs) * (Number(name) + 1)) / count;
  return Math.floor((Date.now() - failingSince) / turnMs) % 2 === 1;
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  log.webhooks.push({ body: await readBody(request), id: String(request.headers['webhook-id']) });
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
