DROP INDEX "user_logins_user_idx";--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "created_by" uuid;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "created_by_name" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "created_by_email" text;--> statement-breakpoint
-- Of several logins of one user with one provider, the first stays: the later ones came with the user's address, and another subject.
-- The migration logs those it deletes; docs/runbooks/upgrade.md finds them before.
DELETE FROM "user_logins" "later" USING "user_logins" "earlier" WHERE "later"."user_id" = "earlier"."user_id" AND "later"."provider_id" = "earlier"."provider_id" AND ("later"."created_at", "later"."id") > ("earlier"."created_at", "earlier"."id") RETURNING "later"."user_id", "later"."provider_id", "later"."subject";--> statement-breakpoint
CREATE UNIQUE INDEX "user_logins_user_provider_key" ON "user_logins" USING btree ("user_id","provider_id");