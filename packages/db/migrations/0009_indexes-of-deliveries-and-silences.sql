CREATE INDEX CONCURRENTLY "silences_ends_idx" ON "silences" USING brin ("ends_at");--> statement-breakpoint
CREATE INDEX CONCURRENTLY "deliveries_channel_newest_idx" ON "deliveries" USING btree ("channel_id","state","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "deliveries_channel_idx";--> statement-breakpoint
DROP INDEX CONCURRENTLY IF EXISTS "deliveries_channel_state_idx";
