import { z } from 'zod';

/** A region as the dashboard API answers it (design §3). Null: the region's queue does not answer now. */
export const regionSchema = z
  .strictObject({
    region: z.string(),
    /** Checker processes that take its checks. */
    workers: z.int().min(0).nullable(),
    /** Jobs of checks that are due and not started: waves, and first checks. */
    waiting: z.int().min(0).nullable(),
    /** How long the oldest of them has been due; 0 without any. */
    lagSeconds: z.int().min(0).nullable(),
    /** Monitors of the account that it checks. */
    monitors: z.int().min(0),
    /** Whether any worker takes its checks. */
    served: z.boolean().nullable(),
  })
  .meta({ id: 'Region' });
export type Region = z.infer<typeof regionSchema>;
