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
ALTER TABLE "test_checks" ADD CONSTRAINT "test_checks_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "test_checks_account_idx" ON "test_checks" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "test_checks_created_idx" ON "test_checks" USING btree ("created_at");