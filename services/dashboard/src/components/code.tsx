import { Alert, Box, Code, type CodeProps } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { CopyButton } from './buttons.tsx';

interface TextBlockProps extends CodeProps {
  /** The accessible name. */
  readonly label: string;
  readonly children: string;
}

/** Text as it was sent or received. `mah` limits its height, and the keyboard scrolls it. */
export function TextBlock({ label, ...props }: TextBlockProps): ReactNode {
  const style = { whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', overflow: 'auto' } as const;
  return <Code block tabIndex={0} role="group" aria-label={label} style={style} {...props} />;
}

/** Code with a copy button. @param props.what names the code for screen readers, such as "the key" */
export function CodeBlock({ code, what }: { readonly code: string; readonly what: string }): ReactNode {
  return (
    <Box pos="relative">
      <TextBlock label={what} mih={44} pr={48}>
        {code}
      </TextBlock>
      <Box pos="absolute" top={8} right={8}>
        <CopyButton value={code} what={what} />
      </Box>
    </Box>
  );
}

interface NewSecretProps {
  readonly secret: string;
  /** Such as "the key". */
  readonly what: string;
  readonly advice?: ReactNode;
}

/** A secret that has just been created, with a warning to save it. */
export function NewSecret({ secret, what, advice }: NewSecretProps): ReactNode {
  return (
    <>
      <Alert color="yellow" icon={<IconKey aria-hidden />} role="alert">
        {advice ?? `Copy ${what} now. You cannot see it again, but you can create a new one.`}
      </Alert>
      <CodeBlock code={secret} what={what} />
    </>
  );
}
