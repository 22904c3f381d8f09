import { type FormErrors, schemaResolver, useForm, type UseFormReturnType } from '@mantine/form';
import type { FieldError } from '@tocsin/contracts/errors';
import type { ReactNode } from 'react';
import type { z } from 'zod';
import { ApiError } from '../api/request.ts';

export type ApiForm<Values extends Record<string, unknown>> = UseFormReturnType<Values> & {
  /** Shows field errors of the API at their fields. Returns false if the error has none. */
  applyErrors: (error: unknown) => boolean;
};

/**
 * A form that a schema of the API validates on change.
 * @param toBody makes the body that the schema validates; by default the values themselves
 * @param toField maps a field error of the API to the field of the form; by default they have the same path
 */
export function useApiForm<Values extends Record<string, unknown>>(options: {
  readonly schema: z.ZodType;
  readonly initialValues: Values;
  readonly toBody?: (values: Values) => unknown;
  readonly toField?: (error: FieldError, values: Values) => FieldError;
}): ApiForm<Values> {
  const { schema, initialValues, toBody = (values) => values, toField = (error) => error } = options;
  const validateBody = schemaResolver(schema, { sync: true });
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues,
    validateInputOnChange: true,
    validate: (values) => validateBody(toBody(values)),
  });
  return {
    ...form,
    applyErrors(error) {
      if (!(error instanceof ApiError) || error.fields.length === 0) return false;
      const fields = error.fields.map((field) => toField(field, form.getValues()));
      form.setErrors(Object.fromEntries(fields.map(({ path, message }) => [path, message])));
      return true;
    },
  };
}

/** The first error of a field or of a part of it (`monitorIds`, `monitorIds.3`), or null. */
export function errorsUnder(errors: FormErrors, field: string): ReactNode {
  const own = errors[field];
  if (own !== undefined && own !== null && own !== false) return own;
  return Object.entries(errors).find(([path]) => path.startsWith(`${field}.`))?.[1] ?? null;
}
