import { httpUrl } from '@tocsin/contracts/http-url';
import { z } from 'zod';
import { fieldsOf, invalidFields, toFieldErrors } from '../http/field-errors.ts';

/** Body of "trigger an immediate check": optional, and so is its one field (design §3). */
const triggerBodySchema = z.strictObject({ url: httpUrl.nullable().default(null) });

/** Whether the body asks for another URL than the configured one, well-formed or not. */
export function overridesUrl(body: Readonly<Record<string, unknown>>): boolean {
  return (body['url'] ?? null) !== null;
}

/** The URL override, or null. @throws AppError validation_failed */
export function parseTriggerBody(body: Readonly<Record<string, unknown>>): string | null {
  const result = triggerBodySchema.safeParse(body);
  if (result.success) return result.data.url;
  throw invalidFields(toFieldErrors(result.error.issues, () => fieldsOf(triggerBodySchema)));
}
