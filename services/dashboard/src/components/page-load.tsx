import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';

/** Key in the session storage for the page that was reloaded because its script was missing. */
const RELOADED_FOR = 'tocsin.reloaded-for';
const CHECK_EVERY_MS = 3_000;

/** The script or styles of a page failed to load, because the server is unreachable or was updated. */
export class PageLoadError extends Error {
  override readonly name = 'PageLoadError';
}

/** Loads the module of a page. @throws PageLoadError */
export async function loadPage<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    const module = await load();
    sessionStorage.removeItem(RELOADED_FOR);
    return module;
  } catch (cause) {
    throw new PageLoadError('The page could not be loaded.', { cause });
  }
}

/** Reloads the document when the server responds, but only once for each page, because the script may be missing on the server. */
export function PageLoadFailure(): ReactNode {
  const { href } = window.location;
  const { data: isReachable = false } = useQuery({
    queryKey: ['page-load', href],
    queryFn: ({ signal }) => canLoad(href, signal),
    refetchInterval: CHECK_EVERY_MS,
    staleTime: 0,
    gcTime: 0,
  });
  const isMissing = sessionStorage.getItem(RELOADED_FOR) === href;
  useEffect(() => {
    if (!isReachable || isMissing) return;
    sessionStorage.setItem(RELOADED_FOR, href);
    window.location.reload();
  }, [isReachable, isMissing, href]);
  return (
    <>
      <Text size="sm">
        {isMissing && isReachable
          ? 'A part of Tocsin is missing on the server. If an update is in progress, try again in a minute.'
          : 'Tocsin is unreachable, and this page has not been opened before. It loads when the connection is back.'}
      </Text>
      <Button onClick={() => window.location.reload()}>Reload</Button>
    </>
  );
}

async function canLoad(href: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await fetch(href, { headers: { Accept: 'text/html' }, cache: 'no-store', signal })).ok;
  } catch {
    return false;
  }
}
