import type { LiveStream } from './live-stream.ts';

/** Somebody who looks at another tab for a moment misses nothing; beyond that the connection is worth more to the tabs that are seen. */
const PAUSE_AFTER_MS = 60_000;

/**
 * Lets a page that nobody sees let go of its stream: over HTTP/1.1 a browser has six connections to a server, for all its tabs.
 * @returns what ends it
 */
export function pauseWhileHidden(stream: Pick<LiveStream, 'open' | 'pause'>, page: Document): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPaused = false;
  const onChange = (): void => {
    clearTimeout(timer);
    if (page.visibilityState === 'hidden') {
      timer = setTimeout(() => {
        isPaused = true;
        stream.pause();
      }, PAUSE_AFTER_MS);
    } else if (isPaused) {
      isPaused = false;
      stream.open();
    }
  };
  page.addEventListener('visibilitychange', onChange);
  return () => {
    clearTimeout(timer);
    page.removeEventListener('visibilitychange', onChange);
  };
}
