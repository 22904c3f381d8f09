import { Anchor, Group, Stack, Text } from '@mantine/core';
import { IconEye, IconEyeOff, IconRefresh } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api } from '../api/request.ts';
import { ActionButton, IconButton } from '../components/buttons.tsx';
import { CodeBlock, NewSecret } from '../components/code.tsx';
import { ConfirmButton, ResultDialog } from '../components/dialogs.tsx';
import { Panel } from '../components/page.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { useCan } from '../session/session.ts';

const EXAMPLE = `import { Webhook } from 'standardwebhooks';

const payload = new Webhook(secret).verify(rawBody, headers);`;

export function SigningSecret({ channelId }: { readonly channelId: string }): ReactNode {
  const can = useCan();
  return (
    <Panel title="Signing secret">
      {can.manage ? (
        <SecretActions channelId={channelId} />
      ) : (
        <Quiet>Only owners can reveal or rotate the secret.</Quiet>
      )}
    </Panel>
  );
}

/** Reveals and rotates the secret. The secret must not stay in memory afterwards. */
function SecretActions({ channelId: id }: { readonly channelId: string }): ReactNode {
  const reveal = useMutation({
    mutationFn: () => api('GET /api/dashboard/channels/:id/secret', { id }),
    gcTime: 0,
  });
  const rotate = useMutation({
    mutationFn: () => api('POST /api/dashboard/channels/:id/rotate-secret', { id }),
    onSuccess: reveal.reset,
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
      <Group gap="xs">
        {secret === undefined ? (
          <ActionButton size="xs" icon={IconEye} action={() => reveal.mutateAsync()}>
            Reveal
          </ActionButton>
        ) : (
          <IconButton size="xs" icon={IconEyeOff} onClick={reveal.reset}>
            Hide
          </IconButton>
        )}
        <ConfirmButton
          button={{ size: 'xs', icon: IconRefresh, children: 'Rotate' }}
          title="Rotate the signing secret"
          action="Rotate"
          onConfirm={() => rotate.mutateAsync()}
        >
          Webhooks are signed with a new secret from now on. The current secret stays valid for 24 hours, so
          that you can update the receiver. If you rotated within the last 24 hours, the older secret stops
          working now.
        </ConfirmButton>
      </Group>
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
  /** Null while the dialog is closed. */
  readonly secret: string | null;
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

export function SecretDialog({ title, secret, children, onClose }: SecretDialogProps): ReactNode {
  const content = (
    <>
      {secret !== null && (
        <NewSecret
          secret={secret}
          what="the secret"
          advice="Copy the secret to the receiver, and store it like a password. Only owners can reveal it later."
        />
      )}
      {children}
      <Stack gap={6}>
        <Text size="sm" fw={500}>
          Verify webhooks
        </Text>
        <Quiet>
          Webhooks follow the Standard Webhooks specification. Verify them with one of its libraries:
        </Quiet>
        <CodeBlock code={EXAMPLE} what="the example" />
        <Quiet>
          See the{' '}
          <Anchor href="/docs#tag/webhooks" underline="always" inherit target="_blank" rel="noopener">
            webhook reference
          </Anchor>
          .
        </Quiet>
      </Stack>
    </>
  );
  return <ResultDialog size="lg" opened={secret !== null} title={title} result={content} onClose={onClose} />;
}
