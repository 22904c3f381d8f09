import { Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isAboutFields } from '../api/request.ts';
import type { useApiForm } from './form.ts';
import { LeaveGuard } from './leave-guard.tsx';
import { ErrorNotice } from './load-states.tsx';

interface SaveFormProps<Values extends Record<string, unknown>> {
  readonly form: ReturnType<typeof useApiForm<Values>>;
  /** The label of the submit button, such as "Create channel". */
  readonly action: string;
  /** Its error is shown; field errors appear at their fields. */
  readonly save: (values: Values) => Promise<unknown>;
  /** Null: it cannot be cancelled now. */
  readonly onCancel: (() => void) | null;
  /** Whether the form is in a dialog, which closes without a question. */
  readonly dialog?: boolean;
  /** The fields. */
  readonly children: ReactNode;
}

/** A form with its buttons and errors, which asks before unsaved changes are lost. */
export function SaveForm<Values extends Record<string, unknown>>(props: SaveFormProps<Values>): ReactNode {
  const { form, action, save, onCancel, dialog = false, children } = props;
  const { mutate, error, isPending, status } = useMutation({
    mutationFn: save,
    onError: (failure) => form.applyErrors(failure),
  });
  const submit = (
    <Button type="submit" loading={isPending}>
      {action}
    </Button>
  );
  const cancel = (
    <Button variant="default" disabled={onCancel === null} onClick={() => onCancel?.()}>
      Cancel
    </Button>
  );
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        (values) => mutate(values),
        (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus(),
      )}
    >
      {!dialog && <LeaveGuard isDirty={() => form.isDirty() && (status === 'idle' || status === 'error')} />}
      <Stack>
        {children}
        {error !== null && !isAboutFields(error) && <ErrorNotice error={error} />}
        {dialog ? (
          <Group justify="flex-end">
            {cancel}
            {submit}
          </Group>
        ) : (
          <Group>
            {submit}
            {cancel}
          </Group>
        )}
      </Stack>
    </form>
  );
}
