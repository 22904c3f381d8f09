import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconTrash } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ConfirmByName } from './confirm-by-name.tsx';

interface DeleteButtonProps {
  readonly name: string;
  /** As "Delete this channel". */
  readonly title: string;
  readonly remove: () => Promise<unknown>;
  /** Leaves the page of what is no more, and forgets it. */
  readonly onDeleted: () => Promise<void>;
  /** What is lost. */
  readonly children: ReactNode;
}

/** Deletes something on its page, once its name is typed. */
export function DeleteButton({ name, title, remove, onDeleted, children }: DeleteButtonProps): ReactNode {
  const [opened, { open, close }] = useDisclosure();
  const { mutate, error, isPending } = useMutation({
    mutationFn: remove,
    onSuccess: async () => {
      notifications.show({ message: `${name} is deleted.` });
      await onDeleted();
    },
  });
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconTrash size={16} aria-hidden />}
        onClick={open}
        aria-haspopup="dialog"
      >
        Delete
      </Button>
      <ConfirmByName
        name={name}
        title={title}
        opened={opened}
        busy={isPending}
        error={error}
        onConfirm={() => mutate()}
        onClose={close}
      >
        {children}
      </ConfirmByName>
    </>
  );
}
