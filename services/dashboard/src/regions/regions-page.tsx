import { Alert, Skeleton, Table, Text } from '@mantine/core';
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
import { CardCell, CardTable } from '../components/card-table.tsx';
import { formatSpan } from '../components/format-time.ts';
import { Loaded } from '../components/loaded.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { Panel } from '../components/panel.tsx';
import { StateBadge, type StateLook } from '../components/state-badge.tsx';
import { TextLink } from '../components/text-link.tsx';
import { useDefaultRegion } from '../session/session.ts';
import { byUrgency, labelDefaultRegion, regionsQuery, regionState, type RegionState } from './regions.ts';

const LOOKS: Readonly<Record<RegionState, StateLook>> = {
  serving: { label: 'Serving', icon: IconCircleCheckFilled, tone: 'good' },
  idle: { label: 'Not used', icon: IconCircleDashed, tone: 'quiet' },
  late: { label: 'Falling behind', icon: IconClockExclamation, tone: 'bad' },
  unserved: { label: 'No checkers', icon: IconAlertTriangleFilled, tone: 'bad' },
  unknown: { label: 'Queue does not answer', icon: IconHelpCircle, tone: 'quiet' },
};

const COLUMNS = ['Region', 'State', 'Checkers', 'Monitors', 'Waiting', 'Lag'];

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
  const defaultRegion = useDefaultRegion();
  return (
    <Panel>
      <CardTable label="Regions" columns={COLUMNS}>
        {regions.map((region) => (
          <RegionRow key={region.region} region={region} isDefault={region.region === defaultRegion} />
        ))}
      </CardTable>
    </Panel>
  );
}

interface RegionRowProps {
  readonly region: Region;
  readonly isDefault: boolean;
}

function RegionRow({ region: record, isDefault }: RegionRowProps): ReactNode {
  const { region, workers, monitors, waiting, lagSeconds } = record;
  return (
    <Table.Tr className="tabular">
      <CardCell column="Region" heading>
        <code>{isDefault ? labelDefaultRegion(region) : region}</code>
      </CardCell>
      <CardCell column="State">
        <StateBadge look={LOOKS[regionState(record)]} />
      </CardCell>
      <CardCell column="Checkers">{workers ?? '–'}</CardCell>
      <CardCell column="Monitors">
        <TextLink to="/" search={{ region }} size="sm">
          {monitors}
        </TextLink>
      </CardCell>
      <CardCell column="Waiting">{waiting ?? '–'}</CardCell>
      <CardCell column="Lag">{lagSeconds === null ? '–' : formatSpan(lagSeconds)}</CardCell>
    </Table.Tr>
  );
}
