import { until } from '@tocsin/embedded/testing/until';
import type { TestApi } from './test-api.ts';

export const STREAM = '/api/dashboard/stream';

/** One server-sent event with data, except heartbeats. */
export interface Received {
  readonly event: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

interface ReaderOptions {
  readonly cookie: string;
  readonly position?: string | undefined;
}

/** Reads a stream as a browser does, until it is closed from either side. */
export class StreamReader {
  readonly response: Response;
  readonly received: Received[] = [];
  /** Number of heartbeats so far, which `received` does not contain. */
  heartbeats = 0;
  /** A browser would send this as `Last-Event-ID`. */
  lastEventId = '';
  /** Resolves when the stream is over: `ended` by the server, otherwise `broken`. */
  readonly over: Promise<'ended' | 'broken'>;
  readonly #abort: AbortController;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.over = this.#read();
  }

  static async open(api: TestApi, { cookie, position }: ReaderOptions): Promise<StreamReader> {
    const abort = new AbortController();
    const headers = { Cookie: cookie, ...(position !== undefined && { 'Last-Event-ID': position }) };
    const response = await fetch(`http://127.0.0.1:${api.port}${STREAM}`, { headers, signal: abort.signal });
    if (response.status !== 200) throw new Error(`no stream: ${response.status} ${await response.text()}`);
    return new StreamReader(response, abort);
  }

  /** Waits until this record is received. */
  async sees(recordId: unknown): Promise<void> {
    await until(`the stream sends record ${String(recordId)}`, () =>
      this.received.some(({ data }) => data['id'] === recordId),
    );
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.over;
  }

  async #read(): Promise<'ended' | 'broken'> {
    const { body } = this.response;
    if (body === null) throw new Error('a stream without a body');
    let rest = '';
    const decoder = new TextDecoder();
    try {
      for await (const bytes of body) {
        const blocks = (rest + decoder.decode(bytes, { stream: true })).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
      }
      return 'ended';
    } catch {
      return 'broken';
    }
  }

  #take(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const [name = '', ...value] = line.split(':');
      fields.set(name, value.join(':').trimStart());
    }
    this.lastEventId = fields.get('id') ?? this.lastEventId;
    const data = fields.get('data');
    if (data === undefined) return;
    if (fields.get('event') === 'heartbeat') {
      this.heartbeats += 1;
      return;
    }
    this.received.push({
      event: fields.get('event') ?? 'message',
      id: this.lastEventId,
      data: JSON.parse(data) as Received['data'],
    });
  }
}
