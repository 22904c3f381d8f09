import { Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isAboutFields } from '../api/api-error.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { LeaveGuard } from './leave-guard.tsx';
import type { useApiForm } from './use-api-form.ts';

interface SaveFormProps<Values extends Record<string, unknown>> {
  readonly form: ReturnType<typeof useApiForm<Values>>;
  /** As "Create channel". */
  readonly action: string;
  /** What it throws is shown; what of that is about fields, beside them. */
  readonly save: (values: Values) => Promise<unknown>;
  readonly onCancel: () => void;
  /** The fields. */
  readonly children: ReactNode;
}

/** A form that saves something: with its buttons, what went wrong, and a question before it is left half filled in. */
export function SaveForm<Values extends Record<string, unknown>>(props: SaveFormProps<Values>): ReactNode {
  const { form, action, save, onCancel, children } = props;
  const { mutate, error, isPending, status } = useMutation({
    mutationFn: save,
    onError: (failure) => form.applyErrors(failure),
  });
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        (values) => mutate(values),
        (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus(),
      )}
    >
      <LeaveGuard isDirty={() => form.isDirty() && (status === 'idle' || status === 'error')} />
      <Stack>
        {children}
        {error !== null && !isAboutFields(error) && <ErrorNotice error={error} />}
        <Group>
          <Button type="submit" loading={isPending}>
            {action}
          </Button>
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
