import type { FieldError } from '@tocsin/contracts/errors';
import { requestHeaders } from '@tocsin/contracts/monitors/request-headers';

/** @property key identifies the row while it is edited */
export type HeaderRow = { key: string; name: string; value: string };

export function toHeaderRows(headers: Readonly<Record<string, string>> | null): HeaderRow[] {
  return Object.entries(headers ?? {}).map(([name, value]) => ({ key: name, name, value }));
}

/** Rows with content, with their indexes in the form. */
function filledRows(headers: readonly HeaderRow[]): { name: string; value: string; index: number }[] {
  return headers
    .map(({ name, value }, index) => ({ name: name.trim(), value, index }))
    .filter(({ name, value }) => name !== '' || value !== '');
}

/** Returns the field of the API, which is null without a header. */
export function toHeaders(headers: readonly HeaderRow[]): Record<string, string> | null {
  const rows = filledRows(headers);
  return rows.length === 0 ? null : Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

/** Maps an error of a header to an input of its row. Other errors stay unchanged. */
export function toHeaderField({ path, message }: FieldError, headers: readonly HeaderRow[]): FieldError {
  const [field = '', ...rest] = path.split('.');
  const key = rest.join('.');
  if (field !== 'headers' || rest.length === 0) return { path, message };
  const row = filledRows(headers).find(({ name }) => name === key);
  if (row === undefined) return { path: field, message: `${key}: ${message}` };
  const isOfValue = !requestHeaders.safeParse({ name: row.value }).success;
  return { path: `headers.${row.index}.${isOfValue ? 'value' : 'name'}`, message };
}

/** A request body cannot contain the same header twice. */
export function repeatedNames(headers: readonly HeaderRow[]): FieldError[] {
  const rows = filledRows(headers);
  return rows
    .filter(({ name }, position) => rows.findIndex((row) => row.name === name) < position)
    .map(({ index }) => ({
      path: `headers.${index}.name`,
      message: 'is a duplicate (header names ignore case)',
    }));
}
