import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { DataTable } from '../components/data-table.tsx';
import { formatCount, formatSpan } from '../components/format.ts';
import { Loaded, Placeholder } from '../components/load-states.tsx';
import { Panel } from '../components/page.tsx';
import { Quiet } from '../components/text.tsx';
import { REGION_QUERIES } from '../regions/agent-queries.ts';
import { Network } from '../regions/canaries.tsx';
import { NewRegionButton } from '../regions/new-region.tsx';
import { RegionLink } from '../regions/region-link.tsx';

/** Agent regions that all accounts share. */
export function SharedRegionsPanel(): ReactNode {
  const query = useQuery(REGION_QUERIES.operator);
  return (
    <Panel title="Shared regions" actions={<NewRegionButton scope="operator" size="xs" />}>
      <Loaded
        query={query}
        pending={<Placeholder heights={[90]} />}
        empty={<Quiet>No shared regions yet. Their agents check monitors of all accounts.</Quiet>}
      >
        {(regions) => (
          <DataTable
            label="Shared regions"
            rows={regions}
            rowKey={({ region }) => region}
            columns={{
              Region: (region) => <RegionLink scope="operator" region={region} />,
              Agents: (region) =>
                region.agents.length > 0 ? (
                  formatCount(region.agents.length, 'agent')
                ) : (
                  <Network region={region} />
                ),
              Monitors: ({ monitors }) => monitors,
              Waiting: ({ waiting }) => waiting ?? '–',
              Lag: ({ lagSeconds }) => (lagSeconds === null ? '–' : formatSpan(lagSeconds)),
            }}
          />
        )}
      </Loaded>
    </Panel>
  );
}
