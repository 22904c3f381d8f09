import { Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import type { Region } from '@tocsin/contracts/regions/region';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { DataTable } from '../components/data-table.tsx';
import { ConfirmButton } from '../components/dialogs.tsx';
import { formatCount, formatNumber, listNames } from '../components/format.ts';
import { Loaded, NotFoundPage, Placeholder } from '../components/load-states.tsx';
import { PageHeader, Panel } from '../components/page.tsx';
import { Quiet, TextLink, Time } from '../components/text.tsx';
import { monitorsQuery } from '../monitors/queries.ts';
import { useCan } from '../session/session.ts';
import { REGION_QUERIES, type RegionScope } from './agent-queries.ts';
import { AgentTokens } from './agent-tokens.tsx';

const ownRoute = getRouteApi('/signed-in/regions/$code');
const sharedRoute = getRouteApi('/signed-in/operating/operator/regions/$code');

/** Shows an agent region of the account, or a shared one. */
export function RegionPage(): ReactNode {
  const { code } = ownRoute.useParams();
  const can = useCan();
  return <AgentRegion scope="dashboard" code={code} canChange={can.change} />;
}

/** Shows a shared agent region to operators. */
export function SharedRegionPage(): ReactNode {
  const { code } = sharedRoute.useParams();
  return <AgentRegion scope="operator" code={code} canChange />;
}

interface AgentRegionProps {
  readonly scope: RegionScope;
  readonly code: string;
  readonly canChange: boolean;
}

function AgentRegion({ scope, code, canChange }: AgentRegionProps): ReactNode {
  const query = useQuery(REGION_QUERIES[scope]);
  return (
    <Loaded query={query} pending={<Placeholder heights={[62, 160, 120]} />}>
      {(regions) => {
        const region = regions.find((one) => one.region === code && one.kind === 'agents');
        if (region === undefined) return <NotFoundPage />;
        const isManaged = scope === 'operator' || !region.shared;
        return (
          <>
            <PageHeader
              title={region.name ?? code}
              hint={<Hint scope={scope} region={region} />}
              actions={canChange && isManaged && <DeleteRegion scope={scope} region={region} />}
            />
            <Stack>
              <ConnectedAgents region={region} />
              {isManaged ? (
                <AgentTokens scope={scope} code={code} canChange={canChange} />
              ) : (
                <Quiet>Operators manage the agents of this region for all accounts.</Quiet>
              )}
            </Stack>
          </>
        );
      }}
    </Loaded>
  );
}

interface RegionProps {
  readonly scope: RegionScope;
  readonly region: Region;
}

function Hint({ scope, region: { region: code, monitors } }: RegionProps): ReactNode {
  const count = formatCount(monitors, 'monitor');
  return (
    <>
      Region <code>{code}</code> ·{' '}
      {scope === 'operator' ? (
        `${count} across all accounts`
      ) : (
        <TextLink to="/" search={{ region: code }}>
          {count}
        </TextLink>
      )}
    </>
  );
}

function ConnectedAgents({ region: { agents, since } }: Pick<RegionProps, 'region'>): ReactNode {
  return (
    <Panel title="Connected agents">
      {agents.length === 0 ? (
        <Quiet>
          No agent has been connected
          {since !== null && (
            <>
              {' '}
              since <Time value={since} as="clock" />
            </>
          )}
          . Monitors of the region are checked when one connects.
        </Quiet>
      ) : (
        <DataTable
          label="Connected agents"
          rows={agents}
          rowKey={({ id }) => id}
          numbers={['Checks in flight']}
          columns={{
            Name: ({ name }) => name,
            Version: ({ version }) => version,
            'Connected since': ({ connectedSince }) => <Time value={connectedSince} as="clock" />,
            'Checks in flight': ({ inFlight }) => formatNumber(inFlight),
          }}
        />
      )}
    </Panel>
  );
}

function DeleteRegion({ scope, region: { region: code, monitors } }: RegionProps): ReactNode {
  const refresh = useRefresh();
  const navigate = useNavigate();
  // Operators do not see the monitors of accounts, so the API refuses the deletion.
  const isOurs = scope === 'dashboard';
  const { data = [] } = useQuery({ ...monitorsQuery, enabled: isOurs });
  const button = { icon: IconTrash, children: 'Delete' };
  if (isOurs && monitors > 0) {
    const names = data.filter(({ regions }) => regions.includes(code)).map(({ name }) => name);
    return (
      <ConfirmButton
        button={button}
        title={`${code} is in use`}
        action="Show monitors"
        color="cyan"
        onConfirm={() => navigate({ to: '/', search: { region: code } })}
      >
        The region is used by {formatCount(monitors, 'monitor')}
        {names.length > 0 && `: ${listNames(names)}`}. Remove the region there before you delete it.
      </ConfirmButton>
    );
  }
  const remove = async (): Promise<void> => {
    await api(`DELETE /api/${scope}/regions/:code`, { path: { code } });
    notifications.show({ message: `${code} was deleted.` });
    await navigate({ to: isOurs ? '/regions' : '/operator/accounts' });
    await refresh(REGION_QUERIES[scope]);
  };
  return (
    <ConfirmButton button={button} title={`Delete ${code}?`} action="Delete" name={code} onConfirm={remove}>
      Agents of the region are disconnected at once, and its tokens are deleted. This cannot be undone.
    </ConfirmButton>
  );
}
