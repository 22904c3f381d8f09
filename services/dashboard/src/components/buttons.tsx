import { ActionIcon, Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import type { ReactNode } from 'react';

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
