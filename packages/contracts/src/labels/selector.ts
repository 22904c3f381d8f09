import { z } from 'zod';
import { component, oneOf } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import { labelKeyProblem, type Labels, labelsSchema, labelValueProblem } from './labels.ts';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

/** A string without a problem. */
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
);
export type Selector = z.infer<typeof selectorSchema>;
export type SelectorRequirement = z.infer<typeof expressionSchema>;

/** Whether all conditions of a selector hold for these labels. */
export function matchesSelector(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Labels,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every((requirement) => meets(labels, requirement))
  );
}

function meets(labels: Labels, { key, operator, values = [] }: SelectorRequirement): boolean {
  const value = labelOf(labels, key);
  const isListed = value !== undefined && values.includes(value);
  return { In: isListed, NotIn: !isListed, Exists: value !== undefined, DoesNotExist: value === undefined }[
    operator
  ];
}

/** Keys such as `constructor` are valid. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
