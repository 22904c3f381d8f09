import type { Logger } from '@tocsin/runtime/logger';
import { isOutage } from '../http/is-outage.ts';
import type { ClientStream } from './client-stream.ts';

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
