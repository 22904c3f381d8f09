import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';

/*
 * The world outside of the system under test, as one process in its network: the targets of its monitors (`/m/<name>`) and the
 * receiver of its webhooks (HTTPS, any path). It runs as a single file in a container, so it imports Node.js alone.
 *
 * POST /flap {"count","leastMs","mostMs"}  lets the targets below `count` fail and recover in turns, and all other numbers pass
 * POST /status/<name>/<code>               lets a target respond with this status code
 * GET  /log                                shows every webhook and counts the responses of all targets
 */

/** One received webhook, with only the header that identifies it. */
export interface LoggedWebhook {
  readonly id: string;
  readonly body: string;
}

/** What `GET /log` returns. */
export interface OutsideLog {
  readonly webhooks: readonly LoggedWebhook[];
  /** Responses of targets with status code 200, and with any other. */
  readonly passed: number;
  readonly failed: number;
}

/** What `POST /flap` takes. */
export interface Flapping {
  /** How many targets fail in turns; 0 lets all pass. */
  readonly count: number;
  /** The length of a turn, up or down. Each target has a length of its own in between. */
  readonly leastMs: number;
  readonly mostMs: number;
}

const folder = process.env['OUTSIDE_FOLDER'] ?? '/outside';
const webhooks: LoggedWebhook[] = [];
let passed = 0;
let failed = 0;
let flapping: Flapping = { count: 0, leastMs: 1_000, mostMs: 1_000 };
let flappingSince = 0;
const statusCodes = new Map<string, number>();

createServer((request, response) => {
  handle(request, response).catch(() => response.destroy());
}).listen({ port: 8080, backlog: 4_096 });

createSecureServer(
  { key: readFileSync(`${folder}/key.pem`), cert: readFileSync(`${folder}/cert.pem`) },
  (request, response) => {
    // A sender that was killed half-way has delivered nothing.
    receive(request, response).catch(() => response.destroy());
  },
).listen(8443);

process.on('SIGTERM', () => process.exit(0));

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, root, first = '', second = ''] = (request.url ?? '/').split('/');
  const body = await readBody(request);
  if (root === 'm') {
    const statusCode = statusCodes.get(first) ?? (fails(Number(first)) ? 500 : 200);
    if (statusCode === 200) passed += 1;
    else failed += 1;
    response.writeHead(statusCode, { 'Content-Type': 'text/plain' }).end('ok');
  } else if (root === 'flap') {
    flapping = JSON.parse(body) as Flapping;
    flappingSince = Date.now();
    response.writeHead(204).end();
  } else if (root === 'status') {
    statusCodes.set(first, Number(second));
    response.writeHead(204).end();
  } else if (root === 'log') {
    const log: OutsideLog = { webhooks, passed, failed };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(log));
  } else {
    response.writeHead(404).end();
  }
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  webhooks.push({ body: await readBody(request), id: String(request.headers['webhook-id']) });
  response.writeHead(200).end('ok');
}

/** A target begins with a turn that passes. */
function fails(target: number): boolean {
  const { count, leastMs, mostMs } = flapping;
  if (!(target < count)) return false;
  const turnMs = leastMs + ((mostMs - leastMs) * (target + 1)) / count;
  return Math.floor((Date.now() - flappingSince) / turnMs) % 2 === 1;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
