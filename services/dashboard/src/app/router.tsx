import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent as lazy,
  Outlet,
  redirect,
  type RouteComponent,
} from '@tanstack/react-router';
import { z } from 'zod';
import { isStatus } from '../api/request.ts';
import { ErrorPage, NotFoundPage, PendingPage } from '../components/load-states.tsx';
import { monitorsSearchSchema } from '../monitors/monitors-search.ts';
import { meQuery } from '../session/session.ts';
import { Shell } from './shell.tsx';

const root = createRootRouteWithContext<{ readonly queryClient: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
});

/** The pages that need a session. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(meQuery);
    } catch (error) {
      if (isStatus(error, 401)) throw redirect({ to: '/sign-in', search: { from: location.href } });
      throw error;
    }
  },
});

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
const setUp = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  validateSearch: tokenSearch,
  component: lazy(() => import('../session/join-page.tsx'), 'SetUpPage'),
});
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  validateSearch: tokenSearch,
  component: lazy(() => import('../session/join-page.tsx'), 'InvitationPage'),
});
const monitors = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  validateSearch: monitorsSearchSchema,
  component: lazy(() => import('../monitors/list/monitors-page.tsx'), 'MonitorsPage'),
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
const newMaintenanceWindow = createRoute({
  getParentRoute: () => signedIn,
  path: '/maintenance/new',
  validateSearch: z.object({ monitorId: z.string().optional() }),
  component: lazy(() => import('../maintenance-windows/window-form.tsx'), 'NewMaintenanceWindowPage'),
});

/** A page of a signed-in user without search parameters. */
function page<const Path extends string>(path: Path, component: RouteComponent) {
  return createRoute({ getParentRoute: () => signedIn, path, component });
}

const editMonitorPage = () => import('../monitors/edit/edit-monitor-page.tsx');
const windowsPage = () => import('../maintenance-windows/maintenance-windows-page.tsx');
const windowPage = () => import('../maintenance-windows/maintenance-window-page.tsx');

const routeTree = root.addChildren([
  signIn,
  setUp,
  invitation,
  signedIn.addChildren([
    monitors,
    page('/monitors/new', lazy(editMonitorPage, 'NewMonitorPage')),
    page(
      '/monitors/$monitorId',
      lazy(() => import('../monitors/show/monitor-page.tsx'), 'MonitorPage'),
    ),
    page('/monitors/$monitorId/edit', lazy(editMonitorPage, 'EditMonitorPage')),
    incidents,
    page('/maintenance', lazy(windowsPage, 'MaintenanceWindowsPage')),
    newMaintenanceWindow,
    page('/maintenance/$windowId', lazy(windowPage, 'MaintenanceWindowPage')),
    page(
      '/channels',
      lazy(() => import('../channels/channels-page.tsx'), 'ChannelsPage'),
    ),
    page(
      '/channels/new',
      lazy(() => import('../channels/channel-form.tsx'), 'NewChannelPage'),
    ),
    page(
      '/channels/$channelId',
      lazy(() => import('../channels/channel-page.tsx'), 'ChannelPage'),
    ),
    page(
      '/regions',
      lazy(() => import('../regions/regions-page.tsx'), 'RegionsPage'),
    ),
    page(
      '/api-keys',
      lazy(() => import('../api-keys/api-keys-page.tsx'), 'ApiKeysPage'),
    ),
    page(
      '/people',
      lazy(() => import('../people/people-page.tsx'), 'PeoplePage'),
    ),
    page(
      '/profile',
      lazy(() => import('../session/profile-page.tsx'), 'ProfilePage'),
    ),
  ]),
]);

/** The pages of the dashboard. Each is loaded when it is first opened. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- links are type-safe by the inferred type of the tree
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultErrorComponent: ErrorPage,
    defaultPendingComponent: PendingPage,
    defaultNotFoundComponent: NotFoundPage,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
