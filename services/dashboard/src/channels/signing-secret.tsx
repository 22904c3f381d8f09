import { Alert, Anchor, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconEye, IconEyeOff, IconKey, IconRefresh } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../api/request.ts';
import { CodeBlock, IconButton } from '../components/buttons.tsx';
import { ConfirmDialog } from '../components/dialogs.tsx';
import { ErrorNotice } from '../components/load-states.tsx';
import { Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { meQuery } from '../session/session.ts';

const EXAMPLE = `import { Webhook } from 'standardwebhooks';

const payload = new Webhook(secret).verify(rawBody, headers);`;

interface SigningSecretProps {
  readonly channelId: string;
}

export function SigningSecret({ channelId }: SigningSecretProps): ReactNode {
  const { data: me } = useQuery(meQuery);
  return (
    <Panel title="Signing secret">
      {me?.user.role === 'owner' ? (
        <SecretActions channelId={channelId} />
      ) : (
        <Quiet>Only owners can reveal or rotate the secret.</Quiet>
      )}
    </Panel>
  );
}

/** Reveals and rotates the secret, which must not stay in memory afterwards. */
function SecretActions({ channelId }: SigningSecretProps): ReactNode {
  const [asking, { open, close }] = useDisclosure();
  const reveal = useMutation({
    mutationFn: () => api('GET /api/dashboard/channels/:id/secret', { id: channelId }),
    gcTime: 0,
  });
  const rotate = useMutation({
    mutationFn: () => api('POST /api/dashboard/channels/:id/rotate-secret', { id: channelId }),
    gcTime: 0,
  });
  const secret = reveal.data?.secret;
  return (
    <Stack gap="sm">
      {secret === undefined ? (
        <Quiet>Signs each webhook, so that the receiver can verify that Tocsin sent it.</Quiet>
      ) : (
        <CodeBlock code={secret} what="the secret" />
      )}
      {reveal.error && <ErrorNotice error={reveal.error} />}
      <Group gap="xs">
        {secret === undefined ? (
          <IconButton size="xs" icon={IconEye} loading={reveal.isPending} onClick={() => reveal.mutate()}>
            Reveal
          </IconButton>
        ) : (
          <IconButton size="xs" icon={IconEyeOff} onClick={() => reveal.reset()}>
            Hide
          </IconButton>
        )}
        <IconButton size="xs" icon={IconRefresh} onClick={open} aria-haspopup="dialog">
          Rotate
        </IconButton>
      </Group>
      <ConfirmDialog
        opened={asking}
        title="Rotate the signing secret"
        action="Rotate"
        onConfirm={async () => {
          await rotate.mutateAsync();
          reveal.reset();
          close();
        }}
        onClose={close}
      >
        Webhooks are signed with a new secret from now on. The current secret stays valid for 24 hours, so
        that you can update the receiver. If you rotated within the last 24 hours, the older secret stops
        working now.
      </ConfirmDialog>
      <SecretDialog
        title="Your new signing secret"
        secret={rotate.data?.secret ?? null}
        onClose={() => rotate.reset()}
      >
        {rotate.data !== undefined && (
          <Text size="sm">
            The previous secret works until <Time value={rotate.data.previousSecretExpiresAt} />.
          </Text>
        )}
      </SecretDialog>
    </Stack>
  );
}

interface SecretDialogProps {
  readonly title: string;
  /** Null: the dialog is closed. */
  readonly secret: string | null;
  /** Notes about this secret. */
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

/** Shows a secret and how to use it. A stray key or click does not close it. */
export function SecretDialog({ title, secret, children, onClose }: SecretDialogProps): ReactNode {
  return (
    <Modal
      opened={secret !== null}
      onClose={onClose}
      title={title}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <Stack>
        <Alert icon={<IconKey aria-hidden />} title="Copy the secret to the receiver">
          Store it like a password. Only owners can reveal it later.
        </Alert>
        {secret !== null && <CodeBlock code={secret} what="the secret" />}
        {children}
        <Stack gap={6}>
          <Text size="sm" fw={600}>
            Verify webhooks
          </Text>
          <Quiet>
            Webhooks follow the Standard Webhooks specification. Verify them with one of its libraries:
          </Quiet>
          <CodeBlock code={EXAMPLE} what="the example" />
          <Quiet>
            See the{' '}
            <Anchor href="/docs" underline="always" inherit target="_blank" rel="noopener">
              webhook reference
            </Anchor>
            .
          </Quiet>
        </Stack>
        <Group justify="flex-end">
          <Button onClick={onClose}>I have stored it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}
