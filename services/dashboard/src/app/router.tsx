import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { z } from 'zod';
import { isStatus } from '../api/request.ts';
import { ErrorPage, NotFoundPage, PendingPage } from '../components/load-states.tsx';
import { monitorsSearchSchema } from '../monitors/monitors-search.ts';
import { meQuery } from '../session/session.ts';
import { OpenFrame } from './open-frame.tsx';
import { Shell } from './shell.tsx';

interface RouterContext {
  readonly queryClient: QueryClient;
}

const root = createRootRouteWithContext<RouterContext>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: z.object({
    from: z.string().optional().catch(undefined),
    error: z.coerce.string().optional(),
  }),
  component: lazyRouteComponent(() => import('../session/sign-in-page.tsx'), 'SignInPage'),
});

const tokenSearch = z.object({ token: z.string().catch('') });

const setUp = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  validateSearch: tokenSearch,
  component: lazyRouteComponent(() => import('../session/join-page.tsx'), 'SetUpPage'),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  validateSearch: tokenSearch,
  component: lazyRouteComponent(() => import('../session/join-page.tsx'), 'InvitationPage'),
});

/** Everything that needs a session. */
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

const monitors = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  validateSearch: monitorsSearchSchema,
  component: lazyRouteComponent(() => import('../monitors/list/monitors-page.tsx'), 'MonitorsPage'),
});

const newMonitor = createRoute({
  getParentRoute: () => signedIn,
  path: '/monitors/new',
  component: lazyRouteComponent(() => import('../monitors/edit/edit-monitor-page.tsx'), 'NewMonitorPage'),
});

const monitor = createRoute({
  getParentRoute: () => signedIn,
  path: '/monitors/$monitorId',
  component: lazyRouteComponent(() => import('../monitors/show/monitor-page.tsx'), 'MonitorPage'),
});

const editMonitor = createRoute({
  getParentRoute: () => signedIn,
  path: '/monitors/$monitorId/edit',
  component: lazyRouteComponent(() => import('../monitors/edit/edit-monitor-page.tsx'), 'EditMonitorPage'),
});

const incidents = createRoute({
  getParentRoute: () => signedIn,
  path: '/incidents',
  validateSearch: z.object({
    state: z.enum(['open', 'resolved']).optional().catch(undefined),
    monitorId: z.uuid().optional().catch(undefined),
  }),
  component: lazyRouteComponent(() => import('../incidents/incidents-page.tsx'), 'IncidentsPage'),
});

const maintenanceWindows = createRoute({
  getParentRoute: () => signedIn,
  path: '/maintenance',
  component: lazyRouteComponent(
    () => import('../maintenance-windows/maintenance-windows-page.tsx'),
    'MaintenanceWindowsPage',
  ),
});

const newMaintenanceWindow = createRoute({
  getParentRoute: () => signedIn,
  path: '/maintenance/new',
  validateSearch: z.object({ monitorId: z.string().optional() }),
  component: lazyRouteComponent(
    () => import('../maintenance-windows/window-form.tsx'),
    'NewMaintenanceWindowPage',
  ),
});

const maintenanceWindow = createRoute({
  getParentRoute: () => signedIn,
  path: '/maintenance/$windowId',
  component: lazyRouteComponent(
    () => import('../maintenance-windows/maintenance-window-page.tsx'),
    'MaintenanceWindowPage',
  ),
});

const channels = createRoute({
  getParentRoute: () => signedIn,
  path: '/channels',
  component: lazyRouteComponent(() => import('../channels/channels-page.tsx'), 'ChannelsPage'),
});

const newChannel = createRoute({
  getParentRoute: () => signedIn,
  path: '/channels/new',
  component: lazyRouteComponent(() => import('../channels/channel-form.tsx'), 'NewChannelPage'),
});

const channel = createRoute({
  getParentRoute: () => signedIn,
  path: '/channels/$channelId',
  component: lazyRouteComponent(() => import('../channels/channel-page.tsx'), 'ChannelPage'),
});

const regions = createRoute({
  getParentRoute: () => signedIn,
  path: '/regions',
  component: lazyRouteComponent(() => import('../regions/regions-page.tsx'), 'RegionsPage'),
});

const apiKeys = createRoute({
  getParentRoute: () => signedIn,
  path: '/api-keys',
  component: lazyRouteComponent(() => import('../api-keys/api-keys-page.tsx'), 'ApiKeysPage'),
});

const people = createRoute({
  getParentRoute: () => signedIn,
  path: '/people',
  component: lazyRouteComponent(() => import('../people/people-page.tsx'), 'PeoplePage'),
});

const profile = createRoute({
  getParentRoute: () => signedIn,
  path: '/profile',
  component: lazyRouteComponent(() => import('../session/profile-page.tsx'), 'ProfilePage'),
});

/** Everything that anybody may read. */
const open = createRoute({ getParentRoute: () => root, id: 'open', component: OpenFrame });

const docs = createRoute({
  getParentRoute: () => open,
  path: '/docs',
  component: lazyRouteComponent(() => import('../docs/docs-page.tsx'), 'DocsPage'),
});

const routeTree = root.addChildren([
  signIn,
  setUp,
  invitation,
  signedIn.addChildren([
    monitors,
    newMonitor,
    monitor,
    editMonitor,
    incidents,
    maintenanceWindows,
    newMaintenanceWindow,
    maintenanceWindow,
    channels,
    newChannel,
    channel,
    regions,
    apiKeys,
    people,
    profile,
  ]),
  open.addChildren([docs]),
]);

/** Every page of the dashboard, each loaded when it is first opened. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the type of the tree is what makes links type-safe
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

export type AppRouter = ReturnType<typeof createAppRouter>;

declare module '@tanstack/react-router' {
  interface Register {
    router: AppRouter;
  }
}
