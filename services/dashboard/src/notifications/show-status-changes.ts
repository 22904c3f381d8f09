import type { LiveStream } from '../live/live-stream.ts';
import { addToBurst, type Burst, describeBurst } from './burst.ts';

/** Held by the one tab of the browser that shows notifications. */
const NOTIFIER_LOCK = 'tocsin.notifier';
/** Shared by all visible tabs. */
const VISIBLE_LOCK = 'tocsin.visible';
/** Time of the latest status change that a notifying tab has seen, for the tab that takes over. */
const SEEN_KEY = 'tocsin.notified-until';
/** The changes of an outage arrive over a few seconds. */
const COLLECT_MS = 2_000;
/** A change after this pause starts a new notification. */
const BURST_ENDS_AFTER_MS = 60_000;

/**
 * Shows a notification for each burst of status changes while no tab is visible. Only one of several tabs does so.
 * @param open opens a page in this tab
 * @returns a function that stops the notifications
 */
export function showStatusChanges(
  stream: Pick<LiveStream, 'on' | 'open' | 'staysOpen'>,
  open: (path: string) => void,
): () => void {
  const stopped = new AbortController();
  holdWhileVisible(stopped.signal);
  holdLock(NOTIFIER_LOCK, 'exclusive', stopped.signal, () => {
    stream.staysOpen = true;
    // Another tab had the lock until now, so this stream may be paused.
    if (document.visibilityState === 'hidden') stream.open();
    const stop = collectBursts(stream, open);
    stopped.signal.addEventListener('abort', () => {
      stream.staysOpen = false;
      stop();
    });
  });
  return () => stopped.abort();
}

function collectBursts(stream: Pick<LiveStream, 'on'>, open: (path: string) => void): () => void {
  let burst: Burst = new Map();
  let tag = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let endsAt = 0;
  const show = async (): Promise<void> => {
    if (await notify(burst, `tocsin-${tag}`, open)) burst = new Map();
  };
  const stopListening = stream.on('batch', ({ statusChanges }) => {
    const seenUntil = localStorage.getItem(SEEN_KEY) ?? '';
    const changes = statusChanges.filter(({ timestamp }) => timestamp > seenUntil);
    const latest = changes
      .map(({ timestamp }) => timestamp)
      .toSorted()
      .at(-1);
    if (latest === undefined) return;
    localStorage.setItem(SEEN_KEY, latest);
    if (Date.now() > endsAt) {
      burst = new Map();
      tag = Date.now();
    }
    endsAt = Date.now() + BURST_ENDS_AFTER_MS;
    burst = addToBurst(burst, changes);
    timer ??= setTimeout(() => {
      timer = undefined;
      void show();
    }, COLLECT_MS);
  });
  return () => {
    clearTimeout(timer);
    stopListening();
  };
}

/** Replaces the earlier notification of the burst. @returns true if a visible tab shows the changes already */
async function notify(burst: Burst, tag: string, open: (path: string) => void): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  if (held.some(({ name }) => name === VISIBLE_LOCK)) return true;
  const text = describeBurst(burst);
  if (text === null) return false;
  const notification = new Notification(text.title, { body: text.body, tag, icon: '/favicon.svg' });
  notification.addEventListener('click', () => {
    window.focus();
    notification.close();
    open(text.path);
  });
  return false;
}

function holdWhileVisible(signal: AbortSignal): void {
  let visible = new AbortController();
  const onChange = (): void => {
    visible.abort();
    visible = new AbortController();
    if (document.visibilityState === 'visible')
      holdLock(VISIBLE_LOCK, 'shared', AbortSignal.any([signal, visible.signal]));
  };
  document.addEventListener('visibilitychange', onChange, { signal });
  onChange();
}

/** Waits for a lock and keeps it until the signal. The browser releases the locks of closed tabs. */
function holdLock(name: string, mode: LockMode, signal: AbortSignal, onHeld?: () => void): void {
  const request = navigator.locks.request(name, { mode, signal }, () => {
    onHeld?.();
    return new Promise<void>((release) => signal.addEventListener('abort', () => release()));
  });
  // The signal was aborted before the lock was free.
  request.catch(() => {});
}
