import { Button, Group, Stack } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useId } from 'react';
import { LeaveGuard } from '../../components/leave-guard.tsx';
import { ErrorNotice } from '../../components/load-states.tsx';
import { AdvancedSection, UpSection } from './assertion-fields.tsx';
import classes from './monitor-form.module.css';
import { WhatSection } from './request-fields.tsx';
import { WhenSection } from './schedule-fields.tsx';
import { useMonitorForm, useSaveMonitor } from './use-monitor-form.ts';

interface MonitorFormProps {
  /** As it was when the form opened; null: a new one. */
  readonly monitor: Monitor | null;
}

/** Everything a monitor can be told. */
export function MonitorForm({ monitor }: MonitorFormProps): ReactNode {
  const id = useId();
  const form = useMonitorForm(monitor);
  const focusProblem = (): void => {
    // Once the problems are drawn.
    setTimeout(() =>
      document.getElementById(id)?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    );
  };
  const save = useSaveMonitor(monitor, (error) => {
    if (form.applyErrors(error)) focusProblem();
  });
  return (
    <form
      id={id}
      className={classes['form']}
      onSubmit={form.onSubmit((values) => save.mutate(values), focusProblem)}
      noValidate
    >
      <LeaveGuard isDirty={() => form.isDirty() && !save.isSuccess} />
      <Stack>
        <WhatSection form={form} />
        <WhenSection form={form} />
        <UpSection form={form} />
        <AdvancedSection form={form} />
        {save.error !== null && <ErrorNotice error={save.error} />}
      </Stack>
      <Group className={classes['actions'] ?? ''}>
        <Button type="submit" loading={save.isPending}>
          {monitor === null ? 'Create monitor' : 'Save changes'}
        </Button>
        <Button
          variant="default"
          renderRoot={(props) =>
            monitor === null ? (
              <Link to="/" {...props} />
            ) : (
              <Link to="/monitors/$monitorId" params={{ monitorId: monitor.id }} {...props} />
            )
          }
        >
          Cancel
        </Button>
      </Group>
    </form>
  );
}
