import type { Database } from '@tocsin/db/database/open';
import { type IncidentActivity, listIncidentActivity } from '@tocsin/db/incidents/read-incidents';
import type { Message } from './messages.ts';

/** Transactions that change an incident are short, so they have ended after this time. */
const COMMITTED_AFTER_MS = 20_000;
/** Incidents per message batch. */
const MAX_INCIDENTS = 500;

/** Formats an incident as a message without an `id`, because incidents do not move the position of the stream. */
function toMessage({ incident, activityAt }: IncidentActivity): Message {
  const text = `event: incident\ndata: ${JSON.stringify(incident)}\n\n`;
  return { recordId: `${incident.id} ${activityAt}`, text };
}

/** Incidents of an account that people changed after a position. */
export async function readIncidents(db: Database, accountId: string, after: number): Promise<Message[]> {
  return (await listIncidentActivity(db, accountId, after, MAX_INCIDENTS)).map(toMessage);
}

/** Follows what people change in the incidents of an account. */
export class IncidentFollower {
  readonly #db: Database;
  readonly #accountId: string;
  /** Message ids of changes that may be read again. */
  #sent = new Set<string>();

  constructor(db: Database, accountId: string) {
    this.#db = db;
    this.#accountId = accountId;
  }

  /** Returns changes since the last call. @param position Postgres' clock at an earlier read, epoch milliseconds */
  async next(position: number): Promise<Message[]> {
    const messages = await readIncidents(this.#db, this.#accountId, position - COMMITTED_AFTER_MS);
    const fresh = messages.filter(({ recordId }) => !this.#sent.has(recordId));
    this.#sent = new Set(messages.map(({ recordId }) => recordId));
    return fresh;
  }
}
