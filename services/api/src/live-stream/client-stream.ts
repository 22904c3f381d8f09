import type { Logger } from '@tocsin/runtime/logger';
import type { Response } from 'express';
import { isOutage } from '../http/errors.ts';
import { heartbeat } from './messages.ts';
import type { Page } from './messages.ts';
import type { Replay } from './replay.ts';

const HEADERS = {
  'Content-Type': 'text/event-stream',
  // A proxy that compresses would keep messages back, too.
  'Cache-Control': 'no-store, no-transform',
  // nginx would keep the messages until it has a buffer full of them.
  'X-Accel-Buffering': 'no',
};
/** Of a replay, written before waiting until the client has taken it. */
const REPLAY_CHUNK = 100;
/** How long a client may take for what is under way when its stream ends. */
const END_WITHIN_MS = 1_000;
/** A look at Postgres that began so long after a replay was read has seen all that the replay had. */
const HUB_IS_PAST_MS = 1_000;

/** The headers of a stream that follows, or would (`HEAD`). Express' own setter would add a charset. */
export function writeStreamHeaders(res: Response): void {
  res.writeHead(200, HEADERS);
}

/** One client's stream. Until it has begun, pages are held: they come after what it missed. */
export class ClientStream {
  readonly #res: Response;
  readonly #unsentBytes: number;
  #held: Page[] | null = [];
  #heldBytes = 0;
  /** What the replay had: the hub, which may be behind it, is still to publish some of that. */
  #replayed = new Set<string>();
  #replayedAt = 0;

  constructor(res: Response, unsentBytes: number) {
    this.#res = res;
    this.#unsentBytes = unsentBytes;
  }

  get isOpen(): boolean {
    return !this.#res.destroyed && !this.#res.writableEnded;
  }

  /** Sends a page, or cuts the stream off where too much waits already: the client resumes when it can. */
  publish(page: Page): void {
    if (this.#held === null) this.#writePage(page);
    else if (this.#heldBytes > this.#unsentBytes) this.cut();
    else {
      this.#held.push(page);
      this.#heldBytes += page.bytes.length;
    }
  }

  /** Answers, sends what the client missed as fast as it takes it, then what was held and is not among that. */
  async begin(replay: Replay): Promise<void> {
    writeStreamHeaders(this.#res);
    this.#write(replay.opening);
    const { messages } = replay;
    for (let start = 0; start < messages.length && this.isOpen; start += REPLAY_CHUNK) {
      const texts = messages.slice(start, start + REPLAY_CHUNK).map(({ text }) => text);
      if (!this.#res.write(texts.join(''))) await drained(this.#res);
    }
    this.#replayed = new Set(messages.map(({ recordId }) => recordId));
    this.#replayedAt = replay.readAt;
    const held = this.#held ?? [];
    this.#held = null;
    for (const page of held) this.#writePage(page);
  }

  /** @param position that of the pages published so far */
  beat(position: number): void {
    this.#write(heartbeat(this.#held === null ? position : null));
    if (position > this.#replayedAt + HUB_IS_PAST_MS) this.#replayed.clear();
  }

  /** Ends it where it has begun. */
  end(): void {
    if (!this.isOpen || !this.#res.headersSent) return;
    this.#res.end();
    setTimeout(() => this.#res.destroy(), END_WITHIN_MS).unref();
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

/** Resolves when the client has taken what was written, or is gone. */
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

export interface KeepAliveOptions {
  readonly stream: Pick<ClientStream, 'beat' | 'end'>;
  /** Of the pages published so far. */
  readonly position: () => number;
  readonly isSignedIn: () => Promise<boolean>;
  readonly everyMs: number;
  readonly logger: Logger;
}

/**
 * Gives signs of life, so that nobody on the way takes the stream for dead, and ends the stream of who is not signed in any more. While
 * Postgres is away, nobody can tell, and there is nothing to send.
 * @returns what stops it, and resolves when nothing is asked of Postgres any more
 */
export function keepAlive(options: KeepAliveOptions): () => Promise<void> {
  const { stream, logger } = options;
  let checking: Promise<void> | undefined;
  async function check(): Promise<void> {
    try {
      if (!(await options.isSignedIn())) stream.end();
    } catch (error) {
      if (!isOutage(error)) {
        logger.error('The session of a live stream could not be checked', { error });
        stream.end();
      }
    }
  }
  const timer = setInterval(() => {
    stream.beat(options.position());
    checking ??= check().finally(() => {
      checking = undefined;
    });
  }, options.everyMs);
  return async () => {
    clearInterval(timer);
    await checking;
  };
}
