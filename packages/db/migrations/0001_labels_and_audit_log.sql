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
ALTER TABLE "api_keys" ADD COLUMN "sources" text[];--> statement-breakpoint
ALTER TABLE "channel_monitors" ADD COLUMN "listed" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "channel_monitors" ADD COLUMN "matched" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "selector" jsonb;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "events" text[];--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "source" text;--> statement-breakpoint
ALTER TABLE "maintenance_window_monitors" ADD COLUMN "listed" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "maintenance_window_monitors" ADD COLUMN "matched" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "maintenance_windows" ADD COLUMN "all_monitors" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "maintenance_windows" ADD COLUMN "selector" jsonb;--> statement-breakpoint
ALTER TABLE "maintenance_windows" ADD COLUMN "sources" text[];--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "labels" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "audit_clocks" ADD CONSTRAINT "audit_clocks_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_log_account_idx" ON "audit_log" USING btree ("account_id","timestamp");--> statement-breakpoint
CREATE INDEX "audit_log_target_idx" ON "audit_log" USING btree ("account_id",("target" ->> 'id'),"timestamp");--> statement-breakpoint
CREATE INDEX "audit_log_timestamp_idx" ON "audit_log" USING brin ("timestamp");--> statement-breakpoint
CREATE UNIQUE INDEX "channels_external_id_key" ON "channels" USING btree ("account_id","external_id") WHERE "channels"."external_id" is not null and "channels"."deleted_at" is null;