import { useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';

interface OpenOperation {
  /** Its id; null where none is open. */
  readonly id: string | null;
  readonly open: (id: string | null) => void;
}

/** Which operation is open stands in the page's address, so that a link leads to it. */
export function useOpenOperation(): OpenOperation {
  const id = useLocation({ select: ({ hash }) => hash }) || null;
  const navigate = useNavigate();
  useEffect(() => {
    if (id !== null) document.getElementById(id)?.scrollIntoView({ block: 'start' });
    // Only where the page was opened with it: opening one by hand must not move it.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  return {
    id,
    open: (next) =>
      void navigate({
        to: '/docs',
        hash: next ?? '',
        replace: true,
        resetScroll: false,
        hashScrollIntoView: false,
      }),
  };
}
