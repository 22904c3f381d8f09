import { refreshEvery } from '../../api/retry.ts';

/** Statistics move with every check: often enough to be believed, seldom enough to be cheap. */
export const STATS_REFRESH = { refetchInterval: refreshEvery(60_000), staleTime: 30_000 } as const;
