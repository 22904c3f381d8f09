import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconTrash } from '@tabler/icons-react';
import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { IconButton } from './buttons.tsx';
import { ErrorNotice } from './load-states.tsx';

interface ConfirmDialogProps {
  readonly opened: boolean;
  readonly title: string;
  /** What happens, and what is lost. */
  readonly children: ReactNode;
  /** The label of the button that confirms. */
  readonly action: string;
  /** The label of the button that cancels. */
  readonly cancel?: string;
  /** The color of the button that confirms. Unset: red. */
  readonly color?: string;
  /** Must be typed before the button works. */
  readonly name?: string;
  /** Its error is shown in the dialog. It closes the dialog by itself. */
  readonly onConfirm: () => unknown;
  readonly onClose: () => void;
}

/** Asks for a confirmation before something that is hard to undo. */
export function ConfirmDialog({ opened, title, onClose, ...rest }: ConfirmDialogProps): ReactNode {
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <Question onClose={onClose} {...rest} />
    </Modal>
  );
}

/** A component of its own, so that closing the dialog clears what was typed and the error. */
function Question(props: Omit<ConfirmDialogProps, 'title' | 'opened'>): ReactNode {
  const { children, action, cancel = 'Keep it', color = 'red', name, onConfirm, onClose } = props;
  const [typed, setTyped] = useState('');
  const { mutate, error, isPending } = useMutation({ mutationFn: async () => void (await onConfirm()) });
  const confirmed = name === undefined || typed.trim() === name;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (confirmed) mutate();
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
            autoComplete="off"
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

interface DeleteButtonProps {
  readonly id: string;
  readonly name: string;
  /** The title of the dialog, such as "Delete this channel". */
  readonly title: string;
  readonly remove: () => Promise<unknown>;
  /** The page to go to afterwards. */
  readonly listPath: '/' | '/channels' | '/maintenance';
  /** The query of that page. */
  readonly list: { readonly queryKey: QueryKey };
  /** The query of this page. */
  readonly detail: { readonly queryKey: QueryKey };
  /** What is lost. */
  readonly children: ReactNode;
}

/** Deletes the resource of a page after its name is typed, and goes to the list. */
export function DeleteButton(props: DeleteButtonProps): ReactNode {
  const { id, name, title, remove, listPath, list, detail, children } = props;
  const [opened, { open, close }] = useDisclosure();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const removeAndLeave = async (): Promise<void> => {
    await remove();
    notifications.show({ message: `${name} is deleted.` });
    queryClient.setQueryData<readonly { readonly id: string }[]>(list.queryKey, (resources) =>
      resources?.filter((resource) => resource.id !== id),
    );
    await navigate({ to: listPath, ignoreBlocker: true });
    queryClient.removeQueries({ queryKey: detail.queryKey });
    void queryClient.invalidateQueries({ queryKey: list.queryKey });
  };
  return (
    <>
      <IconButton icon={IconTrash} onClick={open} aria-haspopup="dialog">
        Delete
      </IconButton>
      <ConfirmDialog
        opened={opened}
        title={title}
        action="Delete"
        name={name}
        onConfirm={removeAndLeave}
        onClose={close}
      >
        {children}
      </ConfirmDialog>
    </>
  );
}
