import { isDeepStrictEqual } from 'node:util';

export function pick<Value, Key extends keyof Value>(value: Value, keys: readonly Key[]): Pick<Value, Key> {
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<Value, Key>;
}

/** Replaces the fields that an update gives. Undefined means that a field is not given. */
export function merge<Value extends object>(
  before: Value,
  update: { readonly [Key in keyof Value]?: Value[Key] | undefined },
): Value {
  const given = Object.entries(update).filter(([, value]) => value !== undefined);
  return { ...before, ...Object.fromEntries(given) };
}

/** Lists the fields of `after` whose values differ from those before. */
export function changedFields<After extends object>(
  before: { readonly [Key in keyof After]?: unknown },
  after: After,
): (keyof After)[] {
  const fields = Object.keys(after) as (keyof After)[];
  return fields.filter((field) => !isDeepStrictEqual(before[field], after[field]));
}
