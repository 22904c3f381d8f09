import { fieldsOf, toFieldErrors } from '@tocsin/contracts/field-errors';
import { triggerSchema } from '@tocsin/contracts/monitors/events';
import { invalidFields } from '../http/field-errors.ts';

/** Whether the body asks for another URL than the configured one, well-formed or not. */
export function overridesUrl(body: Readonly<Record<string, unknown>>): boolean {
  return (body['url'] ?? null) !== null;
}

/** The URL override, or null. @throws AppError validation_failed */
export function parseTriggerBody(body: Readonly<Record<string, unknown>>): string | null {
  const result = triggerSchema.safeParse(body);
  if (result.success) return result.data.url;
  throw invalidFields(toFieldErrors(result.error.issues, () => fieldsOf(triggerSchema)));
}
