import { useDidUpdate } from '@mantine/hooks';
import { z } from 'zod';
import { useApiForm } from '../components/use-api-form.ts';
import { valueProblems, type WindowValues } from './window-values.ts';

/** The values are judged as the body that they make, and the choices of which it is made. */
const schema = z.custom<WindowValues>().superRefine((values, context) => {
  for (const { path, message } of valueProblems(values))
    context.addIssue({ code: 'custom', path: path.split('.'), message });
});

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library's own type, with this form's values
export function useWindowForm(initialValues: WindowValues) {
  const form = useApiForm<WindowValues>({ schema, initialValues });
  const { repeat, every, days, monthlyOn, ends, until, count, startsAt, endsAt } = form.values;
  // What the server said of the rule was said of all of these.
  useDidUpdate(
    () => form.clearFieldError('rrule'),
    [repeat, every, days, monthlyOn, ends, until, count, startsAt, endsAt],
  );
  return form;
}

export type WindowFormState = ReturnType<typeof useWindowForm>;
