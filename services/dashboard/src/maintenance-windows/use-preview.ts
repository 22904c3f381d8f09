import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useNow } from '../components/time.tsx';
import type { Overlap } from './find-overlaps.ts';
import type { Occurrence, Schedule } from './occurrences.ts';
import { windowsQuery } from './queries.ts';

const SHOWN = 5;

export interface Preview {
  /** The next ones; what runs now is one of them. */
  readonly occurrences: readonly Occurrence[];
  /** One that would still run when the next starts, which the server refuses. */
  readonly tight: Occurrence | null;
  readonly overlaps: readonly Overlap[];
}

/** The rules of recurrence are large: loaded with the first preview. */
const rulesQuery = {
  queryKey: ['recurrence-rules'],
  queryFn: async () => ({
    ...(await import('./occurrences.ts')),
    ...(await import('./find-overlaps.ts')),
  }),
  staleTime: Infinity,
  gcTime: Infinity,
  structuralSharing: false,
} as const;

/**
 * What a window that is not saved yet would do, worked out here. Null while that cannot be said.
 * @param schedule null where times are missing
 * @returns or what is wrong with its rule
 */
export function usePreview(
  schedule: Schedule | null,
  monitorIds: readonly string[],
  ownId: string | null,
): Preview | { readonly problem: string } | null {
  const { data: rules } = useQuery(rulesQuery);
  const { data: windows } = useQuery(windowsQuery);
  const now = useNow(false);
  return useMemo(() => {
    if (rules === undefined || schedule === null) return null;
    try {
      const occurrences = rules.nextOccurrences(schedule, SHOWN, now);
      return {
        occurrences,
        tight: rules.tightOccurrence(schedule, now),
        overlaps: rules.findOverlaps(occurrences, new Set(monitorIds), windows ?? [], ownId),
      };
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) };
    }
  }, [rules, windows, schedule, monitorIds, ownId, now]);
}
