ALTER TABLE "monitors" ADD COLUMN "enabled" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "follow_redirects" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "ip_family" integer;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "connect_to" text;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "tls" jsonb;--> statement-breakpoint
ALTER TABLE "monitors" ADD COLUMN "sealed_tls_key" text;