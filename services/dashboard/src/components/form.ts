import { useForm, type UseFormInput, type UseFormReturnType } from '@mantine/form';
import type { FieldError } from '@tocsin/contracts/errors';
import { flushSync } from 'react-dom';
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
  /** Returns the errors that can be found before the request. */
  readonly validate: (values: V) => readonly FieldError[];
  /** Maps an error in the request body to a form field. By default, the paths are the same. */
  readonly toField?: (error: FieldError, values: V) => FieldError;
}

/** A form that is validated during input. */
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
      const errors = toFormErrors(error.fields.map((field) => toField(field, form.getValues())));
      // Rendered at once, so that the invalid field can be focused.
      flushSync(() => form.setErrors(errors));
      return true;
    },
  };
}

export function bodyErrors(schema: z.ZodType, body: unknown): FieldError[] {
  const { error } = schema.safeParse(body);
  return (error?.issues ?? []).map(({ path, message }) => ({ path: path.join('.'), message }));
}

/** Returns the body of an update, which has the fields of `after` that differ from `before`. */
export function changedFields<Body extends object>(before: Body, after: Body): Partial<Body> {
  const changed = Object.entries(after).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field as keyof Body]),
  );
  return Object.fromEntries(changed) as Partial<Body>;
}

/** The first error of each field as a sentence. An error at an element, such as `monitorIds.3`, belongs to the whole list. */
export function toFormErrors(errors: readonly FieldError[]): Record<string, string> {
  return Object.fromEntries(
    errors.toReversed().map(({ path, message }) => [path.replace(/\.\d+$/, ''), toSentence(message)]),
  );
}

/** Messages from the API follow a field name. A leading key, as in `app: is given twice`, stays unchanged. */
function toSentence(message: string): string {
  const text = message
    .replace(/^[a-z]+ /, (word) => word.charAt(0).toUpperCase() + word.slice(1))
    .replaceAll(/(?<=[ (])\d{4,}(?=[ )]|$)/g, (digits) => formatNumber(Number(digits)));
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
