import { randomBytes } from 'node:crypto';
import { findContradictions } from '@tocsin/lab/oracle/contradictions';
import { applyExchange, type Exchange } from './model.ts';
import { changedTables, digestOf, emptyAccount, type Digest } from './tables.ts';
import { assert, checkResponse, checkSecrets, Finding, possibleStatuses } from './responses.ts';
import type { Plan, ResolvedPlan } from './plan.ts';
import { isRerouted, printable, resolvePlan } from './resolve.ts';
import { headersOf, openAccount, populate, type Account } from './account.ts';
import { REGIONS, type FuzzSystem } from './fuzz-system.ts';
import { WireClient } from './send.ts';
import type { Tally } from './tally.ts';

/** Tables are compared after every third request that must not change anything, and after the last request of a run. */
const COMPARE_EVERY = 3;
/** The model does not know all resources of these kinds. */
const UNCERTAIN_KINDS: ReadonlySet<string> = new Set(['delivery', 'incident', 'invitation']);

/** Sends the requests of one account one at a time. Another account must stay unchanged. */
export class Lane {
  readonly #system: FuzzSystem;
  readonly #tally: Tally;
  readonly #client: WireClient;
  readonly #account: Account;
  readonly #other: Account;
  readonly #otherMarker = newMarker('other');
  /** Digest of the tables after the last change, or null if it is unknown. */
  #digest: Digest | null = null;
  #refusals = 0;
  /** True after a twisted request changed something unknown. The model is then not compared for the rest of the run. */
  #isModelStale = false;

  private constructor(system: FuzzSystem, tally: Tally, account: Account, other: Account) {
    this.#system = system;
    this.#tally = tally;
    this.#client = new WireClient(system.api.port);
    this.#account = account;
    this.#other = other;
  }

  static async open(system: FuzzSystem, tally: Tally): Promise<Lane> {
    const lane = new Lane(system, tally, await openAccount(system), await openAccount(system));
    await lane.#populate(lane.#other, lane.#otherMarker);
    return lane;
  }

  close(): void {
    this.#client.close();
  }

  async run(plans: readonly Plan[]): Promise<void> {
    await emptyAccount(this.#system.database, this.#account.id, this.#account.actors);
    this.#account.model.clear();
    await this.#populate(this.#account, newMarker('own'));
    this.#digest = null;
    this.#isModelStale = false;
    for (const [index, plan] of plans.entries()) {
      const resolved = resolvePlan(plan, this.#account, this.#other);
      try {
        await this.#send(resolved, index === plans.length - 1);
      } catch (error) {
        if (!(error instanceof Finding)) throw error;
        throw new Finding(`${plan.route}: ${error.message}\n  in ${JSON.stringify(printable(resolved))}`);
      }
    }
    this.#digest ??= await this.#readTables();
  }

  async #send(resolved: ResolvedPlan, isLast: boolean): Promise<void> {
    const { plan, route, method, wire } = resolved;
    this.#digest ??= await this.#readTables();
    const response = await this.#client.send(wire).catch((error: unknown) => {
      throw new Finding(`no response: ${String(error)}`);
    });
    const { status, text } = response;
    this.#tally.add(status, response.durationMs);
    const isOurs = route.response !== 'any';
    const responding = isOurs && isRerouted(plan) ? null : route;
    const received = checkResponse(responding, response, wire.method === 'HEAD');
    const sent = JSON.stringify(wire.headers) + wire.path + String(wire.body);
    const { secrets, model } = this.#account;
    checkSecrets(route, text, sent, [...secrets, ...model.secrets], this.#otherMarker);
    const isKnown = isOurs && !this.#isModelStale;
    if (isKnown && plan.twist === null) {
      const possible = possibleStatuses(resolved, this.#idExists(resolved));
      assert(
        possible.includes(status),
        `status ${status}, not ${possible.join(' or ')}: ${text.slice(0, 500)}`,
      );
      if (possible[0] === route.status) this.#tally.addPossible(plan.route, status === route.status);
    }
    if (status >= 400 || wire.method === 'GET' || wire.method === 'HEAD') {
      this.#refusals += 1;
      if (isLast || this.#refusals % COMPARE_EVERY === 0) await this.#checkNothingWritten(status);
    } else {
      this.#digest = null;
      if (responding === null) this.#isModelStale = true;
    }
    if (isKnown && status < 300 && responding !== null && wire.method === method)
      await this.#checkWritten(resolved, received);
  }

  /** Returns null if it is unknown whether the id exists, or if the path has no `:id`. */
  #idExists({ route, id }: ResolvedPlan): boolean | null {
    if (route.resource === undefined) return null;
    const exists = this.#account.model.has(route.resource, id.toLowerCase());
    return exists && UNCERTAIN_KINDS.has(route.resource) ? null : exists;
  }

  async #checkNothingWritten(status: number): Promise<void> {
    const changed = changedTables(this.#digest ?? {}, await this.#readTables());
    assert(changed.length === 0, `a ${status}, or one shortly before, changed ${changed.join(', ')}`);
  }

  async #readTables(): Promise<Digest> {
    const { database } = this.#system;
    const accountIds = [this.#account.id, this.#other.id];
    const query = async <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
      (await database.pool.query<Row>({ name: 'contradictions', text, values: [...values] })).rows;
    const found = await findContradictions({ query }, accountIds, REGIONS[0]);
    assert(found.length === 0, `written in part, by this request or one shortly before: ${found.join('; ')}`);
    return digestOf(database, accountIds);
  }

  /** The response must show what was written, and so must a later read. */
  async #checkWritten({ plan, route, id, body, wire }: ResolvedPlan, received: unknown): Promise<void> {
    const bytes = plan.twist?.kind === 'bytes' ? wire.body : Buffer.from(body ?? '');
    // Like the api, the decoder drops a byte order mark.
    const text = route.body === undefined ? '' : new TextDecoder().decode(bytes ?? undefined);
    const sent: unknown = JSON.parse(text || '{}');
    const showsSecrets = plan.caller !== 'lesser' || !plan.route.includes(' /api/cli/');
    const exchange = { endpoint: plan.route, id: id.toLowerCase(), sent, received, showsSecrets };
    await this.#apply(this.#account, exchange);
  }

  async #apply(account: Account, exchange: Exchange): Promise<void> {
    const readable = applyExchange(account.model, exchange);
    if (readable !== null) await this.#request(account, readable.endpoint, readable.id);
  }

  /** Sends an ordinary request. @throws Finding if it fails */
  async #request(account: Account, endpoint: string, id: string, body: object | null = null): Promise<void> {
    const [method = '', path = ''] = endpoint.split(' ');
    const response = await this.#client.send({
      method,
      path: path.replace(':id', id),
      headers: headersOf(account, 'full', method, path, body !== null),
      body: body === null ? null : Buffer.from(JSON.stringify(body)),
    });
    const { status, text } = response;
    assert(status < 300, `${endpoint} responds with ${status}: ${text.slice(0, 200)}`);
    const received: unknown = JSON.parse(text);
    await this.#apply(account, { endpoint, id, sent: body ?? {}, received, showsSecrets: true });
  }

  #populate(account: Account, marker: string): Promise<void> {
    const create = (endpoint: string, body: object): Promise<void> =>
      this.#request(account, endpoint, '', body);
    return populate(this.#system, account, create, marker);
  }
}

function newMarker(name: string): string {
  return `${name}-${randomBytes(8).toString('hex')}`;
}
