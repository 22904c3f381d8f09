import { ActionIcon, Button, type ButtonProps, CopyButton as Copy, Tooltip } from '@mantine/core';
import { type Icon, IconCheck, IconCopy } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { createLink } from '@tanstack/react-router';
import type { ComponentPropsWithRef, ReactNode } from 'react';
import { showError } from '../api/mutations.ts';

export interface IconButtonProps extends ButtonProps {
  readonly icon: Icon;
  readonly onClick: () => void;
  readonly 'aria-haspopup'?: 'dialog';
  readonly 'aria-label'?: string;
}

export function IconButton({ icon: Icon, ...props }: IconButtonProps): ReactNode {
  const size = props.size === 'xs' ? 14 : 16;
  return <Button variant="default" leftSection={<Icon size={size} aria-hidden />} {...props} />;
}

type LinkButtonProps = ButtonProps &
  Omit<ComponentPropsWithRef<'a'>, keyof ButtonProps> & { readonly icon?: Icon };

/** A type-safe link to a page of the dashboard that looks like a secondary button. */
export const LinkButton = createLink(function AnchorButton({
  icon: Icon,
  ...props
}: LinkButtonProps): ReactNode {
  const leftSection = Icon && <Icon size={16} aria-hidden />;
  return <Button component="a" variant="default" leftSection={leftSection} {...props} />;
});

interface ActionButtonProps extends Omit<IconButtonProps, 'onClick'> {
  readonly action: () => Promise<unknown>;
}

/** A button that shows a loader while its action runs. An error becomes a notification. */
export function ActionButton({ action, ...props }: ActionButtonProps): ReactNode {
  const { mutate, isPending } = useMutation({
    mutationFn: async () => void (await action()),
    onError: showError,
  });
  return <IconButton loading={isPending} onClick={() => mutate()} {...props} />;
}

export interface RowButtonProps {
  readonly icon: Icon;
  /** Tooltip, such as "Delete". */
  readonly hint: string;
  /** Accessible name, such as "Delete the key CI". */
  readonly label: string;
  readonly color?: string;
  readonly onClick: () => void;
}

export function RowButton({ icon: Icon, hint, label, color = 'gray', onClick }: RowButtonProps): ReactNode {
  return (
    <Tooltip label={hint}>
      <ActionIcon variant="subtle" color={color} onClick={onClick} aria-label={label}>
        <Icon size={17} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}

/** @param props.what completes "Copy …" for screen readers, such as "the key" */
export function CopyButton({ value, what }: { readonly value: string; readonly what: string }): ReactNode {
  return (
    <Copy value={value} timeout={2_000}>
      {({ copied, copy }) => (
        <RowButton
          icon={copied ? IconCheck : IconCopy}
          color={copied ? 'teal' : 'gray'}
          hint={copied ? 'Copied' : 'Copy'}
          label={`${copied ? 'Copied' : 'Copy'} ${what}`}
          onClick={copy}
        />
      )}
    </Copy>
  );
}
