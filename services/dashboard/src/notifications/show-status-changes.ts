import type { LiveStream } from '../live/live-stream.ts';
import { addToBurst, type Burst, describeBurst } from './burst.ts';

/** Names that the tabs of an account share in this browser. */
const namesOf = (accountId: string) => ({
  /** Lock of the one tab that shows notifications. */
  notifier: `tocsin.notifier.${accountId}`,
  /** Lock that all visible tabs share. */
  visible: `tocsin.visible.${accountId}`,
  /** Key for the time of the latest status change that a notifying tab has seen, for the tab that takes over. */
  seen: `tocsin.notified-until.${accountId}`,
  /** Replaces the earlier notification of the same burst. */
  tag: `tocsin-${accountId}`,
});
type Names = ReturnType<typeof namesOf>;

/** The changes of an outage arrive over a few seconds. */
const COLLECT_MS = 2_000;
/** A change after this pause starts a new notification. */
const BURST_ENDS_AFTER_MS = 60_000;

/**
 * Shows a notification for each burst of status changes while no tab of the account is visible. Only one of several tabs does so.
 * @param open opens a page in this tab
 * @returns a function that stops the notifications
 */
export function showStatusChanges(
  stream: Pick<LiveStream, 'on' | 'open' | 'staysOpen'>,
  accountId: string,
  open: (path: string) => void,
): () => void {
  const stopped = new AbortController();
  const names = namesOf(accountId);
  holdWhileVisible(names.visible, stopped.signal);
  holdLock(names.notifier, 'exclusive', stopped.signal, () => {
    stream.staysOpen = true;
    // Another tab had the lock until now, so this stream may be paused.
    if (document.visibilityState === 'hidden') stream.open();
    const stop = collectBursts(stream, names, open);
    stopped.signal.addEventListener('abort', () => {
      stream.staysOpen = false;
      stop();
    });
  });
  return () => stopped.abort();
}

function collectBursts(
  stream: Pick<LiveStream, 'on'>,
  names: Names,
  open: (path: string) => void,
): () => void {
  let burst: Burst = new Map();
  let tag = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let endsAt = 0;
  const show = async (): Promise<void> => {
    if (await notify(burst, names, tag, open)) burst = new Map();
  };
  const stopListening = stream.on('batch', ({ statusChanges }) => {
    const seenUntil = localStorage.getItem(names.seen) ?? '';
    const changes = statusChanges.filter(({ timestamp }) => timestamp > seenUntil);
    const latest = changes
      .map(({ timestamp }) => timestamp)
      .toSorted()
      .at(-1);
    if (latest === undefined) return;
    localStorage.setItem(names.seen, latest);
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
async function notify(
  burst: Burst,
  names: Names,
  tag: number,
  open: (path: string) => void,
): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  if (held.some(({ name }) => name === names.visible)) return true;
  const text = describeBurst(burst);
  if (text === null) return false;
  const notification = new Notification(text.title, {
    body: text.body,
    tag: `${names.tag}-${tag}`,
    icon: '/favicon.svg',
  });
  notification.addEventListener('click', () => {
    window.focus();
    notification.close();
    open(text.path);
  });
  return false;
}

function holdWhileVisible(lock: string, signal: AbortSignal): void {
  let visible = new AbortController();
  const onChange = (): void => {
    visible.abort();
    visible = new AbortController();
    if (document.visibilityState === 'visible')
      holdLock(lock, 'shared', AbortSignal.any([signal, visible.signal]));
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
