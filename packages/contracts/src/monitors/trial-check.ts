import { z } from 'zod';
import { component } from '../fields.ts';
import { REGION_PATTERN } from '../limits.ts';
import { CHECK_STATUSES } from '../vocabulary.ts';
import { eventResponseSchema, eventSchema } from './events.ts';

const { latency, statusCode, errorReason, errorDetail, timings } = eventSchema.shape;

export const assertionOutcomeSchema = component('AssertionOutcome', {
  assertion: z.string().max(64).describe('Path in `assertions`, such as `json.0`.'),
  passed: z.boolean(),
  detail: z.string().max(500).describe('What was expected and seen, in words.'),
});
export type AssertionOutcome = z.infer<typeof assertionOutcomeSchema>;

export const trialCheckSchema = component(
  'TrialCheck',
  'The result of one check of settings that are not saved. It is not recorded.',
  {
    status: z.enum(CHECK_STATUSES).describe('Whether the check passed.'),
    region: z.string().describe('Code of the region that checked.'),
    latency,
    statusCode,
    errorReason,
    errorDetail,
    inconclusive: z
      .boolean()
      .describe('Whether the check failed because of its checker. It then says nothing about the target.'),
    timings,
    assertions: z
      .array(assertionOutcomeSchema)
      .describe(
        'The outcome of each assertion. Only the status code if that is wrong; empty without a complete response.',
      ),
    response: eventResponseSchema
      .nullable()
      .describe('What the target sent to a failed check; null without a response, or if it passed.'),
  },
);
export type TrialCheck = z.infer<typeof trialCheckSchema>;

export const trialCheckQuerySchema = z.object({
  region: z
    .string({ error: 'must be given only once' })
    .regex(REGION_PATTERN, { error: 'must be the code of a region' })
    .optional()
    .describe('The region that checks. Default: the first one of `regions`, or the default region.'),
});
