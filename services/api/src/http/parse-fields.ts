import type { RequestHandler } from 'express';
import { z } from 'zod';
import { fieldsOf, invalidFields, toFieldErrors } from './field-errors.ts';
import { bodyOf } from './json-body.ts';

const noFields = z.strictObject({});

/** The fields of a body or query by a flat schema. @throws AppError validation_failed, with every fault at once */
export function parseFields<Schema extends z.ZodObject>(schema: Schema, fields: unknown): z.output<Schema> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  throw invalidFields(toFieldErrors(result.error.issues, () => fieldsOf(schema)));
}

/** Refuses a body with anything in it, where there is nothing to say. */
export const requireNoFields: RequestHandler = (req, _res, next) => {
  parseFields(noFields, bodyOf(req));
  next();
};
