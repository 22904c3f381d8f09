import { Alert, Button, Group, Stack } from '@mantine/core';
import { IconCode } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { isAboutFields } from '../api/request.ts';
import { ConfirmDialog } from './dialogs.tsx';
import type { ApiForm } from './form.ts';
import { ErrorNotice } from './load-states.tsx';
import classes from './save-form.module.css';

export interface SaveFormProps<Values extends Record<string, unknown>> {
  readonly form: ApiForm<Values>;
  /** The label of the submit button, such as "Create channel". */
  readonly action: string;
  /** Errors are shown above the buttons, field errors at their fields. */
  readonly save: (values: Values) => Promise<unknown>;
  /** If unset, there is no Cancel button. */
  readonly onCancel?: () => void;
  /**
   * A `page` asks before unsaved changes are lost. A `long` page also keeps its buttons in view. The forms of a `dialog` and of `signIn`
   * close without asking.
   */
  readonly layout?: 'page' | 'long' | 'dialog' | 'signIn';
  readonly children: ReactNode;
}

export function SaveForm<Values extends Record<string, unknown>>(props: SaveFormProps<Values>): ReactNode {
  const { form, action, save, onCancel, layout = 'page', children } = props;
  const id = useId();
  // True if an error names a field that the form does not show.
  const [isUnplaced, setUnplaced] = useState(false);
  const focusField = (): void => {
    // After the errors have rendered.
    setTimeout(() => {
      const field = document.getElementById(id)?.querySelector<HTMLElement>('[aria-invalid="true"]');
      field?.focus();
      setUnplaced(!field);
    });
  };
  const { mutate, error, isPending, status, submittedAt } = useMutation({
    // Values and results may be secrets and must not enter the mutation cache.
    mutationFn: async () => void (await save(form.getValues())),
    onError: (failure) => {
      if (form.applyErrors(failure)) focusField();
    },
  });
  const submit = (
    <Button key="submit" type="submit" loading={isPending}>
      {action}
    </Button>
  );
  const cancel = onCancel && (
    <Button key="cancel" variant="default" onClick={onCancel}>
      Cancel
    </Button>
  );
  const isPage = layout === 'page' || layout === 'long';
  return (
    <form
      id={id}
      noValidate
      className={layout === 'long' ? classes['long'] : undefined}
      onSubmit={(event) => {
        // In React, the event bubbles to a form around the dialog with this form.
        event.stopPropagation();
        form.onSubmit(() => mutate(), focusField)(event);
      }}
    >
      {isPage && <LeaveGuard isDirty={() => form.isDirty() && (status === 'idle' || status === 'error')} />}
      <Stack>
        {children}
        {error !== null && (isUnplaced || !isAboutFields(error)) && (
          <InView key={submittedAt}>
            <ErrorNotice error={error} />
          </InView>
        )}
        <Group
          className={classes['buttons'] ?? ''}
          justify={layout === 'dialog' ? 'flex-end' : 'flex-start'}
          grow={layout === 'signIn'}
        >
          {layout === 'dialog' ? [cancel, submit] : [submit, cancel]}
        </Group>
      </Stack>
    </form>
  );
}

/** Scrolls to its content and focuses it, because an error may be far from the button. */
function InView({ children }: { readonly children: ReactNode }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: 'center' });
    box.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div ref={box} tabIndex={-1}>
      {children}
    </div>
  );
}

/** Asks before unsaved changes are lost. @param props.isDirty called when the user leaves the page */
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

interface ManagedAsCodeProps {
  readonly what: 'channel' | 'maintenance window' | 'monitor';
  readonly source: string;
}

/** Warns that edits will be overwritten. */
export function ManagedAsCode({ what, source }: ManagedAsCodeProps): ReactNode {
  return (
    <Alert icon={<IconCode aria-hidden />} title="Managed as code" maw={760}>
      This {what} belongs to the source “{source}”. The program that applies this source may overwrite your
      changes.
    </Alert>
  );
}
