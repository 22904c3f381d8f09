import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSilentLogger } from '../logger.ts';
import { startTracing } from '../tracing.ts';

export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Ids of linked spans. */
  readonly links: readonly string[];
  readonly failed: boolean;
}

interface OtlpAttribute {
  readonly key: string;
  /** A single field, named by its type, such as `stringValue`. */
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan extends Pick<ReceivedSpan, 'name' | 'traceId' | 'spanId'> {
  readonly parentSpanId?: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly links?: readonly { readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

/** Fields of an OTLP request that contain spans. */
interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

const ERROR = 2;

/** Turns tracing on without sending spans, for tests of trace propagation. @returns a function that turns it off */
export async function startTracingWithoutExport(): Promise<() => Promise<void>> {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER: 'always_off' };
  Object.assign(process.env, env);
  const stop = await startTracing('test', createSilentLogger());
  for (const name of Object.keys(env)) delete process.env[name];
  return stop;
}

/** A local collector of traces that accepts OTLP over HTTP in JSON. */
export class TraceReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** Bodies of all requests. */
  text = '';
  /** Authorization header of the last request, or empty without one. */
  authorization = '';
  status = 200;
  requests = 0;
  /** Leaves requests without a response until it stops. */
  hangs = false;
  /** Responds before it has read a request, and resets the connection. */
  resets = false;
  readonly #held: ServerResponse[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      this.requests += 1;
      if (this.resets) {
        response.writeHead(200, { 'Content-Length': 2 }).end('{}', () => request.socket.resetAndDestroy());
        return;
      }
      void this.#receive(request).then(() => {
        if (this.hangs) this.#held.push(response);
        else response.writeHead(this.status).end('{"of":"the collector"}');
      });
    });
  }

  static async start(): Promise<TraceReceiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TraceReceiver(server);
  }

  /** Value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    // An exporter without a response would retry and keep the process alive.
    await Promise.all(
      this.#held.map(
        (response) => new Promise<void>((resolve) => response.writeHead(200).end('{}', resolve)),
      ),
    );
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage): Promise<void> {
    let text = '';
    for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
    if (request.url !== '/v1/traces' || this.status !== 200) return;
    this.authorization = request.headers.authorization ?? '';
    this.text += text;
    for (const { resource, scopeSpans } of (JSON.parse(text) as OtlpRequest).resourceSpans) {
      const service = String(valuesOf(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) this.spans.push(toSpan(service, span));
    }
  }
}

function toSpan(service: string, span: OtlpSpan): ReceivedSpan {
  const { name, traceId, spanId, parentSpanId = '', attributes, links = [], status } = span;
  return {
    service,
    name,
    traceId,
    spanId,
    parentSpanId,
    attributes: valuesOf(attributes),
    links: links.map((link) => link.spanId),
    failed: status?.code === ERROR,
  };
}

function valuesOf(attributes: readonly OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { intValue, ...others } = value;
      return [key, intValue === undefined ? Object.values(others)[0] : Number(intValue)];
    }),
  );
}
