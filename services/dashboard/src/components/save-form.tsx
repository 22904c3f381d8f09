import { Button, Group, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useId } from 'react';
import { isAboutFields } from '../api/request.ts';
import { ConfirmDialog } from './dialogs.tsx';
import type { ApiForm } from './form.ts';
import { ErrorNotice } from './load-states.tsx';
import classes from './save-form.module.css';

interface SaveFormProps<Values extends Record<string, unknown>> {
  readonly form: ApiForm<Values>;
  /** The label of the submit button, such as "Create channel". */
  readonly action: string;
  /** Its error is shown; field errors appear at their fields. */
  readonly save: (values: Values) => Promise<unknown>;
  /** Null: it cannot be cancelled now. */
  readonly onCancel: (() => void) | null;
  /** Whether the form is in a dialog, which closes without a question. */
  readonly dialog?: boolean;
  /** Whether the buttons stay in view while the page scrolls. */
  readonly long?: boolean;
  /** The fields. */
  readonly children: ReactNode;
}

/** A form with its buttons and errors, which asks before unsaved changes are lost. */
export function SaveForm<Values extends Record<string, unknown>>(props: SaveFormProps<Values>): ReactNode {
  const { form, action, save, onCancel, dialog = false, long = false, children } = props;
  const id = useId();
  const focusError = (): void => {
    // After the errors have rendered.
    setTimeout(() =>
      document.getElementById(id)?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };
  const { mutate, error, isPending, status } = useMutation({
    mutationFn: save,
    onError: (failure) => {
      if (form.applyErrors(failure)) focusError();
    },
  });
  const submit = (
    <Button key="submit" type="submit" loading={isPending}>
      {action}
    </Button>
  );
  const cancel = (
    <Button key="cancel" variant="default" disabled={onCancel === null} onClick={() => onCancel?.()}>
      Cancel
    </Button>
  );
  return (
    <form
      id={id}
      noValidate
      className={long ? classes['long'] : undefined}
      onSubmit={form.onSubmit((values) => mutate(values), focusError)}
    >
      {!dialog && <LeaveGuard isDirty={() => form.isDirty() && (status === 'idle' || status === 'error')} />}
      <Stack>
        {children}
        {error !== null && !isAboutFields(error) && <ErrorNotice error={error} />}
        <Group className={classes['buttons'] ?? ''} justify={dialog ? 'flex-end' : 'flex-start'}>
          {dialog ? [cancel, submit] : [submit, cancel]}
        </Group>
      </Stack>
    </form>
  );
}

/** Asks before unsaved changes are lost. @param isDirty is called when somebody leaves */
function LeaveGuard({ isDirty }: { readonly isDirty: () => boolean }): ReactNode {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && isDirty(),
    enableBeforeUnload: isDirty,
    withResolver: true,
  });
  return (
    <ConfirmDialog
      opened={blocker.status === 'blocked'}
      title="Leave without saving?"
      action="Leave"
      cancel="Keep editing"
      onConfirm={() => blocker.proceed?.()}
      onClose={() => blocker.reset?.()}
    >
      Your changes are not saved.
    </ConfirmDialog>
  );
}
