import { type FormErrors, useForm, type UseFormReturnType } from '@mantine/form';
import type { FieldError } from '@tocsin/contracts/errors';
import type { ReactNode } from 'react';
import type { z } from 'zod';
import { ApiError } from '../api/request.ts';

type Values = Record<string, unknown>;
export type ApiForm<V extends Values> = UseFormReturnType<V> & {
  /** Shows field errors of the API at their fields. @returns whether the error has any */
  readonly applyErrors: (error: unknown) => boolean;
};

/**
 * A form that is validated while people type.
 * @param options.schema validates the request body, which `toBody` makes of the values; unset: the values themselves
 * @param options.validate finds all errors by itself
 * @param options.toField maps an error of a body's field to a field of the form; unset: they have the same path
 */
export function useApiForm<V extends Values>(
  options: {
    readonly initialValues: V;
    readonly toField?: (error: FieldError, values: V) => FieldError;
  } & (
    | { readonly schema: z.ZodType; readonly toBody?: (values: V) => unknown }
    | { readonly validate: (values: V) => readonly FieldError[] }
  ),
): ApiForm<V> {
  const form = useForm<V>({
    mode: 'controlled',
    initialValues: options.initialValues,
    validateInputOnChange: true,
    validate: (values) =>
      toFormErrors(
        'validate' in options
          ? options.validate(values)
          : bodyErrors(options.schema, options.toBody?.(values) ?? values),
      ),
  });
  return {
    ...form,
    applyErrors(error) {
      if (!(error instanceof ApiError) || error.fields.length === 0) return false;
      const { toField = (field: FieldError) => field } = options;
      form.setErrors(toFormErrors(error.fields.map((field) => toField(field, form.getValues()))));
      return true;
    },
  };
}

/** What a schema rejects in a request body. */
export function bodyErrors(schema: z.ZodType, body: unknown): FieldError[] {
  const { error } = schema.safeParse(body);
  return (error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message }));
}

/** The first error of each field. */
export function toFormErrors(errors: readonly FieldError[]): FormErrors {
  return Object.fromEntries(errors.toReversed().map(({ path, message }) => [path, message]));
}

/** The error of a field or of its first invalid part: of `monitorIds` or of `monitorIds.3`. */
export function errorsUnder(errors: FormErrors, field: string): ReactNode {
  const own = errors[field];
  if (own !== undefined && own !== null && own !== false) return own;
  const part = Object.entries(errors).find(([path]) => path.startsWith(`${field}.`));
  return part?.[1] ?? null;
}
