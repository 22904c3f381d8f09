import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './app/fonts.css';
import './app/global.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient } from './api/query-client.ts';
import { sessionGate } from './api/session-gate.ts';
import { createAppRouter } from './app/router.tsx';
import { cssVariables, theme } from './app/theme.ts';
import { focusHeadingAfter, keepFocus } from './components/page.tsx';
import { openAccount, slugInPath } from './session/account-in-path.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the id root');
const slug = slugInPath(window.location.pathname);
if (slug !== null) openAccount(slug);
const queryClient = createQueryClient(() => {
  const { publicHref, pathname } = router.state.location;
  // Several requests may fail at once. The first one decides which page to return to.
  if (pathname === '/sign-in' || sessionGate.hasEnded) return;
  void router.navigate({ to: '/sign-in', search: { from: publicHref }, ignoreBlocker: true });
});
const router = createAppRouter(queryClient);
router.subscribe('onRendered', focusHeadingAfter);
keepFocus();

createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
        <Notifications position="bottom-left" containerWidth={220} />
        <RouterProvider router={router} />
      </MantineProvider>
    </QueryClientProvider>
  </StrictMode>,
);
