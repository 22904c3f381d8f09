CREATE TABLE "check_rollup_state" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"rolled_until" timestamp (3) with time zone NOT NULL,
	"last_gaps" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "check_rollup_state_one_row" CHECK ("check_rollup_state"."singleton")
);
--> statement-breakpoint
CREATE TABLE "check_rollups" (
	"monitor_id" uuid NOT NULL,
	"region" text NOT NULL,
	"hour" timestamp (3) with time zone NOT NULL,
	"checks" integer NOT NULL,
	"failures" integer NOT NULL,
	"gaps" integer NOT NULL,
	"latency_buckets" smallint[] NOT NULL,
	"latency_counts" integer[] NOT NULL,
	"timed_checks" integer NOT NULL,
	"dns_sum_ms" bigint NOT NULL,
	"tcp_sum_ms" bigint NOT NULL,
	"tls_sum_ms" bigint NOT NULL,
	"first_byte_sum_ms" bigint NOT NULL,
	"download_sum_ms" bigint NOT NULL,
	CONSTRAINT "check_rollups_monitor_id_region_hour_pk" PRIMARY KEY("monitor_id","region","hour")
) PARTITION BY RANGE ("hour");
