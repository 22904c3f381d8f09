import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useLiveStream } from '../../live/live-provider.tsx';
import { monitorsQuery } from '../queries.ts';
import type { Latencies } from './arrange-monitors.ts';
import { LatestLatencies } from './latest-latencies.ts';
import { loadRecentChecks } from './load-recent-checks.ts';

/** A list by latency would never stand still: it is sorted anew only so often. */
const PUBLISH_EVERY_MS = 10_000;
const NONE: Latencies = new Map();

/** The latencies to sort all monitors by; loaded and kept only while `isWanted`. */
export function useLatencies(isWanted: boolean): Latencies {
  const stream = useLiveStream();
  const queryClient = useQueryClient();
  const [latencies, setLatencies] = useState(NONE);
  useEffect(() => {
    if (!isWanted) return undefined;
    const latest = new LatestLatencies();
    const left = new AbortController();
    const publish = (): void => {
      if (!left.signal.aborted) setLatencies(latest.publish());
    };
    const leave = stream.onBatch(({ checks }) => latest.add(checks));
    const timer = setInterval(publish, PUBLISH_EVERY_MS);
    void queryClient
      .ensureQueryData(monitorsQuery)
      .then((monitors) =>
        latest.load(
          monitors.map(({ id }) => id),
          loadRecentChecks,
          left.signal,
        ),
      )
      // What is missing, the stream brings.
      .catch(() => undefined)
      .finally(publish);
    return () => {
      left.abort();
      leave();
      clearInterval(timer);
      setLatencies(NONE);
    };
  }, [isWanted, stream, queryClient]);
  return latencies;
}
