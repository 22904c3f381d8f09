import { z } from 'zod';
import { Problem } from '../desired/problem.ts';

export const secretKeyRef = z
  .strictObject({
    name: z.string().describe('Name of a Secret in the namespace of the resource.'),
    key: z.string().describe('Key in the Secret.'),
  })
  .describe('A value in a Secret of the same namespace.');
type SecretKeyRef = z.infer<typeof secretKeyRef>;

/** Either the text itself, or where it is read from. */
const source = {
  value: z.string().optional().describe('The value itself.'),
  valueFrom: z.strictObject({ secretKeyRef }).optional().describe('Where the value is read from.'),
};
const valueSchema = z.strictObject(source);
const headersSchema = z
  .array(z.strictObject({ name: z.string().describe('Name of the header.'), ...source }))
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] });

/** Fields of the API whose values can be in Secrets, by path. A field that the API gets later needs no other change. */
const VALUES: ReadonlySet<string> = new Set(['routingKey', 'tls.ca', 'tls.certificate', 'tls.key']);
const HEADERS = 'headers';

const hasValues = (path: string): boolean => [...VALUES].some((each) => each.startsWith(`${path}.`));

/** Makes the fields of the API optional, and those that can be in Secrets objects with `value` or `valueFrom`. */
export function withValueSources(shape: z.core.$ZodShape, place = ''): Record<string, z.ZodOptional> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => {
      const path = `${place}${name}`;
      const { inner, description } = unwrap(schema as z.ZodType);
      if (VALUES.has(path))
        return [name, valueSchema.optional().describe(`${description} Has a \`value\` or \`valueFrom\`.`)];
      if (path === HEADERS)
        return [
          name,
          headersSchema.optional().describe(`${description} Each has a \`value\` or \`valueFrom\`.`),
        ];
      if (!hasValues(path) || !(inner instanceof z.ZodObject))
        return [name, (schema as z.ZodType).optional()];
      const fields = z.strictObject(withValueSources(inner.shape, `${path}.`));
      return [name, fields.nullable().optional().describe(description)];
    }),
  );
}

/** Removes what makes a schema nullable or optional or gives it a default. */
function unwrap(schema: z.ZodType): { readonly inner: z.ZodType; readonly description: string } {
  const isWrapper =
    schema instanceof z.ZodNullable || schema instanceof z.ZodDefault || schema instanceof z.ZodOptional;
  const { inner, description } = isWrapper
    ? unwrap(schema.unwrap() as z.ZodType)
    : { inner: schema, description: '' };
  return { inner, description: schema.description ?? description };
}

/** Reads a value from a Secret. `place` is the field that needs it. @throws Problem */
export type Read = (ref: SecretKeyRef, place: string) => Promise<string>;

/** Replaces `value` and `valueFrom` by the texts that they stand for. @throws Problem, or the error of `read` */
export async function resolveValues(
  fields: Readonly<Record<string, unknown>>,
  read: Read,
  place = '',
): Promise<Record<string, unknown>> {
  const entries = Object.entries(fields).map(async ([name, given]): Promise<[string, unknown]> => {
    const path = `${place}${name}`;
    if (VALUES.has(path)) return [name, await valueOf(given as ValueSource, path, read)];
    if (path === HEADERS) {
      const headers = given as readonly (ValueSource & { readonly name: string })[];
      const pairs = headers.map(async (each) => [
        each.name,
        await valueOf(each, `headers.${each.name}`, read),
      ]);
      return [name, Object.fromEntries(await Promise.all(pairs))];
    }
    if (!hasValues(path) || given === null) return [name, given];
    return [name, await resolveValues(given as Readonly<Record<string, unknown>>, read, `${path}.`)];
  });
  return Object.fromEntries(await Promise.all(entries));
}

type ValueSource = z.infer<typeof valueSchema>;

async function valueOf({ value, valueFrom }: ValueSource, place: string, read: Read): Promise<string> {
  if (value !== undefined && valueFrom === undefined) return value;
  if (value === undefined && valueFrom !== undefined) return read(valueFrom.secretKeyRef, place);
  throw new Problem('Invalid', `${place}: set either value or valueFrom`);
}
