import { z } from 'zod';

export const regionSchema = z
  .strictObject({
    region: z.string(),
    workers: z.int().min(0).nullable().describe('Checkers that run its checks.'),
    waiting: z
      .int()
      .min(0)
      .nullable()
      .describe('Jobs that are due and not started. One job checks all monitors of an interval and phase.'),
    lagSeconds: z
      .int()
      .min(0)
      .nullable()
      .describe('How long the oldest waiting job has been due; 0 if none waits.'),
    monitors: z.int().min(0).describe('Monitors of the account in the region.'),
    served: z.boolean().nullable().describe('Whether any checker runs its checks.'),
  })
  .meta({
    id: 'Region',
    description: 'Where checks run. Null: the queue of the region does not respond.',
  });
export type Region = z.infer<typeof regionSchema>;
