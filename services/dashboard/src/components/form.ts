import { schemaResolver, useForm, type UseFormReturnType } from '@mantine/form';
import type { FormErrors } from '@mantine/form';
import type { ReactNode } from 'react';
import type { z } from 'zod';
import { ApiError } from '../api/request.ts';

/**
 * A form that a schema of the API judges as one types. What the server says of fields, `applyErrors` puts beside them.
 * @param toBody the body that the schema judges, made of the form's values; by default the values themselves
 */
export function useApiForm<Values extends Record<string, unknown>>(options: {
  readonly schema: z.ZodType;
  readonly initialValues: Values;
  readonly toBody?: (values: Values) => unknown;
}): UseFormReturnType<Values> & { applyErrors: (error: unknown) => boolean } {
  const { schema, initialValues, toBody = (values: Values): unknown => values } = options;
  const judge = schemaResolver(schema, { sync: true });
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues,
    validateInputOnChange: true,
    validate: (values) => judge(toBody(values)),
  });
  return {
    ...form,
    /** @returns whether the error was about fields of this form */
    applyErrors(error) {
      if (!(error instanceof ApiError) || error.fields.length === 0) return false;
      form.setErrors(Object.fromEntries(error.fields.map(({ path, message }) => [path, message])));
      return true;
    },
  };
}

/** What is said of a field, or of a part of it: `monitorIds`, or `monitorIds.3`. Null where nothing is. */
export function errorsUnder(errors: FormErrors, field: string): ReactNode {
  const own = errors[field];
  if (own !== undefined && own !== null && own !== false) return own;
  const part = Object.entries(errors).find(([path]) => path.startsWith(`${field}.`));
  return part?.[1] ?? null;
}
