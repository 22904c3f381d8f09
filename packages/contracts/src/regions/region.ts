import { z } from 'zod';

/** A region as the dashboard API answers it (design §3). Null: the region's queue does not answer now. */
export const regionSchema = z
  .strictObject({
    region: z.string(),
    workers: z.int().min(0).nullable().describe('Checkers that take its checks.'),
    waiting: z
      .int()
      .min(0)
      .nullable()
      .describe(
        'Jobs of checks that are due and not started; one checks all monitors of an interval and phase.',
      ),
    lagSeconds: z
      .int()
      .min(0)
      .nullable()
      .describe('How long the oldest of them has been due; 0 without any.'),
    monitors: z.int().min(0).describe('Monitors of the account that it checks.'),
    served: z.boolean().nullable().describe('Whether any checker takes its checks.'),
  })
  .meta({
    id: 'Region',
    description: 'Where checks are made. Null: the queue of the region does not answer now.',
  });
export type Region = z.infer<typeof regionSchema>;
