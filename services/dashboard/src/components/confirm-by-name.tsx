import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';

interface ConfirmByNameProps {
  /** What is to be typed. */
  readonly name: string;
  /** As "Delete monitor". */
  readonly title: string;
  /** What the button says. Default: Delete. */
  readonly action?: string;
  /** What is lost. */
  readonly children: ReactNode;
  readonly opened: boolean;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks for the name of what is about to be deleted. */
export function ConfirmByName({ title, opened, onClose, ...rest }: ConfirmByNameProps): ReactNode {
  return (
    <Modal opened={opened} onClose={onClose} title={title}>
      <NameForm onClose={onClose} {...rest} />
    </Modal>
  );
}

/** Gone with the dialog, and what was typed with it. */
function NameForm(props: Omit<ConfirmByNameProps, 'title' | 'opened'>): ReactNode {
  const { name, action = 'Delete', children, busy, error, onConfirm, onClose } = props;
  const [typed, setTyped] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim() === name) onConfirm();
      }}
    >
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
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
        {error !== null && error !== undefined && <ErrorNotice error={error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Keep it
          </Button>
          <Button type="submit" color="red" disabled={typed.trim() !== name} loading={busy}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
