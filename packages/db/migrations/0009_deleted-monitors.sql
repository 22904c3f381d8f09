-- Dropping the constraint locks both tables. Services lock monitors first, so this does too, and holds nothing while it waits for that lock.
LOCK TABLE "monitors" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
LOCK TABLE "incidents" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "incidents" DROP CONSTRAINT "incidents_monitor_id_monitors_id_fk";
