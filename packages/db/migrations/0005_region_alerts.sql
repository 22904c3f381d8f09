CREATE TABLE "region_alerts" (
	"region" text PRIMARY KEY NOT NULL,
	"late_since" timestamp (3) with time zone NOT NULL,
	"recovered_at" timestamp (3) with time zone,
	"message_id" uuid DEFAULT gen_random_uuid() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp())
);
