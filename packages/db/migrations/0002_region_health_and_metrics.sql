CREATE TABLE "region_canaries" (
	"account_id" uuid NOT NULL,
	"region" text NOT NULL,
	"monitor_id" uuid NOT NULL,
	CONSTRAINT "region_canaries_account_id_region_monitor_id_pk" PRIMARY KEY("account_id","region","monitor_id")
);
--> statement-breakpoint
CREATE TABLE "region_isolations" (
	"account_id" uuid NOT NULL,
	"region" text NOT NULL,
	"checker_id" uuid NOT NULL,
	"since" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"renewed_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "region_isolations_account_id_region_checker_id_pk" PRIMARY KEY("account_id","region","checker_id")
);
--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "attempt_limit" integer DEFAULT 10 NOT NULL;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "paused_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "check_rollups" ADD COLUMN "inconclusive" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "inconclusive" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "sealed_response" text;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "error_detail" text;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "recovery_passes" integer;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "last_checked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "last_error_detail" text;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "up_checks" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "down_checks" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "inconclusive_checks" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "duration_counts" bigint[] DEFAULT '{0,0,0,0,0,0,0,0}' NOT NULL;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD COLUMN "duration_sum_ms" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "retry_interval_seconds" integer;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "recovery_threshold" integer DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "error_detail" text;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "incident_count" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "status_changes" ADD COLUMN "error_detail" text;--> statement-breakpoint
ALTER TABLE "region_canaries" ADD CONSTRAINT "region_canaries_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "region_canaries" ADD CONSTRAINT "region_canaries_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "region_isolations" ADD CONSTRAINT "region_isolations_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "region_canaries_monitor_idx" ON "region_canaries" USING btree ("monitor_id");