/**
 * What Node says where a server cannot be reached, and Postgres (SQLSTATE) where it takes no work for now, or gave this up
 * since others held it up for too long.
 */
const CODES =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|57P0[123]|53300|08\w{3}|25006|25P0[34]|55P03|57014|40P01)$/;
/** What pg says without a code; the last one of a rollback after its connection broke. */
const MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Postgres has been silent|is not queryable/;
const DEEPEST_CAUSE = 5;

/** Whether an error says that the database cannot be reached for now, so that the same request may work later. */
export function isOutage(error: unknown, depth: number = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > DEEPEST_CAUSE) return false;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (typeof code === 'string' && CODES.test(code)) return true;
  if (typeof message === 'string' && MESSAGES.test(message)) return true;
  return isOutage(cause, depth + 1);
}
