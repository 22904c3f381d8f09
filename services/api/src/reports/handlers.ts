import { reportRoutes } from '@tocsin/contracts/reports/routes';
import { getAvailabilityReport } from '@tocsin/db/reports/availability-report';
import { stopping, unavailable } from '../http/errors.ts';
import { implement, SENT } from '../http/implement.ts';

/** Requests that may wait for another report. */
const MAX_WAITING = 10;

export const reportApi = implement(reportRoutes, ({ db, shutdown }) => {
  // A large report reads for seconds, so one runs at a time, and checks and other pages keep their share of the database.
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    getAvailabilityReport: async ({ caller, query, res }) => {
      if (waiting >= MAX_WAITING) throw unavailable('This server makes other reports. Try again later.');
      waiting += 1;
      const isWanted = (): boolean => !res.destroyed && !shutdown.aborted;
      const work = last.then(() =>
        isWanted() ? getAvailabilityReport(db, caller.accountId, query, { isWanted }) : null,
      );
      last = work.catch(() => undefined);
      const report = await work.finally(() => {
        waiting -= 1;
      });
      if (report !== null) return { report };
      if (shutdown.aborted) throw stopping();
      return SENT;
    },
  };
});
