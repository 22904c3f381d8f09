import { type QueryClient, useQuery } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  type RouteComponent,
} from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { z } from 'zod';
import { isStatus } from '../api/request.ts';
import { ErrorPage, NotFoundPage, PendingPage, ViewOnlyPage } from '../components/load-states.tsx';
import { loadPage } from '../components/page-load.tsx';
import { monitorsSearchSchema, textParameter } from '../monitors/monitors-search.ts';
import { monitorsQuery } from '../monitors/queries.ts';
import { historySearchSchema } from '../monitors/show/history/history-search.ts';
import { reportSearchSchema, withPeriod } from '../reports/report-period.ts';
import { accountInPath, accountSlug } from '../session/account-in-path.ts';
import { loadAccount } from '../session/choose-account.ts';
import { NoAccountPage } from '../session/no-account-page.tsx';
import { accountsQuery, meQuery, useAccounts, useCan } from '../session/session.ts';
import { Shell } from './shell.tsx';

const root = createRootRouteWithContext<{ readonly queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: UnknownPage,
});

/** Loads the component of a page when the page is first opened. */
function lazy<const Name extends string, Module extends Readonly<Record<Name, RouteComponent>>>(
  load: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent<Module, Name>(() => loadPage(load), name);
}

/** Shown for unknown paths, inside the shell if the user is signed in. */
function UnknownPage(): ReactNode {
  const me = useQuery({ ...meQuery, enabled: accountSlug() !== null });
  const accounts = useQuery(accountsQuery);
  if (me.isLoading || accounts.isLoading) return <PendingPage />;
  if (accounts.data !== undefined && isStatus(me.error, 404)) return <NoAccountPage />;
  if (accounts.data === undefined || me.data === undefined) return <NotFoundPage />;
  return (
    <Shell>
      <NotFoundPage />
    </Shell>
  );
}

const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: SignedIn,
  beforeLoad: async ({ context, location }) => {
    try {
      return { isMember: await loadAccount(context.queryClient, location) };
    } catch (error) {
      if (isStatus(error, 401)) throw redirect({ to: '/sign-in', search: { from: location.publicHref } });
      throw error;
    }
  },
});

function SignedIn(): ReactNode {
  const { isMember } = signedIn.useRouteContext();
  return isMember ? <Shell /> : <NoAccountPage />;
}

const tokenSearch = z.object({ token: z.string().catch('') });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: z.object({
    from: z.string().optional().catch(undefined),
    error: z.coerce.string().optional(),
  }),
  component: lazy(() => import('../session/sign-in-page.tsx'), 'SignInPage'),
});
const signedInElsewhere = createRoute({
  getParentRoute: () => root,
  path: '/sign-in/done',
  component: lazy(() => import('../session/sign-in-page.tsx'), 'SignedInPage'),
});
const setUp = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  validateSearch: tokenSearch,
  component: lazy(() => import('../session/join-pages.tsx'), 'SetUpPage'),
});
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  validateSearch: tokenSearch,
  component: lazy(() => import('../session/join-pages.tsx'), 'InvitationPage'),
});
const monitors = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  validateSearch: monitorsSearchSchema,
  component: lazy(() => import('../monitors/list/monitors-page.tsx'), 'MonitorsPage'),
});
const monitor = createRoute({
  getParentRoute: () => signedIn,
  path: '/monitors/$monitorId',
  validateSearch: historySearchSchema,
  component: lazy(() => import('../monitors/show/monitor-page.tsx'), 'MonitorPage'),
});
const incidents = createRoute({
  getParentRoute: () => signedIn,
  path: '/incidents',
  validateSearch: z.object({
    state: z.enum(['open', 'resolved']).optional().catch(undefined),
    monitorId: z.uuid().optional().catch(undefined),
  }),
  component: lazy(() => import('../incidents/incidents-page.tsx'), 'IncidentsPage'),
});
const auditLog = createRoute({
  getParentRoute: () => signedIn,
  path: '/audit-log',
  validateSearch: z.object({ action: textParameter, actorId: textParameter, targetId: textParameter }),
  component: lazy(() => import('../audit-log/audit-log-page.tsx'), 'AuditLogPage'),
});
const reports = createRoute({
  getParentRoute: () => signedIn,
  path: '/reports',
  validateSearch: reportSearchSchema,
  beforeLoad: async ({ context, search }) => {
    const monitors = await context.queryClient.ensureQueryData(monitorsQuery).catch(() => []);
    const full = withPeriod(search, Date.now(), monitors.at(-1)?.id);
    if (full !== null) throw redirect({ to: '/reports', search: full, replace: true });
  },
  component: lazy(() => import('../reports/reports-page.tsx'), 'ReportsPage'),
});
/** Forms that change the account. */
const editing = createRoute({
  getParentRoute: () => signedIn,
  id: 'editing',
  component: () => (useCan().change ? <Outlet /> : <ViewOnlyPage />),
});
const newMaintenanceWindow = createRoute({
  getParentRoute: () => editing,
  path: '/maintenance/new',
  validateSearch: z.object({ monitorId: z.string().optional() }),
  component: lazy(() => import('../maintenance-windows/window-form.tsx'), 'NewWindowPage'),
});

const agentRegion = () => import('../regions/agent-region-page.tsx');

/** Pages for operators, which belong to no account. */
const operating = createRoute({
  getParentRoute: () => signedIn,
  id: 'operating',
  component: () => (useAccounts().isOperator ? <Outlet /> : <NotFoundPage />),
});
const accounts = createRoute({
  getParentRoute: () => operating,
  path: '/operator/accounts',
  component: lazy(() => import('../operator/accounts-page.tsx'), 'AccountsPage'),
});
const account = createRoute({
  getParentRoute: () => operating,
  path: '/operator/accounts/$accountId',
  component: lazy(() => import('../operator/account-page.tsx'), 'AccountPage'),
});
const operatorAuditLog = createRoute({
  getParentRoute: () => operating,
  path: '/operator/audit-log',
  component: lazy(() => import('../operator/operator-audit-log-page.tsx'), 'OperatorAuditLogPage'),
});

const sharedRegion = createRoute({
  getParentRoute: () => operating,
  path: '/operator/regions/$code',
  component: lazy(agentRegion, 'SharedRegionPage'),
});

/** A page for signed-in users, without search parameters. */
function page<const Path extends string, Name extends string>(
  path: Path,
  load: () => Promise<Readonly<Record<Name, RouteComponent>>>,
  name: Name,
) {
  return createRoute({ getParentRoute: () => signedIn, path, component: lazy(load, name) });
}

const editMonitor = () => import('../monitors/edit/edit-monitor-page.tsx');

const editedMonitor = createRoute({
  getParentRoute: () => editing,
  path: '/monitors/$monitorId/edit',
  component: lazy(editMonitor, 'EditMonitorPage'),
});
const newChannel = createRoute({
  getParentRoute: () => editing,
  path: '/channels/new',
  component: lazy(() => import('../channels/channel-settings.tsx'), 'NewChannelPage'),
});
const newMonitor = createRoute({
  getParentRoute: () => editing,
  path: '/monitors/new',
  // `from` is the monitor to copy.
  validateSearch: z.object({ from: z.uuid().optional().catch(undefined) }),
  component: lazy(editMonitor, 'NewMonitorPage'),
});

const routeTree = root.addChildren([
  signIn,
  signedInElsewhere,
  setUp,
  invitation,
  signedIn.addChildren([
    editing.addChildren([newMonitor, editedMonitor, newMaintenanceWindow, newChannel]),
    monitors,
    monitor,
    incidents,
    page('/incidents/$incidentId', () => import('../incidents/incident-page.tsx'), 'IncidentPage'),
    reports,
    page('/maintenance', () => import('../maintenance-windows/windows-page.tsx'), 'WindowsPage'),
    page('/maintenance/$windowId', () => import('../maintenance-windows/window-page.tsx'), 'WindowPage'),
    page('/channels', () => import('../channels/channels-page.tsx'), 'ChannelsPage'),
    page('/channels/$channelId', () => import('../channels/channel-page.tsx'), 'ChannelPage'),
    page('/regions', () => import('../regions/regions-page.tsx'), 'RegionsPage'),
    page('/regions/$code', agentRegion, 'RegionPage'),
    page('/api-keys', () => import('../api-keys/api-keys-page.tsx'), 'ApiKeysPage'),
    page('/people', () => import('../people/people-page.tsx'), 'PeoplePage'),
    auditLog,
    operating.addChildren([accounts, account, operatorAuditLog, sharedRegion]),
    page('/profile', () => import('../session/profile-page.tsx'), 'ProfilePage'),
  ]),
]);

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the inferred type of the tree makes links type-safe
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    rewrite: accountInPath,
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultErrorComponent: ErrorPage,
    defaultPendingComponent: PendingPage,
    defaultNotFoundComponent: NotFoundPage,
  });
}

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Monitors of a new maintenance window. There can be too many for the address. */
    readonly monitorIds?: readonly string[];
  }
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
