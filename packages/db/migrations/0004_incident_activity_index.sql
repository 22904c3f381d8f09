CREATE INDEX CONCURRENTLY "incidents_activity_idx" ON "incidents" USING btree ("account_id","activity_at") WHERE "incidents"."activity_at" is not null;
