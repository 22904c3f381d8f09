import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { CodeBlock } from '../components/code-block.tsx';
import { TextLink } from '../components/text-link.tsx';

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
