import { z } from 'zod';
import { component, oneOf } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { labelKeyProblem, labelValueProblem } from './labels.ts';

const MAX_KEY_CHARACTERS = LIMITS.labelPrefixCharacters + 1 + LIMITS.labelNameCharacters;

export const labelsSchema = z
  .custom<Record<string, string>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    { error: 'must be an object of label keys and string values', abort: true },
  )
  .superRefine((labels, context) => {
    const keys = Object.keys(labels);
    if (keys.length > LIMITS.labelCount) {
      context.addIssue({ code: 'custom', message: `must contain at most ${LIMITS.labelCount} labels` });
      return;
    }
    for (const key of keys) {
      const keyProblem = labelKeyProblem(key);
      const message = keyProblem === null ? labelValueProblem(labels[key]) : `the key ${keyProblem}`;
      if (message !== null) context.addIssue({ code: 'custom', path: [key], message });
    }
  })
  .meta({
    type: 'object',
    propertyNames: { maxLength: MAX_KEY_CHARACTERS },
    additionalProperties: { type: 'string', maxLength: LIMITS.labelNameCharacters },
    maxProperties: LIMITS.labelCount,
  });

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

function valid(problemOf: (text: string) => string | null): z.ZodType<string> {
  return z.string({ error: 'must be a string' }).superRefine((text, context) => {
    const message = problemOf(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}

const expressionSchema = component('LabelSelectorRequirement', 'A condition on one label.', {
  key: valid(labelKeyProblem).describe('The key of the label.'),
  operator: oneOf(OPERATORS).describe('`NotIn` and `DoesNotExist` also match monitors without the label.'),
  values: z
    .array(valid(labelValueProblem), { error: 'must be an array of label values' })
    .max(LIMITS.selectorValues, { error: `must contain at most ${LIMITS.selectorValues} values` })
    .optional()
    .describe('At least one for `In` and `NotIn`; none for `Exists` and `DoesNotExist`.'),
}).superRefine(({ operator, values = [] }, context) => {
  const takesValues = operator === 'In' || operator === 'NotIn';
  if (takesValues === values.length > 0) return;
  const message = takesValues ? `must contain a value for ${operator}` : `must be empty for ${operator}`;
  context.addIssue({ code: 'custom', path: ['values'], message });
});

const TOO_MANY_VALUES = `must contain at most ${LIMITS.selectorValues} values in all conditions together`;

export const selectorSchema = component(
  'LabelSelector',
  'Selects monitors by their labels: those for which all conditions hold. Without conditions: every monitor of the account.',
  {
    matchLabels: labelsSchema.optional().describe('Labels that a monitor must have, with these values.'),
    matchExpressions: z
      .array(expressionSchema, { error: 'must be an array of conditions' })
      .max(LIMITS.labelCount, { error: `must contain at most ${LIMITS.labelCount} conditions` })
      .optional()
      .describe('Further conditions.'),
  },
).superRefine(({ matchExpressions = [] }, context) => {
  const count = matchExpressions.reduce((sum, { values = [] }) => sum + values.length, 0);
  if (count <= LIMITS.selectorValues) return;
  context.addIssue({ code: 'custom', path: ['matchExpressions'], message: TOO_MANY_VALUES });
});
export type Selector = z.infer<typeof selectorSchema>;
export type SelectorRequirement = z.infer<typeof expressionSchema>;
