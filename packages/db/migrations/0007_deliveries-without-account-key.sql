LOCK TABLE "deliveries" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
LOCK TABLE "accounts" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_account_id_accounts_id_fk";
