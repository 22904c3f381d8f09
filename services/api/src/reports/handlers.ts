import { reportRoutes } from '@tocsin/contracts/reports/routes';
import { getAvailabilityReport } from '@tocsin/db/reports/availability-report';
import { FairShares } from '@tocsin/runtime/fair-shares';
import { closedSignal } from '../http/closed-signal.ts';
import { stopping, unavailable } from '../http/errors.ts';
import { implement, SENT } from '../http/implement.ts';

/** Slices of reports that are read at a time. Checks and other pages keep their share of the database. */
const MAX_CONCURRENT_SLICES = 1;
/** Reports of one account in progress. */
const MAX_WAITING = 1_000;

export const reportApi = implement(reportRoutes, ({ db, shutdown }) => {
  const slices = new FairShares(MAX_CONCURRENT_SLICES, { maxWaiting: MAX_WAITING });
  shutdown.addEventListener('abort', () => slices.refuseWaiting());
  return {
    getAvailabilityReport: async ({ caller: { accountId }, query, res }) => {
      const signal = closedSignal(res);
      const takeTurn = async () => (shutdown.aborted ? null : slices.acquire(accountId, { signal }));
      const report = await getAvailabilityReport(db, accountId, query, { takeTurn });
      if (report !== null) return { report };
      if (shutdown.aborted) throw stopping();
      if (signal.aborted) return SENT;
      throw unavailable('Too many other reports of this account are in progress. Try again later.');
    },
  };
});
