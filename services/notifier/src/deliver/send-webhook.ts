import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { WEBHOOK_DEADLINE_MS, WEBHOOK_USER_AGENT } from '@tocsin/contracts/deliveries/webhook';
import { classifyError, sanitiseDetail } from '@tocsin/core/checks/error-reason';
import { parseRetryAfter } from '@tocsin/core/deliveries/retry-schedule';
import type { ClaimedDelivery } from '@tocsin/db/deliveries/claim-deliveries';
import type { AttemptRecord } from '@tocsin/db/deliveries/record-attempt';
import type { Egress } from '@tocsin/egress/create-egress';
import { LENIENT_PARSING, problemOfHead } from '@tocsin/egress/lenient-responses';
import { renameRepeatedLengths } from '@tocsin/egress/repeated-length';
import { redactSent } from '@tocsin/probe/redact';
import { got, type OptionsInit, type Request } from 'got';
import { Webhook } from 'standardwebhooks';

/** The delivery log keeps this much of a response, and waits this long for it. */
const EXCERPT_BYTES = 1_024;
const EXCERPT_WAIT_MS = 500;
/** Further 1xx responses could prolong an attempt without end. */
const MAX_INTERIM_RESPONSES = 20;

/** The claim time comes from Postgres, because receivers reject signatures with a wrong time. Each secret makes one signature. */
export type WebhookRequest = Pick<
  ClaimedDelivery,
  'id' | 'accountId' | 'channelId' | 'url' | 'payload' | 'secrets' | 'headers' | 'routingKey' | 'claimedAt'
>;

export interface WebhookResult extends Pick<
  AttemptRecord,
  'startedAt' | 'durationMs' | 'statusCode' | 'error' | 'responseExcerpt'
> {
  /** From the Retry-After header of a 429 or 503, otherwise null. */
  readonly retryAfterMs: number | null;
}

/** Sends an HTTPS POST that needs a 2xx response within `deadlineMs`, without redirects. Never throws, because a failure is a result. */
export async function sendWebhook(
  request: WebhookRequest,
  egress: Egress,
  deadlineMs: number = WEBHOOK_DEADLINE_MS,
): Promise<WebhookResult> {
  const started = performance.now();
  const finish = (result: Partial<WebhookResult>): WebhookResult => ({
    startedAt: request.claimedAt,
    durationMs: Math.round(performance.now() - started),
    statusCode: null,
    error: null,
    responseExcerpt: null,
    retryAfterMs: null,
    ...result,
  });
  let stream: Request | undefined;
  try {
    const url = new URL(request.url);
    if (url.protocol !== 'https:') return finish({ error: 'the URL of the channel is not HTTPS' });
    if (request.secrets.length === 0)
      return finish({ error: 'the secrets of the channel cannot be decrypted' });
    const owner = { account: request.accountId, resource: request.channelId, isRedirected: false };
    stream = got.stream.post(url, {
      body: request.payload,
      headers: {
        'content-type': 'application/json',
        'user-agent': WEBHOOK_USER_AGENT,
        ...lowerCased(request.headers),
        // Without an agent, Node assumes port 80 and would write the port here.
        host: url.host,
        ...signatureHeaders(request),
      },
      // got's type requires a socket at once.
      createConnection: egress.connectionTo(url, {
        ...owner,
        deadline: started + deadlineMs,
      }) as OptionsInit['createConnection'],
      // A receiver has accepted the webhook if other clients can read its response.
      request: (target, options, onResponse) =>
        https
          .request(target, { ...options, ...LENIENT_PARSING }, onResponse)
          .on('socket', renameRepeatedLengths),
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      retry: { limit: 0 },
      timeout: { request: deadlineMs },
    });
    const head = await responseOf(stream);
    const problem = problemOfHead(head);
    if (problem !== null) return finish({ error: `malformed response: ${problem}` });
    const { statusCode = 0, headers } = head;
    const isSuccess = statusCode >= 200 && statusCode < 300;
    const result = finish({ statusCode, error: isSuccess ? null : `responded with status ${statusCode}` });
    const respondedAt = new Date(result.startedAt.getTime() + result.durationMs);
    const isBusy = statusCode === 429 || statusCode === 503;
    const retryAfterMs = isBusy ? parseRetryAfter(headers['retry-after'], respondedAt) : null;
    const responseExcerpt = statusCode === 101 ? null : await readExcerpt(stream, request);
    return { ...result, retryAfterMs, responseExcerpt };
  } catch (error) {
    return finish({ error: describe(error, deadlineMs) });
  } finally {
    stream?.destroy();
  }
}

function lowerCased(headers: WebhookRequest['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Makes the Standard Webhooks headers, with one `v1` signature for each valid secret. */
function signatureHeaders({ id, claimedAt, payload, secrets }: WebhookRequest): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(claimedAt.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, claimedAt, payload)).join(' '),
  };
}

/** Handles errors of the stream, which may fail at any time, even if nothing waits for it. */
function responseOf(stream: Request): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let interimResponses = 0;
    stream.on('error', reject);
    stream.once('response', resolve);
    stream.on('information', () => {
      interimResponses += 1;
      if (interimResponses <= MAX_INTERIM_RESPONSES) return;
      reject(
        new Error(`more than ${MAX_INTERIM_RESPONSES} interim (1xx) responses came before the real one`),
      );
    });
    // After an unexpected upgrade, this code must close the connection.
    stream.once('upgrade', (response: IncomingMessage, socket: Socket) => {
      socket.destroy();
      resolve(response);
    });
  });
}

/**
 * Reads the first bytes as text, without secrets that the receiver may have repeated. A broken response does no harm, because the status has
 * already decided the result.
 */
async function readExcerpt(
  stream: AsyncIterable<Buffer>,
  { url, headers, routingKey }: WebhookRequest,
): Promise<string | null> {
  const sent = { url, headers: { ...headers, ...(routingKey !== null && { routingKey }) }, body: null };
  const longest = Math.max(0, ...Object.values(sent.headers).map((value) => Buffer.byteLength(value)));
  // A secret at the end must be redacted as a whole.
  const maxBytes = EXCERPT_BYTES + longest;
  const chunks: Buffer[] = [];
  const read = async (): Promise<void> => {
    let size = 0;
    for await (const chunk of stream) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= maxBytes) return;
    }
  };
  await Promise.race([read().catch(() => undefined), wait(EXCERPT_WAIT_MS, undefined, { ref: false })]);
  const received = redactSent(Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8'), sent);
  const text = Buffer.from(received).subarray(0, EXCERPT_BYTES).toString('utf8');
  return text === '' ? null : sanitiseDetail(text);
}

const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'the name of the receiver does not resolve',
  EAI_AGAIN: 'the name of the receiver does not resolve',
};

function describe(error: unknown, deadlineMs: number): string {
  const { code = '', cause = error } = error as { code?: string; cause?: unknown };
  if (code === 'ETIMEDOUT') return `no response within ${deadlineMs / 1_000} s`;
  // `got` wraps the connection's error, which has OpenSSL's text.
  return KNOWN_FAILURES[code] ?? classifyError(cause).errorDetail;
}
