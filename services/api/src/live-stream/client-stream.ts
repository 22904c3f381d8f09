import type { Response } from 'express';
import { heartbeat, type Page } from './messages.ts';
import type { Replay } from './replay.ts';

const HEADERS = {
  'Content-Type': 'text/event-stream',
  // A compressing proxy would delay messages.
  'Cache-Control': 'no-store, no-transform',
  // nginx would delay messages until its buffer is full.
  'X-Accel-Buffering': 'no',
};
/** Replayed messages written before waiting for the client to read them. */
const REPLAY_CHUNK = 100;
/** Clients may take this long to read the rest of an ended stream. */
const END_WITHIN_MS = 1_000;
/** If a query began this long after a replay, it includes the records of the replay. */
const HUB_IS_PAST_MS = 1_000;

/** Also for `HEAD`. Express' setter would add a charset. */
export function writeStreamHeaders(res: Response): void {
  res.writeHead(200, HEADERS);
}

/** A stream to one client. Queues pages until missed records are sent. */
export class ClientStream {
  readonly #res: Response;
  readonly #unsentBytes: number;
  #queued: Page[] | null = [];
  #queuedBytes = 0;
  /** Ids of replayed records. The hub may be behind the replay and publish some again. */
  #replayed = new Set<string>();
  #replayedAt = 0;
  /** This process' clock when the replay had been read. */
  #begunAt = 0;

  constructor(res: Response, unsentBytes: number) {
    this.#res = res;
    this.#unsentBytes = unsentBytes;
  }

  get isOpen(): boolean {
    return !this.#res.destroyed && !this.#res.writableEnded;
  }

  /** Sends a page, or cuts the stream if too many bytes are unsent. The client can resume. */
  publish(page: Page): void {
    if (this.#queued === null) this.#writePage(page);
    else if (this.#queuedBytes > this.#unsentBytes) this.cut();
    else {
      this.#queued.push(page);
      this.#queuedBytes += page.bytes.length;
    }
  }

  /** Sends a digest, unless the replay may be ahead of it. @param queriedAt this process' clock before the query */
  publishDigest(text: string, queriedAt: number): void {
    if (this.#queued === null && queriedAt >= this.#begunAt) this.#write(text);
  }

  /** Sends the headers, the replay as fast as the client reads, then queued pages without replayed records. */
  async begin(replay: Replay): Promise<void> {
    this.#begunAt = performance.now();
    writeStreamHeaders(this.#res);
    this.#write(replay.opening);
    const { messages } = replay;
    for (let start = 0; start < messages.length && this.isOpen; start += REPLAY_CHUNK) {
      const texts = messages.slice(start, start + REPLAY_CHUNK).map(({ text }) => text);
      if (!this.#res.write(texts.join(''))) await drained(this.#res);
    }
    this.#replayed = new Set(messages.map(({ recordId }) => recordId));
    this.#replayedAt = replay.readAt;
    const queued = this.#queued ?? [];
    this.#queued = null;
    for (const page of queued) this.#writePage(page);
  }

  beat(position: number): void {
    this.#write(heartbeat(this.#queued === null ? position : null));
    if (position > this.#replayedAt + HUB_IS_PAST_MS) this.#replayed.clear();
  }

  /** @returns false if the stream has not begun, so that it cannot end yet */
  end(): boolean {
    if (!this.#res.headersSent) return false;
    if (this.isOpen) {
      this.#res.end();
      setTimeout(() => this.#res.destroy(), END_WITHIN_MS).unref();
    }
    return true;
  }

  cut(): void {
    this.#res.destroy();
  }

  #writePage({ messages, bytes }: Page): void {
    if (this.#replayed.size === 0) {
      this.#write(bytes);
      return;
    }
    const texts = messages.filter(({ recordId }) => !this.#replayed.has(recordId)).map(({ text }) => text);
    if (texts.length > 0) this.#write(texts.join(''));
  }

  #write(data: string | Buffer): void {
    if (!this.isOpen) return;
    if (this.#res.writableLength > this.#unsentBytes) this.cut();
    else this.#res.write(data);
  }
}

/** Resolves when the client has read everything, or has disconnected. */
function drained(res: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
    if (res.destroyed) done();
  });
}
