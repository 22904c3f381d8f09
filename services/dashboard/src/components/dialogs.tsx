import { Button, Group, Modal, type ModalProps, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconTrash } from '@tabler/icons-react';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { IconButton, type IconButtonProps, RowButton, type RowButtonProps } from './buttons.tsx';
import { ErrorNotice } from './load-states.tsx';

interface QuestionProps {
  /** Explains the consequences. */
  readonly children: ReactNode;
  /** Label of the confirm button. */
  readonly action: string;
  readonly cancel?: string;
  readonly color?: string;
  /** Text that the user must type to enable the button. */
  readonly name?: string;
  /** Receives the values of inputs among the children. The dialog then closes, or shows the error. */
  readonly onConfirm: (choices: FormData) => unknown;
  readonly onClose: () => void;
}

interface ConfirmDialogProps extends QuestionProps {
  readonly opened: boolean;
  readonly title: string;
}

/** Asks for confirmation before something that is hard to undo. */
export function ConfirmDialog({ opened, title, ...question }: ConfirmDialogProps): ReactNode {
  return (
    <Modal opened={opened} onClose={question.onClose} title={title}>
      <Question {...question} />
    </Modal>
  );
}

/** A separate component, so that closing the dialog clears the typed text and the error. */
function Question(props: QuestionProps): ReactNode {
  const { children, action, cancel = 'Cancel', color = 'red', name, onConfirm, onClose } = props;
  const [typed, setTyped] = useState('');
  const { mutate, error, isPending } = useMutation({
    mutationFn: async (choices: FormData) => void (await onConfirm(choices)),
    onSuccess: onClose,
  });
  const confirmed = name === undefined || typed.trim() === name;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // In React, the event bubbles to a form around the dialog, which would save.
        event.stopPropagation();
        if (confirmed) mutate(new FormData(event.currentTarget));
      }}
    >
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        {name !== undefined && (
          <TextInput
            label={
              <>
                Type <b>{name}</b> to confirm
              </>
            }
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            data-autofocus
          />
        )}
        {error !== null && <ErrorNotice error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {cancel}
          </Button>
          <Button type="submit" color={color} disabled={!confirmed} loading={isPending}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface ConfirmButtonProps extends Omit<ConfirmDialogProps, 'opened' | 'onClose'> {
  readonly button: Omit<IconButtonProps, 'onClick'> | Omit<RowButtonProps, 'onClick'>;
}

/** A button that asks for confirmation. */
export function ConfirmButton({ button, ...dialog }: ConfirmButtonProps): ReactNode {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      {'hint' in button ? (
        <RowButton {...button} onClick={open} />
      ) : (
        <IconButton {...button} onClick={open} aria-haspopup="dialog" />
      )}
      <ConfirmDialog opened={opened} onClose={close} {...dialog} />
    </>
  );
}

interface DeleteButtonProps extends Pick<ConfirmDialogProps, 'title' | 'children'> {
  readonly id: string;
  readonly name: string;
  readonly remove: () => Promise<unknown>;
  /** The page to open afterwards. */
  readonly listPath: '/' | '/channels' | '/maintenance';
  /** The query of the list page. */
  readonly list: { readonly queryKey: QueryKey };
  /** The query of this page. */
  readonly detail: { readonly queryKey: QueryKey };
}

/** Deletes the resource of a page after the user types its name, and opens the list. */
export function DeleteButton(props: DeleteButtonProps): ReactNode {
  const { id, remove, listPath, list, detail, ...dialog } = props;
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const removeAndLeave = async (): Promise<void> => {
    await remove();
    notifications.show({ message: `${dialog.name} was deleted.` });
    queryClient.setQueryData<readonly { readonly id: string }[]>(list.queryKey, (resources) =>
      resources?.filter((resource) => resource.id !== id),
    );
    await navigate({ to: listPath, ignoreBlocker: true });
    queryClient.removeQueries({ queryKey: detail.queryKey });
    void queryClient.invalidateQueries({ queryKey: list.queryKey });
  };
  return (
    <ConfirmButton
      button={{ icon: IconTrash, children: 'Delete' }}
      action="Delete"
      onConfirm={removeAndLeave}
      {...dialog}
    />
  );
}

interface ResultDialogProps extends ModalProps {
  /** Null until there is a result. */
  readonly result: ReactNode;
}

/** A form, then a result that is shown only once. A stray key or click does not close the result. */
export function ResultDialog({ result, children, ...modal }: ResultDialogProps): ReactNode {
  const isForm = result === null;
  return (
    <Modal closeOnClickOutside={isForm} closeOnEscape={isForm} withCloseButton={isForm} {...modal}>
      {isForm ? (
        children
      ) : (
        <Stack>
          {result}
          <Group justify="flex-end">
            <Button onClick={modal.onClose}>Done</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
