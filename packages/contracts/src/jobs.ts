import { z } from 'zod';

/** `perRegion` queues have a region code in their names. */
interface JobDefinition {
  readonly queue: string;
  readonly perRegion: boolean;
  readonly job: string;
  readonly payload: z.ZodType;
}

/** All jobs. Payloads contain only IDs, so that URLs, headers and secrets never enter the queue. */
export const JOBS = {
  check: {
    queue: 'checks',
    perRegion: true,
    job: 'check',
    payload: z.union([
      // A wave. It checks every monitor in the region with this interval and offset (ADR 11).
      z
        .strictObject({ intervalSeconds: z.int().min(1), phaseMs: z.int().min(1) })
        .transform(({ intervalSeconds, phaseMs: offsetMs }) => ({ intervalSeconds, offsetMs })),
      // One new monitor.
      z.strictObject({ monitorId: z.uuid(), revision: z.int().min(1) }),
    ]),
  },
  trigger: {
    queue: 'triggers',
    perRegion: true,
    job: 'trigger',
    // Of a trigger, or of a test of settings that are not saved.
    payload: z.strictObject({ triggerId: z.uuid() }),
  },
  statusChange: {
    queue: 'status-changes',
    perRegion: false,
    job: 'status-change',
    payload: z.strictObject({ statusChangeId: z.uuid() }),
  },
  delivery: {
    queue: 'deliveries',
    perRegion: false,
    job: 'deliver',
    payload: z.strictObject({ deliveryId: z.uuid() }),
  },
} as const satisfies Record<string, JobDefinition>;

export type JobKind = keyof typeof JOBS;
export type SingleCheck = Extract<JobPayload<'check'>, { monitorId: string }>;
export type JobPayload<Kind extends JobKind> = z.infer<(typeof JOBS)[Kind]['payload']>;
