import { ActionIcon, Button, type ButtonProps, CopyButton as Copy, Tooltip } from '@mantine/core';
import { type Icon, IconCheck, IconCopy } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './code-block.module.css';

interface IconButtonProps extends ButtonProps {
  readonly icon: Icon;
  readonly onClick: () => void;
  readonly 'aria-haspopup'?: 'dialog';
}

/** A secondary button with an icon before its label. */
export function IconButton({ icon: Icon, ...props }: IconButtonProps): ReactNode {
  const size = props.size === 'xs' ? 14 : 16;
  return <Button variant="default" leftSection={<Icon size={size} aria-hidden />} {...props} />;
}

interface RowButtonProps {
  readonly icon: Icon;
  /** Shown on hover, such as "Delete". */
  readonly hint: string;
  /** The accessible name, such as "Delete the key CI". */
  readonly label: string;
  readonly onClick: () => void;
}

/** An action on a row of a table. */
export function RowButton({ icon: Icon, hint, label, onClick }: RowButtonProps): ReactNode {
  return (
    <Tooltip label={hint}>
      <ActionIcon variant="subtle" color="gray" onClick={onClick} aria-label={label}>
        <Icon size={18} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}

/** @param what completes "Copy …" for screen readers, such as "the key" */
export function CopyButton({ value, what }: { readonly value: string; readonly what: string }): ReactNode {
  return (
    <Copy value={value} timeout={2_000}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : 'Copy'}>
          <ActionIcon
            variant="subtle"
            color={copied ? 'teal' : 'gray'}
            onClick={copy}
            aria-label={copied ? `Copied ${what}` : `Copy ${what}`}
          >
            {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      )}
    </Copy>
  );
}

/** Code with a copy button. @param what names it for screen readers, such as "the key" */
export function CodeBlock({ code, what }: { readonly code: string; readonly what: string }): ReactNode {
  return (
    <div className={classes['block']}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a keyboard scrolls only what has the focus */}
      <pre className={classes['code']} tabIndex={0} aria-label={what}>
        {code}
      </pre>
      <CopyButton value={code} what={what} />
    </div>
  );
}
