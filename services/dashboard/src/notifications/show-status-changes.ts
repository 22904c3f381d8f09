import type { LiveStream } from '../live/live-stream.ts';
import { addToWave, describeWave, type Wave } from './wave.ts';

/** Held by the one tab of the browser that shows notifications. */
const NOTIFIER_LOCK = 'tocsin.notifier';
/** Shared by all visible tabs. */
const VISIBLE_LOCK = 'tocsin.visible';
/** The time of the latest status change that a notifier has seen, for the tab that follows it. */
const SEEN_KEY = 'tocsin.notified-until';
/** The changes of an outage arrive over a few seconds. */
const COLLECT_MS = 2_000;
/** Later changes begin a new notification. */
const WAVE_ENDS_AFTER_MS = 60_000;

/**
 * Shows a notification for each wave of status changes while no tab is visible. Of several tabs, one does.
 * @param open opens a page of this tab
 * @returns a function that stops it
 */
export function showStatusChanges(
  stream: Pick<LiveStream, 'onBatch' | 'open' | 'staysOpen'>,
  open: (path: string) => void,
): () => void {
  const stopped = new AbortController();
  holdWhileVisible(stopped.signal);
  holdLock(NOTIFIER_LOCK, 'exclusive', stopped.signal, () => {
    stream.staysOpen = true;
    // It may be paused: the tab that had the lock before was open, not this one.
    if (document.visibilityState === 'hidden') stream.open();
    const stop = collectWaves(stream, open);
    stopped.signal.addEventListener('abort', () => {
      stream.staysOpen = false;
      stop();
    });
  });
  return () => stopped.abort();
}

function collectWaves(stream: Pick<LiveStream, 'onBatch'>, open: (path: string) => void): () => void {
  let wave: Wave = new Map();
  let tag = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let endsAt = 0;
  const show = async (): Promise<void> => {
    if (await notify(wave, `tocsin-${tag}`, open)) wave = new Map();
  };
  const stopListening = stream.onBatch(({ statusChanges }) => {
    const seenUntil = localStorage.getItem(SEEN_KEY) ?? '';
    const changes = statusChanges.filter(({ timestamp }) => timestamp > seenUntil);
    const latest = changes
      .map(({ timestamp }) => timestamp)
      .toSorted()
      .at(-1);
    if (latest === undefined) return;
    localStorage.setItem(SEEN_KEY, latest);
    if (Date.now() > endsAt) {
      wave = new Map();
      tag = Date.now();
    }
    endsAt = Date.now() + WAVE_ENDS_AFTER_MS;
    wave = addToWave(wave, changes);
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

/** Shows a wave, in place of its earlier notification. @returns whether a visible tab shows it already */
async function notify(wave: Wave, tag: string, open: (path: string) => void): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  if (held.some(({ name }) => name === VISIBLE_LOCK)) return true;
  const text = describeWave(wave);
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
  // Aborted before it got the lock.
  request.catch(() => {});
}
