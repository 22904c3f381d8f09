import { z } from 'zod';

/** An answer with one thing under its name. */
export function one(name: string, schema: z.ZodType): z.ZodType {
  return z.strictObject({ [name]: schema });
}

/** An answer with a list under its name. */
export function many(name: string, schema: z.ZodType): z.ZodType {
  return one(name, z.array(schema));
}

/** The body of what has nothing to say: none, or an object without fields. */
export const nothing: z.ZodType = z.strictObject({});

/** Where everything for people who are signed in is. */
export const DASHBOARD = '/api/dashboard';

/** The header `If-Match` of a request that may have it. */
export function ifMatchWith(description: string): z.ZodObject {
  return z.object({ 'If-Match': z.string().optional().describe(description) });
}
