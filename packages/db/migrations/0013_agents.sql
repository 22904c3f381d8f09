CREATE TABLE "agent_connections" (
	"id" uuid PRIMARY KEY NOT NULL,
	"gateway_id" text NOT NULL,
	"token_id" uuid NOT NULL,
	"region" text NOT NULL,
	"name" text NOT NULL,
	"version" text NOT NULL,
	"connected_since" timestamp (3) with time zone NOT NULL,
	"in_flight" integer NOT NULL,
	"renewed_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "agent_regions" (
	"code" text PRIMARY KEY NOT NULL,
	"account_id" uuid,
	"name" text,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"last_connected_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "agent_tokens" (
	"id" uuid PRIMARY KEY NOT NULL,
	"region" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "agent_tokens_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
ALTER TABLE "agent_regions" ADD CONSTRAINT "agent_regions_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "agent_tokens" ADD CONSTRAINT "agent_tokens_region_agent_regions_code_fk" FOREIGN KEY ("region") REFERENCES "public"."agent_regions"("code") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "agent_regions_account_idx" ON "agent_regions" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "agent_tokens_region_idx" ON "agent_tokens" USING btree ("region");