import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { WEBHOOK_DEADLINE_MS, WEBHOOK_USER_AGENT } from '@tocsin/contracts/deliveries/webhook';
import { sanitiseDetail } from '@tocsin/core/checks/error-reason';
import { parseRetryAfter } from '@tocsin/core/deliveries/retry-schedule';
import type { CreateConnection } from '@tocsin/egress/connection';
import type { Egress } from '@tocsin/egress/create-egress';
import type { LookupOwner } from '@tocsin/egress/dns/fair-lookup';
import { got, type Request } from 'got';
import { Webhook } from 'standardwebhooks';

/** How much of an answer the delivery log keeps, and how long it waits for that once the status is known. */
const EXCERPT_BYTES = 1_024;
const EXCERPT_WAIT_MS = 500;

/** More 1xx answers than this before the real one are an attack on our time. */
const MAX_INTERIM_ANSWERS = 20;

export interface WebhookRequest {
  /** Stable over all attempts of a delivery. */
  readonly id: string;
  /** On whose behalf the name of the receiver is looked up. */
  readonly accountId: string;
  readonly channelId: string;
  readonly url: string;
  /** The very bytes to send. */
  readonly payload: string;
  /** One signature each; none: nothing is sent. */
  readonly secrets: readonly string[];
  /** When this attempt was claimed, by Postgres' clock: receivers reject what a wrong clock has signed. */
  readonly claimedAt: Date;
}

/** What the receiver answered, or why there was no answer. */
export interface WebhookAnswer {
  /** When the attempt was claimed, by Postgres' clock. */
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Null without an answer. */
  readonly statusCode: number | null;
  /** Null where the receiver answered 2xx. */
  readonly error: string | null;
  readonly responseExcerpt: string | null;
  /** Asked for by a 429 or 503; null otherwise. */
  readonly retryAfterMs: number | null;
}

/**
 * Sends one webhook: an HTTPS POST that must be answered 2xx within 5 s. Redirects are not followed (specification
 * "Delivery rules", design §4 "Delivery"). Never throws: no answer is an answer too.
 * @param deadlineMs replaces the 5 s, for tests
 */
export async function sendWebhook(
  request: WebhookRequest,
  egress: Egress,
  deadlineMs: number = WEBHOOK_DEADLINE_MS,
): Promise<WebhookAnswer> {
  const started = performance.now();
  const finish = (answer: Partial<WebhookAnswer>): WebhookAnswer => ({
    startedAt: request.claimedAt,
    durationMs: Math.round(performance.now() - started),
    statusCode: null,
    error: null,
    responseExcerpt: null,
    retryAfterMs: null,
    ...answer,
  });
  const owner: LookupOwner = {
    account: request.accountId,
    resource: request.channelId,
    redirected: false,
    deadline: started + deadlineMs,
  };
  try {
    const url = new URL(request.url);
    if (url.protocol !== 'https:') return finish({ error: 'the URL of the channel is not HTTPS' });
    return await exchange(request, url, egress.connectionTo(url, owner), deadlineMs, finish);
  } catch (error) {
    return finish({ error: describe(error, deadlineMs) });
  }
}

async function exchange(
  request: WebhookRequest,
  url: URL,
  createConnection: CreateConnection,
  deadlineMs: number,
  finish: (answer: Partial<WebhookAnswer>) => WebhookAnswer,
): Promise<WebhookAnswer> {
  if (request.secrets.length === 0) return finish({ error: 'the secret of the channel cannot be opened' });
  const stream = got.stream.post(url, {
    body: request.payload,
    headers: {
      // Without an agent, Node takes 80 for the default port, and would write it here.
      host: url.host,
      'content-type': 'application/json',
      'user-agent': WEBHOOK_USER_AGENT,
      ...signatureHeaders(request.id, request.claimedAt, request.payload, request.secrets),
    },
    createConnection,
    followRedirect: false,
    throwHttpErrors: false,
    decompress: false,
    retry: { limit: 0 },
    timeout: { request: deadlineMs },
  });
  try {
    const { statusCode = 0, headers } = await answerOf(stream);
    const answered = finish({
      statusCode,
      error: statusCode >= 200 && statusCode < 300 ? null : `answered ${statusCode}`,
    });
    const asksToWait = statusCode === 429 || statusCode === 503;
    const answeredAt = new Date(answered.startedAt.getTime() + answered.durationMs);
    const retryAfterMs = asksToWait ? parseRetryAfter(headers['retry-after'], answeredAt) : null;
    return {
      ...answered,
      retryAfterMs,
      responseExcerpt: statusCode === 101 ? null : await readExcerpt(stream),
    };
  } finally {
    stream.destroy();
  }
}

/** The head of the answer. The stream may fail at any time, also where nobody waits for it any more. */
function answerOf(stream: Request): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interimAnswers = 0;
    stream.on('error', reject);
    stream.once('response', resolve);
    stream.on('information', () => {
      interimAnswers += 1;
      if (interimAnswers <= MAX_INTERIM_ANSWERS) return;
      reject(new Error(`more than ${MAX_INTERIM_ANSWERS} interim (1xx) answers came before the real one`));
    });
    // A switch of protocols nobody asked for: Node hands over the connection, and nobody else would close it.
    stream.once('upgrade', (response: IncomingMessage, socket: Socket) => {
      socket.destroy();
      resolve(response);
    });
  });
}

/** The first bytes of the answer as text. The status has decided already: an answer that breaks off is fine. */
async function readExcerpt(stream: AsyncIterable<Buffer>): Promise<string | null> {
  const chunks: Buffer[] = [];
  const read = async (): Promise<void> => {
    let size = 0;
    for await (const chunk of stream) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= EXCERPT_BYTES) return;
    }
  };
  await Promise.race([read().catch(() => undefined), wait(EXCERPT_WAIT_MS)]);
  const text = Buffer.concat(chunks).subarray(0, EXCERPT_BYTES).toString('utf8');
  return text === '' ? null : sanitiseDetail(text);
}

const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'the name of the receiver does not resolve',
  EAI_AGAIN: 'the name of the receiver does not resolve',
};

function describe(error: unknown, deadlineMs: number): string {
  const { code = '', message } = error as { code?: string; message?: string };
  if (code === 'ETIMEDOUT') return `no answer within ${deadlineMs / 1_000} s`;
  return KNOWN_FAILURES[code] ?? sanitiseDetail(message ?? String(error));
}

/**
 * The Standard Webhooks headers of one attempt (design §3 "Webhooks"): one `v1` signature per valid secret, so that a
 * receiver may verify with either while a secret is being rotated.
 */
function signatureHeaders(
  id: string,
  signedAt: Date,
  payload: string,
  secrets: readonly string[],
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(signedAt.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, signedAt, payload)).join(' '),
  };
}
