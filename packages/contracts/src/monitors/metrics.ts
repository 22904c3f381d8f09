import { z } from 'zod';
import { storableText } from '../fields.ts';
import { labelKeyProblem } from '../labels/labels.ts';
import { LIMITS } from '../limits.ts';

const { metricLabels } = LIMITS;
/** Length of an invalid name in an error message. */
const SHOWN_CHARACTERS = 80;

/** Prometheus label for a monitor's label. Different labels may map to the same one. */
export function metricLabelOf(key: string): string {
  return `label_${key.replaceAll(/[^A-Za-z0-9_]/g, '_')}`;
}

/** Duplicate names count once. */
export const metricsQuerySchema = z.object({
  source: storableText
    .refine((source) => source.trim() !== '', {
      error: 'must not be blank: leave it out for the monitors of all sources',
    })
    .optional()
    .describe('Only the monitors of this source.')
    .meta({ minLength: 1 }),
  labels: z
    .string({ error: 'must be given only once, with the names separated by commas' })
    .transform((text) => [...new Set(text.split(','))])
    .superRefine((keys, context) => {
      const message = labelsProblem(keys);
      if (message !== null) context.addIssue({ code: 'custom', message });
    })
    .default([])
    .describe(
      `Names of up to ${metricLabels} labels to copy, separated by commas: \`app\` becomes \`label_app\`, and \`app.kubernetes.io/name\` becomes \`label_app_kubernetes_io_name\`.`,
    )
    .meta({ type: 'string', default: undefined }),
});

function labelsProblem(keys: readonly string[]): string | null {
  if (keys.length > metricLabels) return `must be at most ${metricLabels} names of labels`;
  const copied = new Map<string, string>();
  for (const key of keys) {
    const problem = labelKeyProblem(key);
    if (problem !== null)
      return `must be names of labels separated by commas: "${key.slice(0, SHOWN_CHARACTERS)}" ${problem}`;
    const other = copied.get(metricLabelOf(key));
    if (other !== undefined)
      return `must not name both ${other} and ${key}: both become ${metricLabelOf(key)}`;
    copied.set(metricLabelOf(key), key);
  }
  return null;
}
