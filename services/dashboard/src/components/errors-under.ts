import type { FormErrors } from '@mantine/form';
import type { ReactNode } from 'react';

/** What is said of a field, or of a part of it: `monitorIds`, or `monitorIds.3`. Null where nothing is. */
export function errorsUnder(errors: FormErrors, field: string): ReactNode {
  const own = errors[field];
  if (own !== undefined && own !== null && own !== false) return own;
  const part = Object.entries(errors).find(([path]) => path.startsWith(`${field}.`));
  return part?.[1] ?? null;
}
