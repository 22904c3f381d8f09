import { Alert } from '@mantine/core';
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconClockExclamation,
  IconHelpCircle,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Region } from '@tocsin/contracts/regions/region';
import type { ReactNode } from 'react';
import { formatSpan } from '../components/format.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { Quiet, StateBadge, type StateLook, TextLink, Time } from '../components/text.tsx';
import { useDefaultRegion } from '../session/session.ts';
import { Canaries, Network, NoCanariesNotice } from './canaries.tsx';
import { byUrgency, labelDefaultRegion, regionsQuery, regionState, type RegionState } from './regions.ts';

const LOOKS: Readonly<Record<RegionState, StateLook>> = {
  serving: { label: 'Serving', icon: IconCircleCheckFilled, tone: 'good' },
  idle: { label: 'Unused', icon: IconCircleDashed, tone: 'quiet' },
  late: { label: 'Checks are late', icon: IconClockExclamation, tone: 'bad' },
  unserved: { label: 'No checkers', icon: IconAlertTriangleFilled, tone: 'bad' },
  unknown: { label: 'Queue unavailable', icon: IconHelpCircle, tone: 'quiet' },
};

export function RegionsPage(): ReactNode {
  const query = useQuery(regionsQuery);
  const defaultRegion = useDefaultRegion();
  return (
    <>
      <PageHeader title="Regions" hint="Where checks run from" />
      <Loaded query={query} pending={<Placeholder heights={[200]} />}>
        {(regions) => (
          <>
            {regions.every(({ canaryMonitorIds }) => canaryMonitorIds.length === 0) && <NoCanariesNotice />}
            <UnservedAlert regions={regions.filter((region) => regionState(region) === 'unserved')} />
            <Panel>
              <DataTable
                label="Regions"
                rows={byUrgency(regions)}
                rowKey={({ region }) => region}
                columns={{
                  Region: ({ region }) => (
                    <code>{region === defaultRegion ? labelDefaultRegion(region) : region}</code>
                  ),
                  State: (region) => <State region={region} />,
                  Network: (region) => <Network region={region} />,
                  Canaries: (region) => <Canaries region={region} />,
                  Checkers: ({ workers }) => workers ?? '–',
                  Monitors: ({ region, monitors }) => (
                    <TextLink to="/" search={{ region }} size="sm">
                      {monitors}
                    </TextLink>
                  ),
                  Waiting: ({ waiting }) => waiting ?? '–',
                  Lag: ({ lagSeconds }) => (lagSeconds === null ? '–' : formatSpan(lagSeconds)),
                }}
              />
            </Panel>
          </>
        )}
      </Loaded>
    </>
  );
}

function State({ region }: { readonly region: Region }): ReactNode {
  const { lateSince } = region;
  return (
    <div>
      <StateBadge look={LOOKS[regionState(region)]} />
      {lateSince !== null && (
        <Quiet size="xs">
          no result since <Time value={lateSince} as="clock" />
        </Quiet>
      )}
    </div>
  );
}

function UnservedAlert({ regions }: { readonly regions: readonly Region[] }): ReactNode {
  const [example] = regions;
  if (example === undefined) return null;
  return (
    <Alert
      color="red"
      mb="md"
      role="alert"
      icon={<IconAlertTriangleFilled aria-hidden />}
      title={regions.length === 1 ? 'A region has no checker' : `${regions.length} regions have no checker`}
    >
      No checks run from {regions.map(({ region }) => region).join(', ')}. Start a checker with{' '}
      <code>REGION={example.region}</code>, or remove the region from its monitors.
    </Alert>
  );
}
