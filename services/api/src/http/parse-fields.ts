import { fieldsOf, toFieldErrors } from '@tocsin/contracts/field-errors';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { invalidFields } from './field-errors.ts';
import { bodyOf } from './json-body.ts';
import { pathIdOf } from './path-id.ts';
import { callerOf } from './request-state.ts';

const noFields = z.strictObject({});

/** The fields of a body or query by a flat schema. @throws AppError validation_failed, with every fault at once */
export function parseFields<Schema extends z.ZodObject>(schema: Schema, fields: unknown): z.output<Schema> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  throw invalidFields(toFieldErrors(result.error.issues, () => fieldsOf(schema)));
}

/**
 * Refuses a body with anything in it, where there is nothing to say. What is not there is said first (design §3 "Validation").
 * @param find throws not_found where the account has nothing with this id
 */
export function requireNoFields(find: (accountId: string, id: string) => Promise<unknown>): RequestHandler {
  return async function refuseFields(req, res, next) {
    const { success } = noFields.safeParse(bodyOf(req));
    if (!success) {
      await find(callerOf(res).accountId, pathIdOf(req));
      parseFields(noFields, bodyOf(req));
    }
    next();
  };
}
