import { Alert, Text } from '@mantine/core';
import { IconClockExclamation, IconNetworkOff, IconPlugConnectedX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Region } from '@tocsin/contracts/regions/region';
import { Fragment, type ReactNode } from 'react';
import { refreshEvery } from '../api/query-client.ts';
import { TextLink, Time } from '../components/text.tsx';
import {
  disconnectedRegions,
  isolatedRegions,
  lateRegions,
  REFRESH_ELSEWHERE_MS,
  type RegionSince,
  regionsQuery,
} from './regions.ts';

/** A banner above every page while a region records nothing, because its monitors keep their last status. */
export function LateRegionsBanner(): ReactNode {
  return (
    <RegionsBanner
      color="red"
      icon={<IconClockExclamation aria-hidden />}
      select={lateRegions}
      one={(region) => `Checks from ${region} are late`}
      many={(count) => `Checks from ${count} regions are late:`}
      consequence="Statuses may be out of date."
    />
  );
}

/** A banner above every page while a region has no network, because monitors that it checks may look healthy. */
export function IsolatedRegionsBanner(): ReactNode {
  return (
    <RegionsBanner
      color="orange"
      icon={<IconNetworkOff aria-hidden />}
      select={isolatedRegions}
      one={(region) => `Region ${region} has had no network`}
      many={(count) => `${count} regions have no network:`}
      consequence="Failures there are recorded as inconclusive."
    />
  );
}

/** A banner above every page while no agent is connected in a region with monitors, because nothing checks them. */
export function DisconnectedRegionsBanner(): ReactNode {
  return (
    <RegionsBanner
      color="red"
      icon={<IconPlugConnectedX aria-hidden />}
      select={disconnectedRegions}
      one={(region) => `Region ${region} has had no connected agent`}
      many={(count) => `${count} regions have no connected agent:`}
      consequence="Nothing is checked there, so statuses may be out of date."
    />
  );
}

interface RegionsBannerProps {
  readonly color: string;
  readonly icon: ReactNode;
  /** Selects the affected regions. */
  readonly select: (regions: readonly Region[]) => RegionSince[];
  readonly one: (region: string) => string;
  readonly many: (count: number) => string;
  readonly consequence: string;
}

function RegionsBanner({ color, icon, select, one, many, consequence }: RegionsBannerProps): ReactNode {
  const refetchInterval = refreshEvery(REFRESH_ELSEWHERE_MS);
  const { data: regions = [] } = useQuery({ ...regionsQuery, refetchInterval, select });
  const [first, ...others] = regions;
  return (
    <div role="status">
      {first !== undefined && (
        <Alert color={color} mb="md" icon={icon}>
          <Text size="sm">
            {others.length === 0 ? (
              <>
                <b>{one(first.region)}</b> since <Time value={first.since} as="clock" />
              </>
            ) : (
              <>
                <b>{many(regions.length)}</b>{' '}
                {regions.map(({ region, since }, index) => (
                  <Fragment key={region}>
                    {index > 0 && ', '}
                    {region} since <Time value={since} as="clock" />
                  </Fragment>
                ))}
              </>
            )}
            . {consequence}{' '}
            <TextLink to="/regions" size="sm" underline="always">
              Regions
            </TextLink>
          </Text>
        </Alert>
      )}
    </div>
  );
}
