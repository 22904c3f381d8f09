import { Alert, Text } from '@mantine/core';
import { IconNetworkOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import { refreshEvery } from '../api/query-client.ts';
import { TextLink, Time } from '../components/text.tsx';
import { isolatedRegions, REFRESH_ELSEWHERE_MS, regionsQuery } from './regions.ts';

/** A banner above every page while a region has no network, because monitors that it checks may look healthy. */
export function IsolatedRegionsBanner(): ReactNode {
  const { data: regions = [] } = useQuery({
    ...regionsQuery,
    refetchInterval: refreshEvery(REFRESH_ELSEWHERE_MS),
    select: isolatedRegions,
  });
  const [first, ...others] = regions;
  return (
    <div role="status">
      {first !== undefined && (
        <Alert color="orange" mb="md" icon={<IconNetworkOff aria-hidden />}>
          <Text size="sm">
            {others.length === 0 ? (
              <>
                <b>Region {first.region} has had no network</b> since <Time value={first.since} as="clock" />.
                Its failures are recorded as inconclusive.
              </>
            ) : (
              <>
                <b>{regions.length} regions have no network:</b>{' '}
                {regions.map(({ region, since }, index) => (
                  <Fragment key={region}>
                    {index > 0 && ', '}
                    {region} since <Time value={since} as="clock" />
                  </Fragment>
                ))}
                . Their failures are recorded as inconclusive.
              </>
            )}{' '}
            <TextLink to="/regions" size="sm" underline="always">
              Regions
            </TextLink>
          </Text>
        </Alert>
      )}
    </div>
  );
}
