import { useForm, type UseFormInput, type UseFormReturnType } from '@mantine/form';
import type { FieldError } from '@tocsin/contracts/errors';
import type { z } from 'zod';
import { ApiError } from '../api/request.ts';
import { formatNumber } from './format.ts';

type Values = Record<string, unknown>;
export type ApiForm<V extends Values> = UseFormReturnType<V> & {
  /** Shows field errors of the API at their fields. @returns whether the error has any */
  readonly applyErrors: (error: unknown) => boolean;
};

interface ApiFormOptions<V extends Values> extends Pick<UseFormInput<V>, 'onValuesChange'> {
  readonly initialValues: V;
  /** All errors that are known before the request. */
  readonly validate: (values: V) => readonly FieldError[];
  /** Maps an error of the request body to a field of the form. Unset: they have the same path. */
  readonly toField?: (error: FieldError, values: V) => FieldError;
}

/** A form that is validated while people type. */
export function useApiForm<V extends Values>(options: ApiFormOptions<V>): ApiForm<V> {
  const { validate, toField = (error) => error, ...rest } = options;
  const form = useForm<V>({
    mode: 'controlled',
    validateInputOnChange: true,
    validate: (values) => toFormErrors(validate(values)),
    ...rest,
  });
  return {
    ...form,
    applyErrors(error) {
      if (!(error instanceof ApiError) || error.fields.length === 0) return false;
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

/** The fields of `after` that differ from `before`: the body of an update. */
export function changedFields<Body extends object>(before: Body, after: Body): Partial<Body> {
  const changed = Object.entries(after).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof Body]),
  );
  return Object.fromEntries(changed) as Partial<Body>;
}

/** The first error of each field, as a sentence. An error of one element, such as `monitorIds.3`, counts for the whole list. */
export function toFormErrors(errors: readonly FieldError[]): Record<string, string> {
  return Object.fromEntries(
    errors.toReversed().map(({ path, message }) => [path.replace(/\.\d+$/, ''), toSentence(message)]),
  );
}

/** A message of the API follows the name of its field. A key at its start, as in `app: is given twice`, stays as it is. */
function toSentence(message: string): string {
  const text = message
    .replace(/^[a-z]+ /, (word) => word.charAt(0).toUpperCase() + word.slice(1))
    .replaceAll(/(?<=[ (])\d{4,}(?=[ )]|$)/g, (digits) => formatNumber(Number(digits)));
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
