import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { Monitor, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import { got, type Got, HTTPError, type OptionsOfTextResponseBody, RequestError, type Response } from 'got';
import { ApiError, toApiError } from './api-error.ts';

export interface ApiClientOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Told why a request is sent again, and when. */
  readonly onRetry: (reason: string, inSeconds: number) => void;
  readonly signal: AbortSignal;
  /** Before the first retry where the server does not say; doubled each time. */
  readonly backoffMs?: number;
  /** For an answer. Default 90 s. */
  readonly timeoutMs?: number;
}

/** A set as the API takes it; what its monitors hold, the API judges. */
interface SetRequest {
  readonly source: string;
  readonly monitors: readonly unknown[];
  readonly prune: boolean;
  readonly dryRun: boolean;
}

/** The API, as far as the commands use it. */
export interface ApiClient {
  readonly url: string;
  /** @param until when nothing more is to be tried or waited for, by `performance.now()` */
  listMonitors(until?: number): Promise<Monitor[]>;
  getMonitor(id: string): Promise<{ monitor: Monitor; etag: string }>;
  /** @param etag the update is refused where the monitor has another one, also by the update itself where an answer was lost */
  updateMonitor(id: string, update: MonitorUpdate, etag: string): Promise<Monitor>;
  /**
   * Sent once where it may have been heeded.
   * @param url instead of the monitor's own; null: that
   * @param until when nothing more is to be tried or waited for, by `performance.now()`
   */
  trigger(id: string, url: string | null, until?: number): Promise<Event>;
  /** Those after `since`, the first `limit`; without it the latest. Oldest first. */
  listEvents(id: string, query: { limit: number; since?: string }): Promise<Event[]>;
  /**
   * @param etag of a dry run: refused where it is not the same any more that is to be done, also since an answer was lost and it is done;
   *   null: whatever that is
   */
  putSet(set: SetRequest, etag: string | null): Promise<{ result: MonitorSetResult; etag: string | null }>;
}

const RETRIES = 4;
const BACKOFF_MS = 1_000;
/** A check may take a minute, and a large set some seconds. */
const TIMEOUT_MS = 90_000;
const LONGEST_WAIT_MS = 60_000;
/** Errors before anything was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** What a request is sent with besides. */
interface RequestContext extends Record<string, unknown> {
  until?: number | undefined;
  /** Whether an answer to it was lost that may have said it was heeded. */
  lostAnswer?: boolean;
}

/** Asks the API; what it cannot do now is asked again, after the time that it names. @throws ApiError */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const client = createGot(options);
  const ask = async (path: string, request: OptionsOfTextResponseBody = {}): Promise<Response<string>> => {
    try {
      return await client(path, request);
    } catch (error) {
      throw translate(error, options.url);
    }
  };
  const send = async <Answer>(path: string, request?: OptionsOfTextResponseBody): Promise<Answer> =>
    parse((await ask(path, request)).body, options.url) as Answer;
  return {
    url: options.url,
    async listMonitors(until) {
      const { monitors } = await send<{ monitors?: Monitor[] }>('monitors', { context: { until } });
      if (Array.isArray(monitors)) return monitors;
      throw new ApiError(`${options.url} does not answer as Tocsin does: is TOCSIN_URL right?`, 200);
    },
    async getMonitor(id) {
      const response = await ask(pathOf(id));
      const answer = parse(response.body, options.url) as { monitor: Monitor };
      return { monitor: answer.monitor, etag: String(response.headers.etag) };
    },
    async updateMonitor(id, update, etag) {
      const request = { method: 'PUT', json: update, headers: { 'If-Match': etag } } as const;
      return (await send<{ monitor: Monitor }>(pathOf(id), request)).monitor;
    },
    async trigger(id, url, until) {
      const request = { method: 'POST', context: { until }, ...(url !== null && { json: { url } }) } as const;
      return (await send<{ event: Event }>(`${pathOf(id)}/trigger`, request)).event;
    },
    async listEvents(id, { limit, since }) {
      const searchParams = { limit, ...(since !== undefined && { since }) };
      return (await send<{ events: Event[] }>(`${pathOf(id)}/events`, { searchParams })).events;
    },
    async putSet(set, etag) {
      const headers = etag === null ? {} : { 'If-Match': etag };
      const response = await ask('monitors', { method: 'PUT', json: set, headers });
      const result = parse(response.body, options.url) as MonitorSetResult;
      return { result, etag: response.headers.etag ?? null };
    },
  };
}

function pathOf(monitorId: string): string {
  return `monitors/${encodeURIComponent(monitorId)}`;
}

function createGot(options: ApiClientOptions): Got {
  const { url, apiKey, onRetry, signal, backoffMs = BACKOFF_MS, timeoutMs = TIMEOUT_MS } = options;
  return got.extend({
    prefixUrl: `${url.replace(/\/+$/, '')}/api/cli`,
    headers: { authorization: `Bearer ${apiKey}`, 'user-agent': 'tocsin-cli' },
    // A redirect would carry the key, and a PUT would come out of it as a GET.
    followRedirect: false,
    // Whatever answers at the URL is not to choose what decodes its answer: Brotli in Node is not safe (CVE-2026-111497).
    decompress: false,
    timeout: { request: timeoutMs },
    signal,
    retry: {
      limit: RETRIES,
      methods: ['GET', 'PUT', 'POST'],
      statusCodes: [429, 502, 503],
      maxRetryAfter: LONGEST_WAIT_MS,
      calculateDelay: ({ attemptCount, computedValue, retryAfter, error }) => {
        if (computedValue === 0 || mayBeDone(error)) return 0;
        const delay = retryAfter ?? backoffMs * 2 ** (attemptCount - 1) * (1 + Math.random() / 4);
        const { until = Infinity } = error.options.context as RequestContext;
        return performance.now() + delay > until ? 0 : delay;
      },
    },
    hooks: {
      beforeRequest: [
        (request) => {
          const { until } = request.context as RequestContext;
          if (until !== undefined) request.timeout = { request: Math.min(timeLeft(until), timeoutMs) };
        },
      ],
      beforeRetry: [
        (error) => {
          const { response } = error;
          // A 503 may come of a COMMIT that the API itself had no answer to.
          if (isAnswerLost(error) || response?.statusCode === 503)
            (error.options.context as RequestContext).lostAnswer = true;
          const reason =
            response === undefined ? describeFailure(error, url) : `${url} answered ${response.statusCode}`;
          const waited = Number(response?.headers['retry-after'] ?? Number.NaN);
          onRetry(reason, Number.isNaN(waited) ? 0 : waited);
        },
      ],
    },
  });
}

function translate(error: unknown, url: string): unknown {
  if (error instanceof HTTPError) {
    const { response, options } = error;
    const { lostAnswer = false } = options.context as RequestContext;
    return toApiError(response.statusCode, tryParse(response.body), url, lostAnswer);
  }
  if (error instanceof RequestError && error.code !== 'ERR_ABORTED')
    return new ApiError(`${describeFailure(error, url)}.${doubtOf(error)}`, null, [], error);
  return error;
}

/** Milliseconds, at least one. */
function timeLeft(until: number): number {
  return Math.max(Math.ceil(until - performance.now()), 1);
}

/** Whether what was sent may have been done, and would be done again: what is no `POST` does no more the second time. */
function mayBeDone(error: RequestError): boolean {
  return error.options.method === 'POST' && isAnswerLost(error);
}

/** Whether what was sent may have been heeded, and nobody can tell. */
function isAnswerLost({ code, response }: RequestError): boolean {
  return response === undefined ? !NOT_SENT.has(code) : response.statusCode === 502;
}

function doubtOf(error: RequestError): string {
  return mayBeDone(error) ? ' The check may have been made all the same.' : '';
}

function describeFailure({ code, message }: RequestError, url: string): string {
  if (code === 'ECONNREFUSED') return `Nothing answers at ${url}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `The host of ${url} is not known`;
  if (code === 'ETIMEDOUT') return `${url} did not answer in time`;
  return `${url} cannot be reached (${message})`;
}

function tryParse(body: unknown): unknown {
  try {
    return JSON.parse(String(body));
  } catch {
    return null;
  }
}

function parse(body: string, url: string): object {
  const answer = tryParse(body);
  if (typeof answer === 'object' && answer !== null) return answer;
  throw new ApiError(`${url} did not answer with JSON: is TOCSIN_URL right?`, 200);
}
