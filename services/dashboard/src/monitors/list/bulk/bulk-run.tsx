import { Progress } from '@mantine/core';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { formatCount, formatNumber } from '../../../components/format.ts';
import { Quiet } from '../../../components/text.tsx';
import { sendInChunks } from './send-in-chunks.ts';

export interface BulkDialogProps {
  readonly monitors: readonly MonitorOverview[];
  /** Called with the monitors that could not be changed and stay selected. */
  readonly onRemaining: (ids: readonly string[]) => void;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

interface BulkRun {
  /** Null while nothing is running. */
  readonly progress: { readonly done: number; readonly total: number } | null;
  readonly run: (
    ids: readonly string[],
    send: (ids: readonly string[]) => Promise<unknown>,
    size?: number,
  ) => Promise<void>;
}

/** Sends requests for many monitors and tracks the progress. Unmounting stops after the current request. */
export function useBulkRun(): BulkRun {
  const [progress, setProgress] = useState<BulkRun['progress']>(null);
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  const run: BulkRun['run'] = async (ids, send, size) => {
    const { signal } = (controller.current = new AbortController());
    let done = 0;
    setProgress({ done, total: ids.length });
    try {
      await sendInChunks(ids, send, {
        ...(size !== undefined && { size }),
        signal,
        onSent: (sent) => {
          done += sent.length;
          setProgress({ done, total: ids.length });
        },
      });
    } finally {
      setProgress(null);
    }
  };
  return { progress, run };
}

/** Renders nothing while nothing is running. */
export function ProgressBar({ progress }: Pick<BulkRun, 'progress'>): ReactNode {
  if (progress === null) return null;
  const { done, total } = progress;
  return (
    <div role="status">
      <Quiet mb={6}>
        {formatNumber(done)} of {formatCount(total, 'monitor')}
      </Quiet>
      <Progress value={(100 * done) / total} aria-label="Progress" />
    </div>
  );
}
