import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';

/*
 * The targets of the monitors (`/m/<name>`), and the receiver of the webhooks (HTTPS, any path), as one process in the network of the system
 * under test. It runs as a single file in a container, so it imports Node.js alone.
 *
 * POST /flap {"count","minMs","maxMs"}  lets the targets below `count` fail and recover in turns, and all other numbers pass
 * POST /status/<name>/<code>            lets a target respond with this status code
 * GET  /log                             shows every received webhook
 */

export interface LoggedWebhook {
  /** The header webhook-id. */
  readonly id: string;
  readonly body: string;
}

/** The body of `GET /log`. */
export interface OutsideLog {
  readonly webhooks: readonly LoggedWebhook[];
}

/** The body of `POST /flap`. */
export interface Flapping {
  /** How many targets fail in turns; 0 lets all pass. */
  readonly count: number;
  /** The shortest and the longest turn, up or down. Each target has its own. */
  readonly minMs: number;
  readonly maxMs: number;
}

const folder = process.env['OUTSIDE_FOLDER'] ?? '/outside';
const webhooks: LoggedWebhook[] = [];
const statusCodes = new Map<string, number>();
let flapping: Flapping = { count: 0, minMs: 1_000, maxMs: 1_000 };
let flappingSince = 0;

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
  const [, root = '', name = '', code = ''] = (request.url ?? '/').split('/');
  const body = await readBody(request);
  switch (root) {
    case 'm':
      response.writeHead(statusCodes.get(name) ?? (fails(Number(name)) ? 500 : 200)).end('ok');
      break;
    case 'flap':
      flapping = JSON.parse(body) as Flapping;
      flappingSince = Date.now();
      response.writeHead(204).end();
      break;
    case 'status':
      statusCodes.set(name, Number(code));
      response.writeHead(204).end();
      break;
    case 'log':
      response.writeHead(200).end(JSON.stringify({ webhooks } satisfies OutsideLog));
      break;
    default:
      response.writeHead(404).end();
  }
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  webhooks.push({ body: await readBody(request), id: String(request.headers['webhook-id']) });
  response.writeHead(200).end('ok');
}

/** The first turn of a target passes. */
function fails(target: number): boolean {
  const { count, minMs, maxMs } = flapping;
  if (!(target < count)) return false;
  const turnMs = minMs + ((maxMs - minMs) * (target + 1)) / count;
  return Math.floor((Date.now() - flappingSince) / turnMs) % 2 === 1;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
