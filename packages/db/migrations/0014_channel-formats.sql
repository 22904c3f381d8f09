ALTER TABLE "channels" ADD COLUMN "format" text DEFAULT 'standard' NOT NULL;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "template" text;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "sealed_headers" jsonb;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "sealed_routing_key" text;--> statement-breakpoint
ALTER TABLE "channels" ADD COLUMN "remind_after" integer;--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "sealed_routing_key" text;--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "format_error" text;--> statement-breakpoint
ALTER TABLE "deliveries" ADD COLUMN "reminder" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "incidents" ADD COLUMN "labels" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
CREATE INDEX "channels_reminding_idx" ON "channels" USING btree ("account_id") WHERE "channels"."remind_after" is not null;