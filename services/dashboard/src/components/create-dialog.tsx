import { Button, Group, Modal, type ModalProps, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { ApiForm } from './form.ts';
import { SaveForm } from './save-form.tsx';

interface CreateDialogProps<Values extends Record<string, unknown>, Result> {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly size?: ModalProps['size'];
  readonly title: string;
  readonly form: ApiForm<Values>;
  /** The label of the submit button. */
  readonly action: string;
  readonly create: (values: Values) => Promise<Result>;
  /** The fields. */
  readonly children: ReactNode;
  readonly resultTitle: string;
  readonly renderResult: (result: Result) => ReactNode;
  /** The label of the button that closes the result. */
  readonly done: string;
}

/**
 * A form whose result is shown only once, such as a secret. A stray key or click must not close the dialog before, and the result must
 * not stay in memory afterwards.
 */
export function CreateDialog<Values extends Record<string, unknown>, Result>(
  props: CreateDialogProps<Values, Result>,
): ReactNode {
  const {
    opened,
    onClose,
    size = 'md',
    title,
    form,
    action,
    children,
    resultTitle,
    renderResult,
    done,
  } = props;
  const create = useMutation({ mutationFn: props.create, gcTime: 0 });
  const close = (): void => {
    create.reset();
    form.reset();
    onClose();
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={create.isSuccess ? resultTitle : title}
      size={size}
      closeOnClickOutside={create.isIdle}
      closeOnEscape={create.isIdle}
      withCloseButton={create.isIdle || create.isError}
    >
      {create.isSuccess ? (
        <Stack>
          {renderResult(create.data)}
          <Group justify="flex-end">
            <Button onClick={close}>{done}</Button>
          </Group>
        </Stack>
      ) : (
        <SaveForm
          form={form}
          action={action}
          save={async (values) => void (await create.mutateAsync(values))}
          onCancel={create.isPending ? null : close}
          dialog
        >
          {children}
        </SaveForm>
      )}
    </Modal>
  );
}
