import { z } from 'zod';

/** The process cannot run with these settings. `main` prints the message alone, without a stack, and exits 1. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** What the catalogue in `settings.ts` says of a variable beside its schema. */
export interface SettingMeta {
  readonly description: string;
  /** The value is never shown in an error message. */
  readonly secret?: boolean;
  /** A value to show in `.env.example` where there is no default. */
  readonly example?: string;
}

export type EnvSource = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables of `schema`; an empty string counts as unset.
 * Throws a `SettingsError` with one line per bad variable: its name, what is right, and what it is.
 */
export function parseEnv<Shape extends z.core.$ZodShape>(
  schema: z.ZodObject<Shape>,
  source: EnvSource = process.env,
): z.output<z.ZodObject<Shape>> {
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = source[name]?.trim();
    if (value !== undefined && value !== '') values[name] = value;
  }
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  throw new SettingsError(errorLines(schema, values, result.error.issues).join('\n'));
}

function errorLines(
  schema: z.ZodObject,
  values: Readonly<Record<string, string>>,
  issues: readonly z.core.$ZodIssue[],
): string[] {
  const messages = new Map<string, string>();
  for (const issue of issues) {
    const name = String(issue.path[0]);
    if (!messages.has(name)) messages.set(name, issue.message);
  }
  return [...messages].map(([name, message]) => {
    const value = values[name];
    if (value === undefined) return `${name} is not set: it ${message}`;
    return isSecret(schema.shape[name])
      ? `${name} ${message}`
      : `${name} ${message}, not ${JSON.stringify(value)}`;
  });
}

/** Whether a variable's value is secret. The catalogue's entry may have been made optional since. */
export function isSecret(field: unknown): boolean {
  if (!(field instanceof z.ZodType)) return false;
  if (field.meta()?.['secret'] === true) return true;
  return field instanceof z.ZodOptional && isSecret(field.unwrap());
}
