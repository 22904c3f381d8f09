ALTER TABLE "idempotency_keys" ADD COLUMN "resource_id" uuid;--> statement-breakpoint
ALTER TABLE "maintenance_windows" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "maintenance_windows" ADD COLUMN "source" text;