import { Alert, Skeleton, Table, Text } from '@mantine/core';
import type { Region } from '@tocsin/contracts/region';
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconClockExclamation,
  IconHelpCircle,
  type Icon,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatSpan } from '../components/format-time.ts';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { useDefaultRegion } from '../session/session.ts';
import { regionsQuery } from './queries.ts';
import { byUrgency, regionState, type RegionState } from './region-state.ts';
import classes from './regions-page.module.css';

const LOOKS: Record<RegionState, { label: string; icon: Icon }> = {
  serving: { label: 'Serving', icon: IconCircleCheckFilled },
  idle: { label: 'Not used', icon: IconCircleDashed },
  late: { label: 'Falling behind', icon: IconClockExclamation },
  unserved: { label: 'No checkers', icon: IconAlertTriangleFilled },
  unknown: { label: 'Queue does not answer', icon: IconHelpCircle },
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
  const state = regionState(record);
  const isDefault = region === useDefaultRegion();
  const { label, icon: StateIcon } = LOOKS[state];
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
        <span className={classes['state']} data-state={state}>
          <StateIcon size={16} aria-hidden /> {label}
        </span>
      </Table.Td>
      <Table.Td ta="right">{workers ?? '–'}</Table.Td>
      <Table.Td ta="right">
        <Link to="/" search={{ region }} className={classes['link']}>
          {monitors}
        </Link>
      </Table.Td>
      <Table.Td ta="right">{waiting ?? '–'}</Table.Td>
      <Table.Td ta="right">{lagSeconds === null ? '–' : formatSpan(lagSeconds)}</Table.Td>
    </Table.Tr>
  );
}
