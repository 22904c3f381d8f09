CREATE TABLE "user_tombstones" (
	"account_id" uuid NOT NULL,
	"email" text NOT NULL,
	"deleted_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "user_tombstones_account_id_email_pk" PRIMARY KEY("account_id","email")
);
--> statement-breakpoint
DROP INDEX "deliveries_first_attempt_idx";--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "last_failed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "deleted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "user_tombstones" ADD CONSTRAINT "user_tombstones_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deliveries_repeated_idx" ON "deliveries" USING btree ("channel_id","next_attempt_at") WHERE case when "deliveries"."state" = 'pending' then "deliveries"."round_attempt_count" > 0 or "deliveries"."test" end;--> statement-breakpoint
CREATE INDEX "deliveries_channel_state_idx" ON "deliveries" USING btree ("channel_id","state","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "deliveries_finished_idx" ON "deliveries" USING btree ("created_at") WHERE "deliveries"."state" <> 'pending';--> statement-breakpoint
CREATE INDEX "incidents_resolved_idx" ON "incidents" USING btree ("resolved_at") WHERE "incidents"."resolved_at" is not null;--> statement-breakpoint
CREATE INDEX "status_changes_dispatched_idx" ON "status_changes" USING btree ("dispatched_at") WHERE "status_changes"."dispatched_at" is not null;--> statement-breakpoint
CREATE INDEX "deliveries_first_attempt_idx" ON "deliveries" USING btree ("channel_id","monitor_id","timestamp") WHERE case when "deliveries"."state" = 'pending' and not "deliveries"."test" then "deliveries"."round_attempt_count" end = 0;