CREATE TABLE "event_blocks" (
	"monitor_id" uuid NOT NULL,
	"starts_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	"slot_steps" bigint[],
	"delays" bigint[] NOT NULL,
	"id" uuid[],
	"status" text[],
	"latency_ms" integer[],
	"status_code" integer[],
	"error_reason" text[],
	"error_detail" text[],
	"inconclusive" boolean[],
	"sealed_response" text[],
	"region" text[],
	"source" text[],
	"url" text[],
	"dns_ms" integer[],
	"tcp_ms" integer[],
	"tls_ms" integer[],
	"first_byte_ms" integer[],
	"download_ms" integer[],
	CONSTRAINT "event_blocks_monitor_id_ends_at_pk" PRIMARY KEY("monitor_id","ends_at")
) PARTITION BY RANGE ("ends_at");
--> statement-breakpoint
-- Compressed within the row: most arrays shrink to a few bytes.
ALTER TABLE "event_blocks"
	ALTER COLUMN "slot_steps" SET STORAGE MAIN,
	ALTER COLUMN "delays" SET STORAGE MAIN,
	ALTER COLUMN "id" SET STORAGE MAIN,
	ALTER COLUMN "status" SET STORAGE MAIN,
	ALTER COLUMN "latency_ms" SET STORAGE MAIN,
	ALTER COLUMN "status_code" SET STORAGE MAIN,
	ALTER COLUMN "error_reason" SET STORAGE MAIN,
	ALTER COLUMN "error_detail" SET STORAGE MAIN,
	ALTER COLUMN "inconclusive" SET STORAGE MAIN,
	ALTER COLUMN "sealed_response" SET STORAGE MAIN,
	ALTER COLUMN "region" SET STORAGE MAIN,
	ALTER COLUMN "source" SET STORAGE MAIN,
	ALTER COLUMN "url" SET STORAGE MAIN,
	ALTER COLUMN "dns_ms" SET STORAGE MAIN,
	ALTER COLUMN "tcp_ms" SET STORAGE MAIN,
	ALTER COLUMN "tls_ms" SET STORAGE MAIN,
	ALTER COLUMN "first_byte_ms" SET STORAGE MAIN,
	ALTER COLUMN "download_ms" SET STORAGE MAIN;
--> statement-breakpoint
-- The id of an event: a version 7 UUID with the event's timestamp and the random bits of the monitor's id. Blocks need not store it.
CREATE FUNCTION "event_id"("monitor_id" uuid, "timestamp" timestamp with time zone) RETURNS uuid
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN (
		lpad(to_hex((extract(epoch FROM "timestamp") * 1000)::bigint), 12, '0')
		|| '7' || substr("monitor_id"::text, 16, 3)
		|| translate(substr("monitor_id"::text, 20, 1), '01234567cdef', '89ab89ab89ab') || substr("monitor_id"::text, 21)
	)::uuid;
--> statement-breakpoint
-- The packed events as rows of "events", with the first and the last timestamp of their block.
CREATE VIEW "packed_events" AS
SELECT b.monitor_id, coalesce(e.slot, b.starts_at) + e.delay * interval '1 ms' AS "timestamp",
	coalesce(e.id, event_id(b.monitor_id, coalesce(e.slot, b.starts_at) + e.delay * interval '1 ms')) AS id, e.slot,
	e.status, e.latency_ms, e.status_code, e.error_reason, e.error_detail, e.inconclusive, e.sealed_response, e.region,
	e.source, e.url, e.dns_ms, e.tcp_ms, e.tls_ms, e.first_byte_ms, e.download_ms,
	b.starts_at AS block_starts_at, b.ends_at AS block_ends_at
FROM event_blocks b CROSS JOIN LATERAL (
	SELECT u.*, CASE WHEN u.slot_step IS NOT NULL
		THEN b.starts_at + (sum(u.slot_step) OVER (ORDER BY u.number))::float8 * interval '1 ms' END AS slot
	FROM unnest(b.slot_steps, b.delays, b.id, b.status, b.latency_ms, b.status_code, b.error_reason, b.error_detail,
		b.inconclusive, b.sealed_response, b.region, b.source, b.url, b.dns_ms, b.tcp_ms, b.tls_ms, b.first_byte_ms,
		b.download_ms) WITH ORDINALITY
		AS u (slot_step, delay, id, status, latency_ms, status_code, error_reason, error_detail, inconclusive,
			sealed_response, region, source, url, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms, number)
) e;
