import { z } from 'zod';
import { label, storableText } from '../fields.ts';
import { LIMITS, REGION_PATTERN } from '../limits.ts';
import { errorReasonSchema, type FailedResponse, type Timings } from '../monitors/events.ts';
import type { Assertions } from '../monitors/assertions.ts';
import type { MonitorInput } from '../monitors/monitor.ts';
import { assertionOutcomeSchema } from '../monitors/trial-check.ts';
import { CHECK_STATUSES, type HttpMethod } from '../vocabulary.ts';

/** Path and subprotocol of the WebSocket between agents and gateways. Every frame is one JSON message in text. */
export const AGENT_PATH = '/api/agent';
export const AGENT_PROTOCOL = 'tocsin.agent.v1';

/** A gateway closes the connection if an agent sends a larger frame. */
export const MAX_AGENT_FRAME_BYTES = 1024 * 1024;
/** An agent closes the connection if a gateway sends a larger frame. One probe takes at most about 700 KiB. */
export const MAX_GATEWAY_FRAME_BYTES = 4 * 1024 * 1024;
/** Maximum results, probes or ids in a frame. Larger batches are split. */
export const MAX_MESSAGES_PER_FRAME = 500;

/** Application close codes of a gateway. */
export const AGENT_CLOSE = {
  /** The token was deleted or has expired. */
  tokenRevoked: 4401,
  /** The message was malformed, or did not fit the state of the connection. */
  protocolError: 4400,
  /** The agent is too old for this gateway. */
  upgradeRequired: 4426,
  /** The gateway shuts down. Connect again, to any gateway. */
  restarting: 4503,
} as const;

/** Unique across all gateways, and opaque to agents. */
const probeId = z.string().regex(/^[\w-]{1,64}$/);
const milliseconds = z.int().min(0).max(3_600_000);
const phase = milliseconds.nullable();

/** Stages at which a request can fail below HTTP. */
const TRANSPORT_FAILURES = ['lookup', 'connection'] as const;

const failedResponseSchema = z.strictObject({
  headers: z
    .record(z.string().max(8_192), z.string().max(8_192))
    .refine((headers) => Object.keys(headers).length <= 50),
  body: z.string().max(4_096).nullable(),
}) satisfies z.ZodType<FailedResponse>;

/** Result of one probe, which is a `ProbeResult` in JSON. */
const probeResultSchema = z.strictObject({
  id: probeId,
  /** Copied from the probe. */
  ticket: z.string().max(16_384).nullable(),
  status: z.enum(CHECK_STATUSES),
  latencyMs: milliseconds,
  statusCode: z.int().min(0).max(999).nullable(),
  errorReason: errorReasonSchema.nullable(),
  errorDetail: z.string().max(1_000).nullable(),
  timings: z.strictObject({
    dns: phase,
    tcp: phase,
    tls: phase,
    firstByte: phase,
    download: phase,
  }) satisfies z.ZodType<Timings>,
  certificateExpiresAt: z.int().nullable(),
  transportFailure: z.enum(TRANSPORT_FAILURES).nullable(),
  /** A key of `OWN_FAILURES` in core. */
  ownFailure: z.string().max(64).nullable(),
  response: failedResponseSchema.nullable(),
  /** Only of a trial check. */
  assertions: z.array(assertionOutcomeSchema).max(100).optional(),
  /** Age of the result when it is sent. */
  ageMs: milliseconds,
});
export type AgentResult = z.infer<typeof probeResultSchema>;

const agentMessageSchema = z.discriminatedUnion('type', [
  /** First message. */
  z.strictObject({
    type: z.literal('hello'),
    version: storableText.max(64),
    /** Host name of the agent's machine, for people. */
    name: label(LIMITS.nameCharacters),
    /** Maximum probes at the same time. */
    credits: z.int().min(0).max(100_000),
  }),
  /** Changes the maximum concurrent probes, which includes running ones. */
  z.strictObject({ type: z.literal('credits'), credits: z.int().min(0).max(100_000) }),
  /** Sent again after a reconnection until `recorded` confirms it. */
  z.strictObject({
    type: z.literal('results'),
    results: z.array(probeResultSchema).max(MAX_MESSAGES_PER_FRAME),
  }),
  /** Probes that ended without a result, because the agent lacks capacity or the gateway canceled them. */
  z.strictObject({ type: z.literal('dropped'), ids: z.array(probeId).max(MAX_MESSAGES_PER_FRAME) }),
]);
export type AgentMessage = z.infer<typeof agentMessageSchema>;

/** Request to probe a target. Gateways are trusted, so agents validate only the envelope. */
export interface AgentProbe {
  readonly id: string;
  /**
   * Identifies the check to any gateway, so that it can record the result even if the gateway that sent the probe is gone. Agents cannot
   * read it. Null if a late result would be useless.
   */
  readonly ticket: string | null;
  readonly url: string;
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: string | null;
  readonly assertions: Assertions | null;
  /** Absent if they have their defaults, like `ownUrl`. Agents before 0.1 ignore these fields. */
  readonly connection?: Partial<Pick<MonitorInput, 'followRedirects' | 'ipFamily' | 'connectTo' | 'tls'>>;
  /** The monitor's URL if `url` replaces it. */
  readonly ownUrl?: string | undefined;
  readonly timeoutMs: number;
  /** Describes the outcome of each assertion in the result. */
  readonly isTrial?: boolean | undefined;
  /** Account and resource whose shares of lookups and memory the probe uses. */
  readonly account: string;
  readonly resource: string;
}

const gatewayMessageSchema = z.discriminatedUnion('type', [
  /** Response to `hello`. */
  z.object({ type: z.literal('welcome'), version: z.string(), region: z.string().regex(REGION_PATTERN) }),
  z.object({ type: z.literal('probes'), probes: z.array(z.custom<AgentProbe>()) }),
  /** The results of these probes are not needed. */
  z.object({ type: z.literal('cancel'), ids: z.array(z.string()) }),
  /** The results of these probes are recorded, or refused for good. */
  z.object({ type: z.literal('recorded'), ids: z.array(z.string()) }),
]);
export type GatewayMessage = z.infer<typeof gatewayMessageSchema>;

/** @throws an error that says what is wrong, without the content of the message */
export function parseAgentMessage(text: string): AgentMessage {
  return parse(agentMessageSchema, text);
}

/** @throws an error that says what is wrong, without the content of the message */
export function parseGatewayMessage(text: string): GatewayMessage {
  return parse(gatewayMessageSchema, text);
}

function parse<Message>(schema: z.ZodType<Message>, text: string): Message {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new TypeError('the message is not JSON');
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new TypeError(`the message is invalid: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
}
