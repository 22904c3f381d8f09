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
	"sources" text[],
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_by" uuid,
	"created_by_name" text,
	"created_by_email" text,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "audit_clocks" (
	"account_id" uuid PRIMARY KEY NOT NULL,
	"last_timestamp" timestamp(6) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"timestamp" timestamp(6) with time zone NOT NULL,
	"actor" jsonb NOT NULL,
	"request_id" text,
	"action" text NOT NULL,
	"target" jsonb NOT NULL,
	"changes" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "channel_monitors" (
	"channel_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"listed" boolean DEFAULT true NOT NULL,
	"matched" boolean DEFAULT false NOT NULL,
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
	"selector" jsonb,
	"events" text[],
	"external_id" text,
	"source" text,
	"enabled" boolean DEFAULT true NOT NULL,
	"disabled_reason" text,
	"failing_since" timestamp (3) with time zone,
	"last_failed_at" timestamp (3) with time zone,
	"attempt_limit" integer DEFAULT 10 NOT NULL,
	"paused_until" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "check_rollup_state" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"rolled_until" timestamp (3) with time zone NOT NULL,
	"last_gaps" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"clock_doubted_ms" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "check_rollup_state_one_row" CHECK ("check_rollup_state"."singleton")
);
--> statement-breakpoint
CREATE TABLE "check_rollups" (
	"monitor_id" uuid NOT NULL,
	"region" text NOT NULL,
	"hour" timestamp (3) with time zone NOT NULL,
	"checks" integer NOT NULL,
	"failures" integer NOT NULL,
	"inconclusive" integer DEFAULT 0 NOT NULL,
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
CREATE TABLE "deliveries" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"status_change_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"event" text NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"payload" text NOT NULL,
	"test" boolean DEFAULT false NOT NULL,
	"state" text NOT NULL,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"round_attempt_count" integer DEFAULT 0 NOT NULL,
	"first_attempt_at" timestamp (3) with time zone,
	"next_attempt_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()),
	"leased_until" timestamp (3) with time zone,
	"lease_token" uuid,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"delivered_at" timestamp (3) with time zone,
	CONSTRAINT "deliveries_fan_out_key" UNIQUE("status_change_id","event","channel_id")
);
--> statement-breakpoint
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
CREATE TABLE "events" (
	"monitor_id" uuid NOT NULL,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"id" uuid NOT NULL,
	"status" text NOT NULL,
	"latency_ms" integer NOT NULL,
	"status_code" integer,
	"error_reason" text,
	"error_detail" text,
	"inconclusive" boolean DEFAULT false NOT NULL,
	"sealed_response" text,
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
CREATE TABLE "idempotency_keys" (
	"account_id" uuid NOT NULL,
	"key" text NOT NULL,
	"request_hash" text NOT NULL,
	"answer" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "idempotency_keys_account_id_key_pk" PRIMARY KEY("account_id","key")
);
--> statement-breakpoint
CREATE TABLE "incident_notes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"incident_id" uuid NOT NULL,
	"author_id" uuid NOT NULL,
	"author_name" text NOT NULL,
	"text" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"edited_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "incidents" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"opened_at" timestamp (3) with time zone NOT NULL,
	"resolved_at" timestamp (3) with time zone,
	"cause" text,
	"error_detail" text,
	"region" text NOT NULL,
	"acknowledged_at" timestamp (3) with time zone,
	"acknowledged_by_id" uuid,
	"acknowledged_by_name" text,
	"activity_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "maintenance_occurrences" (
	"window_id" uuid NOT NULL,
	"starts_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	"outcome" text NOT NULL,
	CONSTRAINT "maintenance_occurrences_window_id_starts_at_pk" PRIMARY KEY("window_id","starts_at")
);
--> statement-breakpoint
CREATE TABLE "maintenance_window_monitors" (
	"window_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"listed" boolean DEFAULT true NOT NULL,
	"matched" boolean DEFAULT false NOT NULL,
	CONSTRAINT "maintenance_window_monitors_window_id_monitor_id_pk" PRIMARY KEY("window_id","monitor_id")
);
--> statement-breakpoint
CREATE TABLE "maintenance_windows" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"name" text NOT NULL,
	"all_monitors" boolean DEFAULT false NOT NULL,
	"selector" jsonb,
	"sources" text[],
	"starts_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	"rrule" text,
	"time_zone" text DEFAULT 'UTC' NOT NULL,
	"state" text DEFAULT 'scheduled' NOT NULL,
	"occurrence_starts_at" timestamp (3) with time zone,
	"occurrence_ends_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "monitor_regions" (
	"monitor_id" uuid NOT NULL,
	"region" text NOT NULL,
	"scheduled_revision" integer,
	"since" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"consecutive_failures" integer DEFAULT 0 NOT NULL,
	"recovery_passes" integer,
	"last_result_at" timestamp (3) with time zone,
	"last_checked_at" timestamp (3) with time zone,
	"last_latency_ms" integer,
	"last_error_reason" text,
	"last_error_detail" text,
	"certificate_expires_at" timestamp (3) with time zone,
	"recent_slots" bigint[] DEFAULT '{}' NOT NULL,
	"up_checks" bigint DEFAULT 0 NOT NULL,
	"down_checks" bigint DEFAULT 0 NOT NULL,
	"inconclusive_checks" bigint DEFAULT 0 NOT NULL,
	"duration_counts" bigint[] DEFAULT '{0,0,0,0,0,0,0,0}' NOT NULL,
	"duration_sum_ms" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "monitor_regions_monitor_id_region_pk" PRIMARY KEY("monitor_id","region")
) WITH (fillfactor = 70);
--> statement-breakpoint
CREATE TABLE "schedule_spans" (
	"monitor_id" uuid NOT NULL,
	"region" text NOT NULL,
	"starts_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"interval_seconds" integer NOT NULL,
	"phase_ms" integer NOT NULL,
	CONSTRAINT "schedule_spans_monitor_id_region_starts_at_pk" PRIMARY KEY("monitor_id","region","starts_at")
);
--> statement-breakpoint
CREATE TABLE "deleted_monitors" (
	"monitor_id" uuid PRIMARY KEY NOT NULL,
	"deleted_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
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
	"retry_interval_seconds" integer,
	"recovery_threshold" integer DEFAULT 1 NOT NULL,
	"regions" text[] NOT NULL,
	"runbook_url" text,
	"external_id" text,
	"source" text,
	"labels" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"probe_revision" integer DEFAULT 1 NOT NULL,
	"status" text DEFAULT 'PENDING' NOT NULL,
	"status_since" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"status_before_maintenance" text,
	"error_detail" text,
	"incident_count" bigint DEFAULT 0 NOT NULL,
	"last_checked_at" timestamp (3) with time zone,
	"last_timestamp" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
) WITH (fillfactor = 70);
--> statement-breakpoint
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
CREATE TABLE "status_changes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"monitor_id" uuid NOT NULL,
	"from_status" text NOT NULL,
	"to_status" text NOT NULL,
	"region" text NOT NULL,
	"error_detail" text,
	"timestamp" timestamp (3) with time zone NOT NULL,
	"webhook_events" jsonb NOT NULL,
	"channel_ids" uuid[] NOT NULL,
	"dispatched_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "test_checks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"sealed_request" text NOT NULL,
	"not_after" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone,
	"sealed_result" text,
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
CREATE TABLE "accounts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "invitations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"token_hash" text NOT NULL,
	"role" text NOT NULL,
	"email" text,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"accepted_at" timestamp (3) with time zone,
	"created_by" uuid,
	"is_setup" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "invitations_token_hash_unique" UNIQUE("token_hash"),
	CONSTRAINT "invitations_role_known" CHECK ("invitations"."role" in ('owner', 'member'))
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"token" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ip_address" text,
	"user_agent" text,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "sessions_token_unique" UNIQUE("token")
);
--> statement-breakpoint
CREATE TABLE "user_logins" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"provider_id" text NOT NULL,
	"subject" text NOT NULL,
	"password_hash" text,
	"access_token" text,
	"refresh_token" text,
	"id_token" text,
	"access_token_expires_at" timestamp (3) with time zone,
	"refresh_token_expires_at" timestamp (3) with time zone,
	"scope" text,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "user_logins_subject_key" UNIQUE("provider_id","subject")
);
--> statement-breakpoint
CREATE TABLE "user_tombstones" (
	"account_id" uuid NOT NULL,
	"email" text NOT NULL,
	"deleted_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "user_tombstones_account_id_email_pk" PRIMARY KEY("account_id","email")
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"account_id" uuid NOT NULL,
	"role" text NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"email_verified" boolean DEFAULT false NOT NULL,
	"image" text,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "users_role_known" CHECK ("users"."role" in ('owner', 'member'))
);
--> statement-breakpoint
CREATE TABLE "verifications" (
	"id" uuid PRIMARY KEY NOT NULL,
	"identifier" text NOT NULL,
	"value" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_clocks" ADD CONSTRAINT "audit_clocks_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_monitors" ADD CONSTRAINT "channel_monitors_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channel_monitors" ADD CONSTRAINT "channel_monitors_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "channels" ADD CONSTRAINT "channels_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_delivery_id_deliveries_id_fk" FOREIGN KEY ("delivery_id") REFERENCES "public"."deliveries"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_channel_id_channels_id_fk" FOREIGN KEY ("channel_id") REFERENCES "public"."channels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD CONSTRAINT "idempotency_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "incident_notes" ADD CONSTRAINT "incident_notes_incident_id_incidents_id_fk" FOREIGN KEY ("incident_id") REFERENCES "public"."incidents"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "incidents" ADD CONSTRAINT "incidents_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "maintenance_occurrences" ADD CONSTRAINT "maintenance_occurrences_window_id_maintenance_windows_id_fk" FOREIGN KEY ("window_id") REFERENCES "public"."maintenance_windows"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "maintenance_window_monitors" ADD CONSTRAINT "maintenance_window_monitors_window_id_maintenance_windows_id_fk" FOREIGN KEY ("window_id") REFERENCES "public"."maintenance_windows"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "maintenance_window_monitors" ADD CONSTRAINT "maintenance_window_monitors_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "maintenance_windows" ADD CONSTRAINT "maintenance_windows_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "monitor_regions" ADD CONSTRAINT "monitor_regions_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "schedule_spans" ADD CONSTRAINT "schedule_spans_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "monitors" ADD CONSTRAINT "monitors_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "region_canaries" ADD CONSTRAINT "region_canaries_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "region_canaries" ADD CONSTRAINT "region_canaries_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "region_isolations" ADD CONSTRAINT "region_isolations_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "status_changes" ADD CONSTRAINT "status_changes_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "test_checks" ADD CONSTRAINT "test_checks_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "triggers" ADD CONSTRAINT "triggers_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_logins" ADD CONSTRAINT "user_logins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_tombstones" ADD CONSTRAINT "user_tombstones_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_account_idx" ON "api_keys" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "audit_log_account_idx" ON "audit_log" USING btree ("account_id","timestamp");--> statement-breakpoint
CREATE INDEX "audit_log_target_idx" ON "audit_log" USING btree ("account_id",("target" ->> 'id'),"timestamp");--> statement-breakpoint
CREATE INDEX "audit_log_timestamp_idx" ON "audit_log" USING brin ("timestamp");--> statement-breakpoint
CREATE INDEX "channel_monitors_channel_idx" ON "channel_monitors" USING btree ("channel_id");--> statement-breakpoint
CREATE INDEX "channels_account_idx" ON "channels" USING btree ("account_id","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "channels_external_id_key" ON "channels" USING btree ("account_id","external_id") WHERE "channels"."external_id" is not null and "channels"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "deliveries_pending_idx" ON "deliveries" USING btree ((case when "deliveries".state = 'pending' then "deliveries".channel_id end),"next_attempt_at","id") WHERE (case when "deliveries".state = 'pending' then "deliveries".channel_id end) is not null;--> statement-breakpoint
CREATE INDEX "deliveries_repeated_due_idx" ON "deliveries" USING btree ((case when "deliveries".state = 'pending' and "deliveries".round_attempt_count > 0 and not "deliveries".test then "deliveries".channel_id end),"next_attempt_at","id") WHERE (case when "deliveries".state = 'pending' and "deliveries".round_attempt_count > 0 and not "deliveries".test then "deliveries".channel_id end) is not null;--> statement-breakpoint
CREATE INDEX "deliveries_test_due_idx" ON "deliveries" USING btree ((case when "deliveries".state = 'pending' and "deliveries".test then "deliveries".channel_id end),"next_attempt_at","id") WHERE (case when "deliveries".state = 'pending' and "deliveries".test then "deliveries".channel_id end) is not null;--> statement-breakpoint
CREATE INDEX "deliveries_unattempted_idx" ON "deliveries" USING btree ((case when "deliveries".state = 'pending' and "deliveries".round_attempt_count = 0 and not "deliveries".test then "deliveries".channel_id end),"monitor_id","timestamp") WHERE (case when "deliveries".state = 'pending' and "deliveries".round_attempt_count = 0 and not "deliveries".test then "deliveries".channel_id end) is not null;--> statement-breakpoint
CREATE INDEX "deliveries_lease_idx" ON "deliveries" USING btree ((case when "deliveries".leased_until is not null then "deliveries".channel_id end)) WHERE (case when "deliveries".leased_until is not null then "deliveries".channel_id end) is not null;--> statement-breakpoint
CREATE INDEX "deliveries_channel_idx" ON "deliveries" USING btree ("channel_id","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "deliveries_channel_state_idx" ON "deliveries" USING btree ("channel_id","state","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "deliveries_finished_idx" ON "deliveries" USING btree ("created_at") WHERE "deliveries"."state" <> 'pending';--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_idx" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "incident_notes_incident_idx" ON "incident_notes" USING btree ("incident_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "incidents_one_open_key" ON "incidents" USING btree ("monitor_id") WHERE "incidents"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "incidents_resolved_idx" ON "incidents" USING btree ("resolved_at") WHERE "incidents"."resolved_at" is not null;--> statement-breakpoint
CREATE INDEX "incidents_account_idx" ON "incidents" USING btree ("account_id","opened_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "incidents_monitor_idx" ON "incidents" USING btree ("monitor_id","opened_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "incidents_activity_idx" ON "incidents" USING btree ("account_id","activity_at") WHERE "incidents"."activity_at" is not null;--> statement-breakpoint
CREATE INDEX "maintenance_window_monitors_monitor_idx" ON "maintenance_window_monitors" USING btree ("monitor_id");--> statement-breakpoint
CREATE INDEX "maintenance_windows_account_idx" ON "maintenance_windows" USING btree ("account_id","starts_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "maintenance_windows_due_idx" ON "maintenance_windows" USING btree ("occurrence_starts_at","occurrence_ends_at") WHERE "maintenance_windows"."state" <> 'ended';--> statement-breakpoint
CREATE INDEX "maintenance_windows_account_due_idx" ON "maintenance_windows" USING btree ("account_id","occurrence_starts_at","occurrence_ends_at") WHERE "maintenance_windows"."state" <> 'ended';--> statement-breakpoint
CREATE INDEX "monitor_regions_region_idx" ON "monitor_regions" USING btree ("region");--> statement-breakpoint
CREATE INDEX "monitor_regions_unscheduled_idx" ON "monitor_regions" USING btree ("region","monitor_id") WHERE "monitor_regions"."scheduled_revision" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "schedule_spans_one_running_key" ON "schedule_spans" USING btree ("monitor_id","region") WHERE "schedule_spans"."ends_at" is null;--> statement-breakpoint
CREATE INDEX "schedule_spans_wave_idx" ON "schedule_spans" USING btree ("region","interval_seconds","phase_ms","monitor_id") WHERE "schedule_spans"."ends_at" is null;--> statement-breakpoint
CREATE INDEX "monitors_account_idx" ON "monitors" USING btree ("account_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "monitors_source_idx" ON "monitors" USING btree ("account_id","source") WHERE "monitors"."source" is not null;--> statement-breakpoint
CREATE INDEX "monitors_maintenance_idx" ON "monitors" USING btree ("id") WHERE "monitors"."status" = 'MAINTENANCE';--> statement-breakpoint
CREATE UNIQUE INDEX "monitors_external_id_key" ON "monitors" USING btree ("account_id","external_id") WHERE "monitors"."external_id" is not null;--> statement-breakpoint
CREATE INDEX "region_canaries_monitor_idx" ON "region_canaries" USING btree ("monitor_id");--> statement-breakpoint
CREATE INDEX "status_changes_undispatched_idx" ON "status_changes" USING btree ((case when "status_changes".dispatched_at is null then "status_changes".monitor_id end),"timestamp") WHERE (case when "status_changes".dispatched_at is null then "status_changes".monitor_id end) is not null;--> statement-breakpoint
CREATE INDEX "status_changes_dispatched_idx" ON "status_changes" USING btree ("dispatched_at") WHERE "status_changes"."dispatched_at" is not null;--> statement-breakpoint
CREATE INDEX "status_changes_expiry_idx" ON "status_changes" USING btree ("dispatched_at") WHERE "status_changes"."dispatched_at" is not null and not ("status_changes"."from_status" = 'MAINTENANCE' or "status_changes"."to_status" = 'MAINTENANCE');--> statement-breakpoint
CREATE INDEX "status_changes_monitor_idx" ON "status_changes" USING btree ("monitor_id","timestamp" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "test_checks_account_idx" ON "test_checks" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "test_checks_created_idx" ON "test_checks" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "triggers_monitor_idx" ON "triggers" USING btree ("monitor_id");--> statement-breakpoint
CREATE INDEX "triggers_created_idx" ON "triggers" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "invitations_account_idx" ON "invitations" USING btree ("account_id","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "invitations_email_idx" ON "invitations" USING btree ("email");--> statement-breakpoint
CREATE INDEX "sessions_user_idx" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expires_idx" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "user_logins_user_provider_key" ON "user_logins" USING btree ("user_id","provider_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_key" ON "users" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "users_account_idx" ON "users" USING btree ("account_id","created_at");--> statement-breakpoint
CREATE INDEX "verifications_identifier_idx" ON "verifications" USING btree ("identifier");--> statement-breakpoint
CREATE INDEX "verifications_expires_idx" ON "verifications" USING btree ("expires_at");--> statement-breakpoint
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
