CREATE TABLE "memberships" (
	"account_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"role" text NOT NULL,
	"is_from_group" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	CONSTRAINT "memberships_account_id_user_id_pk" PRIMARY KEY("account_id","user_id"),
	CONSTRAINT "memberships_role_known" CHECK ("memberships"."role" in ('owner', 'member', 'viewer'))
);
--> statement-breakpoint
ALTER TABLE "invitations" DROP CONSTRAINT "invitations_role_known";--> statement-breakpoint
ALTER TABLE "users" DROP CONSTRAINT "users_role_known";--> statement-breakpoint
ALTER TABLE "status_changes" DROP CONSTRAINT "status_changes_account_id_accounts_id_fk";--> statement-breakpoint
ALTER TABLE "users" DROP CONSTRAINT "users_account_id_accounts_id_fk";
--> statement-breakpoint
DROP INDEX "users_account_idx";--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "account_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "role" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "slug" text DEFAULT 'account-' || substr(md5(random()::text), 1, 12) NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "quotas" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "groups" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "deleted_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "is_operator" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "memberships_user_idx" ON "memberships" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "accounts_slug_key" ON "accounts" USING btree ("slug") WHERE "accounts"."deleted_at" is null;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_role_known" CHECK ("invitations"."role" in ('owner', 'member', 'viewer'));--> statement-breakpoint
INSERT INTO "memberships" ("account_id", "user_id", "role", "created_at") SELECT "account_id", "id", "role", "created_at" FROM "users";--> statement-breakpoint
UPDATE "users" SET "is_operator" = true WHERE "id" = (SELECT "id" FROM "users" WHERE "role" = 'owner' ORDER BY "created_at", "id" LIMIT 1);--> statement-breakpoint
UPDATE "accounts" SET "slug" = 'default' WHERE "id" = (SELECT "id" FROM "accounts" ORDER BY "created_at", "id" LIMIT 1);
