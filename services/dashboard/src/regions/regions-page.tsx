import { Alert, Skeleton, Table, Text } from '@mantine/core';
import type { Region } from '@tocsin/contracts/region';
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconClockExclamation,
  IconHelpCircle,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { formatSpan } from '../components/format-time.ts';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { StateBadge, type StateLook } from '../components/state-badge.tsx';
import { TextLink } from '../components/text-link.tsx';
import { useDefaultRegion } from '../session/session.ts';
import { regionsQuery } from './queries.ts';
import { byUrgency, regionState, type RegionState } from './region-state.ts';

const LOOKS: Readonly<Record<RegionState, StateLook>> = {
  serving: { label: 'Serving', icon: IconCircleCheckFilled, tone: 'good' },
  idle: { label: 'Not used', icon: IconCircleDashed, tone: 'quiet' },
  late: { label: 'Falling behind', icon: IconClockExclamation, tone: 'bad' },
  unserved: { label: 'No checkers', icon: IconAlertTriangleFilled, tone: 'bad' },
  unknown: { label: 'Queue does not answer', icon: IconHelpCircle, tone: 'quiet' },
};

/** Who checks from where, and whether they keep up. */
export function RegionsPage(): ReactNode {
  const query = useQuery(regionsQuery);
  return (
    <>
      <PageHeader
        title="Regions"
        hint="Where checks run. A region is served as soon as a checker with its code is started."
      />
      <Loaded query={query} pending={<Skeleton h={200} />}>
        {(regions) => (
          <>
            <UnservedNotice regions={regions.filter((region) => regionState(region) === 'unserved')} />
            <RegionTable regions={byUrgency(regions)} />
          </>
        )}
      </Loaded>
    </>
  );
}

function UnservedNotice({ regions }: { readonly regions: readonly Region[] }): ReactNode {
  const [example] = regions;
  if (example === undefined) return null;
  return (
    <Alert
      color="red"
      variant="light"
      mb="md"
      role="alert"
      icon={<IconAlertTriangleFilled aria-hidden />}
      title={regions.length === 1 ? 'A region has no checker' : `${regions.length} regions have no checker`}
    >
      <Text size="sm">
        Monitors of {regions.map(({ region }) => region).join(', ')} are not checked from there. Start a
        checker with <code>REGION={example.region}</code>, or take the region out of the monitors.
      </Text>
    </Alert>
  );
}

function RegionTable({ regions }: { readonly regions: readonly Region[] }): ReactNode {
  return (
    <Panel>
      <Table.ScrollContainer minWidth={620} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
        <Table verticalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Region</Table.Th>
              <Table.Th scope="col">State</Table.Th>
              <Table.Th scope="col" ta="right">
                Checkers
              </Table.Th>
              <Table.Th scope="col" ta="right">
                Monitors
              </Table.Th>
              <Table.Th scope="col" ta="right">
                Waiting
              </Table.Th>
              <Table.Th scope="col" ta="right">
                Lag
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody className="tabular">
            {regions.map((region) => (
              <RegionRow key={region.region} region={region} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  );
}

function RegionRow({ region: record }: { readonly region: Region }): ReactNode {
  const { region, workers, monitors, waiting, lagSeconds } = record;
  const isDefault = region === useDefaultRegion();
  return (
    <Table.Tr>
      <Table.Th scope="row">
        <code>{region}</code>
        {isDefault && (
          <Text span size="xs" c="var(--text-quiet)">
            {' '}
            (default)
          </Text>
        )}
      </Table.Th>
      <Table.Td>
        <StateBadge look={LOOKS[regionState(record)]} />
      </Table.Td>
      <Table.Td ta="right">{workers ?? '–'}</Table.Td>
      <Table.Td ta="right">
        <TextLink to="/" search={{ region }} size="sm">
          {monitors}
        </TextLink>
      </Table.Td>
      <Table.Td ta="right">{waiting ?? '–'}</Table.Td>
      <Table.Td ta="right">{lagSeconds === null ? '–' : formatSpan(lagSeconds)}</Table.Td>
    </Table.Tr>
  );
}
