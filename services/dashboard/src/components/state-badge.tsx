import type { Icon } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './state-badge.module.css';

/** How a state looks; `plain` in the colour of the text around it. */
export interface StateLook {
  readonly label: string;
  readonly icon: Icon;
  readonly tone: 'good' | 'bad' | 'quiet' | 'maintenance' | 'plain';
}

/** A state in words, shape and colour. */
export function StateBadge({ look: { label, icon: Icon, tone } }: { readonly look: StateLook }): ReactNode {
  return (
    <span className={classes['badge']} data-tone={tone}>
      <Icon size={16} aria-hidden />
      {label}
    </span>
  );
}
