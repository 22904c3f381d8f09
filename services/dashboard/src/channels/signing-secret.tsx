import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconEye, IconEyeOff, IconKey, IconRefresh } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { CodeBlock } from '../components/code-block.tsx';
import { Panel } from '../components/panel.tsx';
import { TextLink } from '../components/text-link.tsx';
import { Time } from '../components/time.tsx';
import { meQuery } from '../session/session.ts';
import { revealSecret, rotateSecret } from './queries.ts';

/** Revealing and rotating the secret by which a channel signs, for owners. */
export function SigningSecret({ channelId }: { readonly channelId: string }): ReactNode {
  const { data: me } = useQuery(meQuery);
  const isOwner = me?.user.role === 'owner';
  return (
    <Panel title="Signing secret">
      {isOwner ? (
        <OwnersPart channelId={channelId} />
      ) : (
        <Text size="sm" c="var(--text-quiet)">
          Only an owner of the account may reveal or rotate it.
        </Text>
      )}
    </Panel>
  );
}

function OwnersPart({ channelId }: { readonly channelId: string }): ReactNode {
  const [asking, { open, close }] = useDisclosure();
  const reveal = useMutation({ mutationFn: () => revealSecret(channelId), gcTime: 0 });
  const rotate = useMutation({
    mutationFn: () => rotateSecret(channelId),
    gcTime: 0,
    onSuccess: () => {
      reveal.reset();
      close();
    },
  });
  const secret = reveal.data;
  return (
    <Stack gap="sm">
      {secret === undefined ? (
        <Text size="sm" c="var(--text-quiet)">
          Each webhook is signed by it, so that the receiver knows that it comes from here.
        </Text>
      ) : (
        <CodeBlock code={secret} what="the secret" />
      )}
      {reveal.error && <ErrorNotice error={reveal.error} />}
      <Group gap="xs">
        {secret === undefined ? (
          <Button
            size="xs"
            variant="default"
            loading={reveal.isPending}
            leftSection={<IconEye size={14} aria-hidden />}
            onClick={() => reveal.mutate()}
          >
            Reveal
          </Button>
        ) : (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconEyeOff size={14} aria-hidden />}
            onClick={() => reveal.reset()}
          >
            Hide
          </Button>
        )}
        <Button
          size="xs"
          variant="default"
          leftSection={<IconRefresh size={14} aria-hidden />}
          onClick={open}
        >
          Rotate
        </Button>
      </Group>
      <Modal opened={asking} onClose={close} title="Rotate the signing secret">
        <Stack>
          <Text size="sm">
            A new secret signs from now on. For 24 hours the one until now signs too, so that you can change
            the receiver over. A secret that was rotated away before ends at once.
          </Text>
          {rotate.error && <ErrorNotice error={rotate.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Keep it
            </Button>
            <Button color="red" loading={rotate.isPending} onClick={() => rotate.mutate()}>
              Rotate
            </Button>
          </Group>
        </Stack>
      </Modal>
      <SecretModal
        title="The new signing secret"
        secret={rotate.data?.secret ?? null}
        onClose={() => rotate.reset()}
      >
        {rotate.data !== undefined && (
          <Text size="sm">
            The one before works until <Time value={rotate.data.previousSecretExpiresAt} />.
          </Text>
        )}
      </SecretModal>
    </Stack>
  );
}

interface SecretModalProps {
  readonly title: string;
  /** Null: closed. */
  readonly secret: string | null;
  /** More to know of this secret. */
  readonly children?: ReactNode;
  readonly onClose: () => void;
}

const EXAMPLE = `import { Webhook } from 'standardwebhooks';

const payload = new Webhook(secret).verify(rawBody, headers);`;

/** A signing secret to take away, and how to use it. It does not close by a stray click. */
export function SecretModal({ title, secret, children, onClose }: SecretModalProps): ReactNode {
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
        <Alert variant="light" icon={<IconKey aria-hidden />} title="Put it where the receiver finds it">
          Keep it like a password. Later only owners can reveal it.
        </Alert>
        {secret !== null && <CodeBlock code={secret} what="the secret" />}
        {children}
        <Stack gap={6}>
          <Text size="sm" fw={600}>
            Verify what arrives
          </Text>
          <Text size="sm" c="var(--text-quiet)">
            Each webhook is signed as Standard Webhooks has it. With one of its libraries:
          </Text>
          <CodeBlock code={EXAMPLE} what="the example" />
          <Text size="sm" c="var(--text-quiet)">
            More of it is in the <DocsLink />.
          </Text>
        </Stack>
        <Group justify="flex-end">
          <Button onClick={onClose}>I have stored it</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function DocsLink(): ReactNode {
  return (
    <TextLink to="/docs" underline="always" hash="webhooks" target="_blank" rel="noopener">
      reference of webhooks
    </TextLink>
  );
}
