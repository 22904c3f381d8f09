CREATE TABLE "accounts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_key_tombstones" (
	"hash" text PRIMARY KEY NOT NULL,
	"deleted_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"scopes" text NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "attempts" (
	"delivery_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"status_code" integer,
	"error" text,
	"response_excerpt" text,
	CONSTRAINT "attempts_delivery_id_number_pk" PRIMARY KEY("delivery_id","number")
);
--> statement-breakpoint
CREATE TABLE "channel_monitors" (
	"channel_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	CONSTRAINT "channel_monitors_monitor_id_channel_id_pk" PRIMARY KEY("monitor_id","channel_id")
);
--> statement-breakpoint
CREATE TABLE "channels" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"sealed_secret" text NOT NULL,
	"sealed_previous_secret" text,
	"previous_secret_expires_at" timestamp (3) with time zone,
	"all_monitors" boolean DEFAULT false NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"disabled_reason" text,
	"failing_since" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"status_change_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"event" text NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"payload" text NOT NULL,
	"state" text NOT NULL,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"first_attempt_at" timestamp (3) with time zone,
	"next_attempt_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()),
	"leased_until" timestamp (3) with time zone,
	"lease_token" uuid,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"delivered_at" timestamp (3) with time zone,
	CONSTRAINT "deliveries_fan_out_key" UNIQUE("status_change_id","event","channel_id")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"monitor_id" uuid NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"id" uuid NOT NULL,
	"status" text NOT NULL,
	"latency_ms" integer NOT NULL,
	"status_code" integer,
	"error_reason" text,
	"error_detail" text,
	"region" text NOT NULL,
	"source" text NOT NULL,
	"slot" timestamp (3) with time zone,
	"url" text,
	"dns_ms" integer,
	"tcp_ms" integer,
	"tls_ms" integer,
	"first_byte_ms" integer,
	"download_ms" integer,
	CONSTRAINT "events_monitor_id_timestamp_pk" PRIMARY KEY("monitor_id","timestamp")
) PARTITION BY RANGE ("timestamp");
--> statement-breakpoint
CREATE TABLE "incidents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"opened_at" timestamp (3) with time zone NOT NULL,
	"resolved_at" timestamp (3) with time zone,
	"cause" text,
	"region" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "monitor_regions" (
	"monitor_id" uuid NOT NULL,
	"region" text NOT NULL,
	"scheduled_revision" integer,
	"since" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"last_result_at" timestamp (3) with time zone,
	"last_latency_ms" integer,
	"last_error_reason" text,
	"certificate_expires_at" timestamp (3) with time zone,
	"recent_slots" bigint[] DEFAULT '{}' NOT NULL,
	CONSTRAINT "monitor_regions_monitor_id_region_pk" PRIMARY KEY("monitor_id","region")
) WITH (fillfactor = 70);
--> statement-breakpoint
CREATE TABLE "monitors" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"type" text NOT NULL,
	"interval_seconds" integer NOT NULL,
	"timeout_seconds" integer NOT NULL,
	"method" text NOT NULL,
	"sealed_headers" jsonb,
	"sealed_body" text,
	"assertions" jsonb,
	"failure_threshold" integer NOT NULL,
	"regions" text[] NOT NULL,
	"runbook_url" text,
	"external_id" text,
	"source" text,
	"revision" integer DEFAULT 1 NOT NULL,
	"probe_revision" integer DEFAULT 1 NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"status_since" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"last_checked_at" timestamp (3) with time zone,
	"last_timestamp" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
) WITH (fillfactor = 70);
--> statement-breakpoint
CREATE TABLE "status_changes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"from_status" text NOT NULL,
	"to_status" text NOT NULL,
	"region" text NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"webhook_events" jsonb NOT NULL,
	"channel_ids" uuid[] NOT NULL,
	"dispatched_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "triggers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"monitor_id" uuid NOT NULL,
	"region" text NOT NULL,
	"url" text,
	"not_after" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone,
	"event_timestamp" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_delivery_id_deliveries_id_fk" FOREIGN KEY ("delivery_id") REFERENCES "public"."deliveries"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_monitors" ADD CONSTRAINT "channel_monitors_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_monitors" ADD CONSTRAINT "channel_monitors_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "incidents" ADD CONSTRAINT "incidents_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "incidents" ADD CONSTRAINT "incidents_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD CONSTRAINT "monitor_regions_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "monitors" ADD CONSTRAINT "monitors_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "status_changes" ADD CONSTRAINT "status_changes_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "triggers" ADD CONSTRAINT "triggers_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_account_idx" ON "api_keys" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "channel_monitors_channel_idx" ON "channel_monitors" USING btree ("channel_id");--> statement-breakpoint
CREATE INDEX "channels_account_idx" ON "channels" USING btree ("account_id","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "deliveries_due_idx" ON "deliveries" USING btree ("channel_id","next_attempt_at") WHERE "deliveries"."state" = 'pending';--> statement-breakpoint
CREATE INDEX "deliveries_leased_idx" ON "deliveries" USING btree ("channel_id") WHERE "deliveries"."leased_until" is not null;--> statement-breakpoint
CREATE INDEX "deliveries_first_attempt_idx" ON "deliveries" USING btree ("channel_id","monitor_id","timestamp") WHERE "deliveries"."state" = 'pending' and "deliveries"."attempt_count" = 0;--> statement-breakpoint
CREATE INDEX "deliveries_channel_idx" ON "deliveries" USING btree ("channel_id","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "incidents_one_open_key" ON "incidents" USING btree ("monitor_id") WHERE "incidents"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "incidents_account_idx" ON "incidents" USING btree ("account_id","opened_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "incidents_monitor_idx" ON "incidents" USING btree ("monitor_id","opened_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "monitor_regions_region_idx" ON "monitor_regions" USING btree ("region");--> statement-breakpoint
CREATE INDEX "monitors_account_idx" ON "monitors" USING btree ("account_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "monitors_external_id_key" ON "monitors" USING btree ("account_id","external_id") WHERE "monitors"."external_id" is not null;--> statement-breakpoint
CREATE INDEX "status_changes_due_idx" ON "status_changes" USING btree ("monitor_id","timestamp") WHERE "status_changes"."dispatched_at" is null;--> statement-breakpoint
CREATE INDEX "status_changes_monitor_idx" ON "status_changes" USING btree ("monitor_id","timestamp" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "triggers_monitor_idx" ON "triggers" USING btree ("monitor_id");--> statement-breakpoint
CREATE INDEX "triggers_created_idx" ON "triggers" USING btree ("created_at");