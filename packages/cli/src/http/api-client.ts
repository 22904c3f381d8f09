import { randomUUID } from 'node:crypto';
import type { AgentToken, createAgentTokenSchema } from '@tocsin/contracts/agents/agent-token';
import type { agentTokenRoutes } from '@tocsin/contracts/agents/routes';
import type {
  createMaintenanceWindowSchema,
  MaintenanceWindow,
} from '@tocsin/contracts/maintenance-windows/maintenance-window';
import type { maintenanceWindowRoutes } from '@tocsin/contracts/maintenance-windows/routes';
import type { Channel, ChannelUpdate } from '@tocsin/contracts/channels/channel';
import type { channelRoutes } from '@tocsin/contracts/channels/routes';
import type { MonitorSetResult, monitorSetSchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { monitorSetRoutes } from '@tocsin/contracts/monitor-sets/routes';
import type { Event, EventResponse } from '@tocsin/contracts/monitors/events';
import type { Monitor, MonitorUpdate } from '@tocsin/contracts/monitors/monitor';
import type { monitorLookupRoutes, monitorRoutes } from '@tocsin/contracts/monitors/routes';
import type { createRegionSchema, Region } from '@tocsin/contracts/regions/region';
import type { regionRoutes } from '@tocsin/contracts/regions/routes';
import { createClient, type Client } from '@tocsin/contracts/routes/client';
import { got, HTTPError, RequestError, type Got } from 'got';
import type { z } from 'zod';
import { parseJson } from '../terminal/text.ts';
import { ApiError, responseError } from './api-error.ts';

export interface ApiClientOptions {
  readonly url: string;
  readonly apiKey: string;
  /** Called before each retry. `inSeconds` is the delay that the server requested, or 0. */
  readonly onRetry: (reason: string, inSeconds: number) => void;
  readonly signal: AbortSignal;
  /** Delay before the first retry unless the server requests one. Doubles with each retry. */
  readonly backoffMs?: number;
  /** Timeout of each request. Defaults to 90 s. */
  readonly timeoutMs?: number;
}

type Routes = typeof monitorRoutes &
  typeof monitorLookupRoutes &
  typeof monitorSetRoutes &
  typeof regionRoutes &
  typeof agentTokenRoutes &
  typeof maintenanceWindowRoutes &
  typeof channelRoutes;

const RETRIES = 4;
const BACKOFF_MS = 1_000;
/** A check may take a minute. */
const TIMEOUT_MS = 90_000;
const MAX_RETRY_AFTER_MS = 60_000;
/** Errors that occur before a request is sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

interface RequestContext extends Record<string, unknown> {
  until?: number | undefined;
  /** True if the response to an earlier attempt, which may have succeeded, was lost. */
  lostResponse?: boolean;
}

/**
 * Client of the API routes that the commands use. Retries temporary failures, and respects `Retry-After`. Methods throw `ApiError`.
 * `until` is a deadline by `performance.now()`. With an `etag`, a change is rejected if the resource has another ETag. A retry can also be
 * rejected this way if the response to the first attempt was lost.
 */
export class ApiClient {
  readonly url: string;
  readonly #got: Got;

  constructor(options: ApiClientOptions) {
    this.url = options.url;
    this.#got = createGot(options);
  }

  async listMonitors(until?: number): Promise<Monitor[]> {
    const { monitors } = await this.#api(until)('GET /api/cli/monitors');
    if (Array.isArray(monitors)) return monitors;
    throw new ApiError(`The server at ${this.url} is not Tocsin. Check TOCSIN_URL.`, 200);
  }

  async listChannels(): Promise<Channel[]> {
    return (await this.#api()('GET /api/cli/channels')).channels;
  }

  async updateChannel(id: string, body: ChannelUpdate): Promise<void> {
    await this.#api()('PUT /api/cli/channels/:id', { id, body });
  }

  async listRegions(): Promise<Region[]> {
    return (await this.#api()('GET /api/cli/regions')).regions;
  }

  async createRegion(body: z.input<typeof createRegionSchema>): Promise<Region> {
    return (await this.#api()('POST /api/cli/regions', { body })).region;
  }

  async deleteRegion(code: string): Promise<void> {
    await this.#api()('DELETE /api/cli/regions/:code', { path: { code } });
  }

  async listAgentTokens(code: string): Promise<AgentToken[]> {
    return (await this.#api()('GET /api/cli/regions/:code/agent-tokens', { path: { code } })).agentTokens;
  }

  async createAgentToken(
    code: string,
    body: z.input<typeof createAgentTokenSchema>,
  ): Promise<{ agentToken: AgentToken; token: string; url: string }> {
    return this.#api()('POST /api/cli/regions/:code/agent-tokens', { path: { code }, body });
  }

  async deleteAgentToken(code: string, tokenId: string): Promise<void> {
    await this.#api()('DELETE /api/cli/regions/:code/agent-tokens/:tokenId', { path: { code, tokenId } });
  }

  async getMonitor(id: string): Promise<{ monitor: Monitor; etag: string }> {
    let etag = '';
    const api = this.#api(undefined, (sent) => (etag = String(sent)));
    const { monitor } = await api('GET /api/cli/monitors/:id', { id });
    return { monitor, etag };
  }

  async updateMonitor(id: string, body: MonitorUpdate, etag: string): Promise<Monitor> {
    const headers = { 'If-Match': etag };
    return (await this.#api()('PUT /api/cli/monitors/:id', { id, body, headers })).monitor;
  }

  /** The request is not repeated if it may have started a check. @param url replaces the monitor's URL, or null to keep it */
  async trigger(id: string, url: string | null, until?: number): Promise<Event> {
    const body = url === null ? {} : { body: { url } };
    return (await this.#api(until)('POST /api/cli/monitors/:id/trigger', { id, ...body })).event;
  }

  /** The first `limit` events after `since`, or the latest events without `since`. Oldest first. */
  async listEvents(id: string, { limit, since }: { limit: number; since?: string }): Promise<Event[]> {
    const query = { limit: String(limit), ...(since !== undefined && { since }) };
    return (await this.#api()('GET /api/cli/monitors/:id/events', { id, query })).events;
  }

  /** The stored response to a failed check. @param timestamp timestamp of the event */
  async getEventResponse(id: string, timestamp: string): Promise<EventResponse> {
    const endpoint = 'GET /api/cli/monitors/:id/events/:timestamp/response';
    return (await this.#api()(endpoint, { id, path: { timestamp } })).response;
  }

  /** Reads the first events after a cursor, or only the current cursor if none is given. */
  async tailEvents(limit: number, since?: string): Promise<{ events: Event[]; cursor: string }> {
    return this.#api()('GET /api/cli/events', { query: { limit: String(limit), since } });
  }

  /** @param ifMatch ETag of a dry run whose plan may be applied, or null for any plan */
  async putSet(
    body: z.input<typeof monitorSetSchema>,
    ifMatch: string | null,
  ): Promise<{ result: MonitorSetResult; etag: string | null }> {
    let etag: string | null = null;
    const headers = ifMatch === null ? {} : { 'If-Match': ifMatch };
    const api = this.#api(undefined, (sent) => (etag = sent));
    const result = await api('PUT /api/cli/monitors', { body, headers });
    return { result, etag };
  }

  /** Creates exactly one window, even if a response is lost. */
  async createMaintenanceWindow(
    body: z.input<typeof createMaintenanceWindowSchema>,
  ): Promise<{ maintenanceWindow: MaintenanceWindow; monitorCount: number }> {
    const headers = { 'Idempotency-Key': randomUUID() };
    return this.#api()('POST /api/cli/maintenance-windows', { body, headers });
  }

  async endMaintenance(id: string, until: number): Promise<MaintenanceWindow> {
    return (await this.#api(until)('POST /api/cli/maintenance-windows/:id/end', { id })).maintenanceWindow;
  }

  /** Creates a typed client for one request. */
  #api(until?: number, onEtag: (etag: string | null) => void = () => undefined): Client<Routes> {
    const serverUrl = this.url.replace(/\/+$/, '');
    return createClient<Routes>(async ({ method, path, body, headers }) => {
      const context: RequestContext = { until };
      const json = body === undefined ? {} : { json: body };
      const {
        statusCode,
        headers: received,
        body: text,
      } = await this.#got(`${serverUrl}${path}`, {
        method,
        headers,
        context,
        ...json,
      }).catch((error: unknown) => {
        throw translate(error, this.url);
      });
      onEtag(received.etag ?? null);
      if (statusCode === 204) return undefined;
      const parsed = parseJson(text);
      if (typeof parsed === 'object' && parsed !== null) return parsed;
      throw new ApiError(`${this.url} did not respond with JSON. Check TOCSIN_URL.`, 200);
    });
  }
}

function createGot(options: ApiClientOptions): Got {
  const { url, apiKey, onRetry, signal, backoffMs = BACKOFF_MS, timeoutMs = TIMEOUT_MS } = options;
  return got.extend({
    headers: { authorization: `Bearer ${apiKey}`, 'user-agent': 'tocsin-cli' },
    // A redirect would forward the key, and turn a PUT into a GET.
    followRedirect: false,
    // An untrusted server must not select a decoder, because Brotli in Node is unsafe (CVE-2026-111497).
    decompress: false,
    timeout: { request: timeoutMs },
    signal,
    retry: {
      limit: RETRIES,
      methods: ['GET', 'PUT', 'POST'],
      statusCodes: [409, 429, 502, 503],
      maxRetryAfter: MAX_RETRY_AFTER_MS,
      calculateDelay: ({ attemptCount, computedValue, retryAfter, error }) => {
        if (computedValue === 0 || mayHaveSucceeded(error)) return 0;
        // Only a conflict with an earlier attempt of the same request is temporary.
        if (error.response?.statusCode === 409 && retryAfter === undefined) return 0;
        const backoff = backoffMs * 2 ** (attemptCount - 1) * (1 + Math.random() / 4);
        // 0 would disable the retry.
        const delay = Math.max(retryAfter ?? backoff, 1);
        const { until = Infinity } = error.options.context as RequestContext;
        return performance.now() + delay > until ? 0 : delay;
      },
    },
    hooks: {
      beforeRequest: [
        (request) => {
          const { until } = request.context as RequestContext;
          if (until === undefined) return;
          const leftMs = Math.max(Math.ceil(until - performance.now()), 1);
          request.timeout = { request: Math.min(leftMs, timeoutMs) };
        },
      ],
      beforeRetry: [
        (error) => {
          const { response } = error;
          // A 503 may follow a COMMIT whose response was lost.
          if (isResponseLost(error) || response?.statusCode === 503)
            (error.options.context as RequestContext).lostResponse = true;
          const reason =
            response === undefined ? describe(error, url) : `${url} responded with ${response.statusCode}`;
          onRetry(reason, Number(response?.headers['retry-after']) || 0);
        },
      ],
    },
  });
}

function translate(error: unknown, url: string): unknown {
  if (error instanceof HTTPError) {
    const { response, options } = error;
    const { lostResponse = false } = options.context as RequestContext;
    return responseError(response.statusCode, parseJson(response.body), url, lostResponse);
  }
  if (error instanceof RequestError && error.code !== 'ERR_ABORTED') {
    const hint = mayHaveSucceeded(error) ? ' The request may still have succeeded.' : '';
    return new ApiError(`${describe(error, url)}.${hint}`, null, { cause: error });
  }
  return error;
}

/** True if a retry could start a check or create something twice. Other requests are idempotent. */
function mayHaveSucceeded(error: RequestError): boolean {
  const { method, url } = error.options;
  return (
    method === 'POST' && /\/(?:trigger|regions|agent-tokens)$/.test(String(url)) && isResponseLost(error)
  );
}

/** True if the server may have processed the request. */
function isResponseLost({ code, response }: RequestError): boolean {
  return response === undefined ? !NOT_SENT.has(code) : response.statusCode === 502;
}

function describe({ code, message }: RequestError, url: string): string {
  if (code === 'ECONNREFUSED') return `No server listens at ${url}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `The host of ${url} cannot be resolved`;
  if (code === 'ETIMEDOUT') return `${url} did not respond in time`;
  return `${url} cannot be reached (${message})`;
}
