import { Alert, Box } from '@mantine/core';
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconClockExclamation,
  IconHelpCircle,
  IconPlugConnected,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Region } from '@tocsin/contracts/regions/region';
import type { ReactNode } from 'react';
import { formatCount, formatSpan } from '../components/format.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, PageHeader, Panel } from '../components/page.tsx';
import { Quiet, StateBadge, type StateLook, TextLink, Time } from '../components/text.tsx';
import { useCan, useDefaultRegion } from '../session/session.ts';
import { Canaries, Network, NoCanariesNotice } from './canaries.tsx';
import { AGENTS_HINT, NewRegionButton } from './new-region.tsx';
import { RegionLink } from './region-link.tsx';
import { byUrgency, labelDefaultRegion, regionsQuery, regionState, type RegionState } from './regions.ts';

const LOOKS: Readonly<Record<RegionState, StateLook>> = {
  serving: { label: 'Serving', icon: IconCircleCheckFilled, tone: 'good' },
  idle: { label: 'Unused', icon: IconCircleDashed, tone: 'quiet' },
  late: { label: 'Checks are late', icon: IconClockExclamation, tone: 'bad' },
  unserved: { label: 'Not served', icon: IconAlertTriangleFilled, tone: 'bad' },
  unknown: { label: 'Queue unavailable', icon: IconHelpCircle, tone: 'quiet' },
};

export function RegionsPage(): ReactNode {
  const query = useQuery(regionsQuery);
  const defaultRegion = useDefaultRegion();
  const can = useCan();
  const hasAgentRegion = query.data?.some(({ kind }) => kind === 'agents') === true;
  const create = can.change && <NewRegionButton scope="dashboard" variant="filled" />;
  return (
    <>
      <PageHeader title="Regions" hint="Where checks run from" actions={hasAgentRegion && create} />
      <Loaded query={query} pending={<Placeholder heights={[200]} />}>
        {(regions) => (
          <>
            {regions.every(({ canaryMonitorIds }) => canaryMonitorIds.length === 0) && <NoCanariesNotice />}
            <UnservedAlert
              regions={regions.filter(
                (region) => region.kind === 'checkers' && regionState(region) === 'unserved',
              )}
            />
            <Panel>
              <DataTable
                label="Regions"
                rows={byUrgency(regions)}
                rowKey={({ region }) => region}
                columns={{
                  Region: (region) =>
                    region.kind === 'agents' ? (
                      <RegionLink scope="dashboard" region={region} />
                    ) : (
                      <code>
                        {region.region === defaultRegion ? labelDefaultRegion(region.region) : region.region}
                      </code>
                    ),
                  State: (region) => <State region={region} />,
                  Network: (region) => <Network region={region} />,
                  Canaries: (region) => <Canaries region={region} />,
                  'Served by': ({ kind, agents, workers }) =>
                    kind === 'agents'
                      ? formatCount(agents.length, 'agent')
                      : workers === null
                        ? '–'
                        : formatCount(workers, 'checker'),
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
            {!hasAgentRegion && create && (
              <Box mt="md">
                <EmptyState icon={IconPlugConnected} title="No agent regions yet" action={create}>
                  {AGENTS_HINT} See <code>docs/agents.md</code> in the repository.
                </EmptyState>
              </Box>
            )}
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
