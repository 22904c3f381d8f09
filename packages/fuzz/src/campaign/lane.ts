import { randomBytes, randomInt } from 'node:crypto';
import { PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { applyExchange, Model } from '../oracle/model.ts';
import { changedTables, digestOf, emptyAccount, findBroken, type Digest } from '../oracle/tables.ts';
import { assert, checkResponse, checkSecrets, Finding, possibleStatuses } from '../oracle/responses.ts';
import type { BodyPlan, Caller, Plan } from '../requests/plan.ts';
import { ROUTES, type Route } from '../requests/routes.ts';
import { twistRequest } from '../requests/twist.ts';
import { REPEATED_KEY, resolveReferences } from '../requests/values.ts';
import { openAccount, populate, type Account } from '../system/account.ts';
import type { FuzzSystem } from '../system/system.ts';
import { WireClient, type WireRequest, type WireResponse } from '../wire/send.ts';
import type { Tally } from './tally.ts';

/** The tables are compared after one refusal in so many, and after the last request of a run. */
const COMPARE_EVERY = 3;
/** Kinds whose resources the model does not know completely. */
const UNCERTAIN_KINDS: ReadonlySet<string> = new Set(['delivery', 'incident', 'invitation']);

/** A plan with ids in place of references. */
interface ResolvedPlan {
  readonly plan: Plan;
  readonly route: Route;
  readonly method: string;
  /** Of the route, with `:id`. */
  readonly pattern: string;
  readonly id: string;
  readonly query: string;
  readonly body: string | null;
  readonly wire: WireRequest;
}

/** Sends the requests of one account, one after the other. Another account beside it must stay unchanged. */
export class Lane {
  readonly #system: FuzzSystem;
  readonly #client: WireClient;
  readonly #account: Account;
  readonly #other: Account;
  readonly #model = new Model();
  readonly #otherModel = new Model();
  readonly #otherMarker = `other-${randomBytes(8).toString('hex')}`;
  readonly #tally: Tally;
  /** Of the tables, after the last request that changed them; null if unknown. */
  #digest: Digest | null = null;
  #refusals = 0;
  /** Whether a twisted request changed something unknown. The model is then not compared for the rest of the run. */
  #isModelStale = false;

  private constructor(
    system: FuzzSystem,
    client: WireClient,
    accounts: readonly [Account, Account],
    tally: Tally,
  ) {
    this.#system = system;
    this.#client = client;
    [this.#account, this.#other] = accounts;
    this.#tally = tally;
  }

  static async open(system: FuzzSystem, tally: Tally): Promise<Lane> {
    const client = new WireClient(system.api.port);
    const accounts = [await openAccount(system, client), await openAccount(system, client)] as const;
    const lane = new Lane(system, client, accounts, tally);
    await populate(system, lane.#other, lane.#otherModel, lane.#otherMarker);
    return lane;
  }

  close(): void {
    this.#client.close();
  }

  /** Sends the requests of these plans from a populated account. @throws Finding */
  async run(plans: readonly Plan[]): Promise<void> {
    await emptyAccount(this.#system.database, this.#account.id, this.#account.actors);
    this.#model.clear();
    await populate(this.#system, this.#account, this.#model, `own-${randomBytes(4).toString('hex')}`);
    this.#digest = null;
    this.#isModelStale = false;
    for (const [index, plan] of plans.entries()) {
      const resolved = this.#resolve(plan);
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
    this.#tally.add(plan.route, response.status, response.durationMs);
    const isOurs = route.response !== 'any';
    const responding = isOurs && isRerouted(plan) ? null : route;
    const received = checkResponse(responding, response, wire.method === 'HEAD');
    checkSecrets(route, response.text, JSON.stringify(wire.headers) + wire.path + String(wire.body), {
      own: [...this.#account.secrets, ...this.#model.secrets],
      otherMarker: this.#otherMarker,
    });
    const isKnown = isOurs && !this.#isModelStale;
    if (isKnown && plan.twist === null) {
      const [expected] = this.#checkStatus(resolved, response);
      if (expected === route.status) this.#tally.addPossible(plan.route, response.status === route.status);
    }
    if (response.status >= 400 || wire.method === 'GET' || wire.method === 'HEAD') {
      this.#refusals += 1;
      if (isLast || this.#refusals % COMPARE_EVERY === 0) await this.#checkNothingWritten(response.status);
    } else {
      this.#digest = null;
      if (responding === null) this.#isModelStale = true;
    }
    if (isKnown && response.status < 300 && responding !== null && wire.method === method)
      await this.#checkWritten(resolved, received);
  }

  /** @returns the possible statuses of the response */
  #checkStatus(
    { plan, route, body, id, query }: ResolvedPlan,
    { status, text }: WireResponse,
  ): readonly number[] {
    const { resource: kind } = route;
    const exists = kind !== undefined && this.#model.has(kind, id.toLowerCase());
    const isUnknown = kind === undefined || (exists && UNCERTAIN_KINDS.has(kind));
    const possible = possibleStatuses({
      route,
      caller: plan.caller,
      idExists: isUnknown ? null : exists,
      body,
      hasRefusedKey: plan.body !== null && hasRefusedKey(plan.body),
      query,
    });
    assert(
      possible.includes(status),
      `status ${status}, not ${possible.join(' or ')}: ${text.slice(0, 500)}`,
    );
    return possible;
  }

  async #checkNothingWritten(status: number): Promise<void> {
    const changed = changedTables(this.#digest ?? {}, await this.#readTables());
    assert(changed.length === 0, `a ${status}, or one shortly before, changed ${changed.join(', ')}`);
  }

  /** @throws Finding if related rows contradict each other */
  async #readTables(): Promise<Digest> {
    const accountIds = [this.#account.id, this.#other.id];
    const broken = await findBroken(this.#system.database, accountIds);
    assert(
      broken.length === 0,
      `written in part, by this request or one shortly before: ${broken.join('; ')}`,
    );
    return digestOf(this.#system.database, accountIds);
  }

  /** A success shows what was written, and so does reading the resource again. */
  async #checkWritten(resolved: ResolvedPlan, received: unknown): Promise<void> {
    const { plan, route, method, id, body, wire } = resolved;
    const [, root = '', pattern = ''] = /^(\/api\/(?:cli|dashboard))(\/.*)$/.exec(resolved.pattern) ?? [];
    if (root === '') return;
    const bytes = plan.twist?.kind === 'bytes' ? wire.body : Buffer.from(body ?? '');
    // The decoder drops a byte order mark, as the api does.
    const text = route.body === undefined ? '{}' : new TextDecoder().decode(bytes ?? undefined);
    const exchange = { method, pattern, id: id.toLowerCase(), schema: route.body, received };
    const path = applyExchange(this.#model, { ...exchange, sent: JSON.parse(text || '{}') });
    if (path === null) return;
    const response = await this.#client.send({
      method: 'GET',
      path: root + path,
      headers: headersOf(this.#account, 'full', root, 'GET'),
      body: null,
      isChunked: false,
    });
    assert(response.status === 200, `reads back as ${response.status}: ${response.text.slice(0, 200)}`);
    applyExchange(this.#model, {
      ...exchange,
      method: 'GET',
      pattern: pattern.replace(/^(\/[^/]+).*/, '$1/:id'),
      sent: {},
      received: JSON.parse(response.text),
    });
  }

  #resolve(plan: Plan): ResolvedPlan {
    const route = ROUTES[plan.route];
    if (route === undefined) throw new Error(`no such route: ${plan.route}`);
    const [method = '', pattern = ''] = plan.route.split(' ');
    const resolve = (text: string): string =>
      resolveReferences(text, (source, kind, index) => {
        if (source === 'deleted') return this.#model.pickDeleted(kind, index);
        return (source === 'own' ? this.#model : this.#otherModel).pick(kind, index);
      });
    const id = resolve(plan.id);
    const pairs = plan.query.map(([name, value]): [string, string] => [name, resolve(value)]);
    const query = new URLSearchParams(pairs).toString();
    const body = plan.body === null ? null : resolve(textOf(plan.body));
    const headers = {
      ...headersOf(this.#account, plan.caller, pattern, method),
      ...(body !== null && { 'Content-Type': 'application/json' }),
    };
    const plain: WireRequest = {
      method,
      path: pattern.replace(':id', () => id) + (query === '' ? '' : `?${query}`),
      headers,
      body: body === null ? null : Buffer.from(body),
      isChunked: false,
    };
    return { plan, route, method, pattern, id, query, body, wire: twistRequest(plain, plan.twist) };
  }
}

/** Whether another route than planned may respond. */
function isRerouted({ twist }: Plan): boolean {
  return twist?.kind === 'path' || (twist?.kind === 'method' && twist.method !== 'HEAD');
}

function headersOf(account: Account, caller: Caller, path: string, method: string): Record<string, string> {
  // Attempts to sign in are limited by address.
  const address = `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;
  const isCli = path.startsWith('/api/cli');
  // A request that ends a session must not end one that the account still needs.
  const mayEndSession = path.startsWith('/api/auth') && method !== 'GET';
  return {
    'X-Forwarded-For': address,
    ...(isCli ? keyOf(account, caller) : cookieOf(account, mayEndSession ? 'stale' : caller)),
    ...(!isCli && method !== 'GET' && { Origin: PUBLIC_URL }),
  };
}

function keyOf({ key, readKey, deletedKey, owner }: Account, caller: Caller): Record<string, string> {
  if (caller === 'anonymous') return {};
  if (caller === 'other kind') return { Cookie: owner.cookie };
  const keys = { full: key, lesser: readKey, stale: deletedKey, garbage: 'tocsin_live_nonsense' };
  return { Authorization: `Bearer ${keys[caller]}` };
}

function cookieOf({ key, owner, member, staleCookie }: Account, caller: Caller): Record<string, string> {
  if (caller === 'anonymous') return {};
  if (caller === 'other kind') return { Authorization: `Bearer ${key}` };
  const garbage = owner.cookie.replace(/\.[^.]*$/, '.bm9uc2Vuc2U%3D');
  return { Cookie: { full: owner.cookie, lesser: member.cookie, stale: staleCookie, garbage }[caller] };
}

function textOf(body: BodyPlan): string {
  return `{${body.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`;
}

/** Whether an object in the body has a key twice, or `__proto__`. */
function hasRefusedKey(body: BodyPlan): boolean {
  const keys = new Set(body.map(([key]) => key));
  if (keys.size < body.length || keys.has('__proto__')) return true;
  return body.some(([, json]) => json === REPEATED_KEY || json.includes('"__proto__":'));
}

function printable({ plan, wire }: ResolvedPlan): object {
  const body = wire.body?.toString('latin1') ?? null;
  return {
    twist: plan.twist?.kind,
    method: wire.method,
    path: wire.path.slice(0, 300),
    headers: wire.headers,
    body: body === null || body.length <= 1_000 ? body : `${body.slice(0, 1_000)}… (${body.length})`,
  };
}
