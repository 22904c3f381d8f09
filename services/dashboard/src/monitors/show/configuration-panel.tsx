import { Title } from '@mantine/core';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { Panel } from '../../components/panel.tsx';
import { AsCode } from './code/as-code.tsx';
import { ConfigurationList } from './configuration-list.tsx';
import classes from './show.module.css';

/** What the monitor was told to be, for people and for machines. */
export function ConfigurationPanel({ monitor }: { readonly monitor: Monitor }): ReactNode {
  return (
    <Panel title="Configuration">
      <div className={classes['halves']}>
        <ConfigurationList monitor={monitor} />
        <div>
          <Title order={3} size="h6" mb="xs">
            As code
          </Title>
          <AsCode monitor={monitor} />
        </div>
      </div>
    </Panel>
  );
}
