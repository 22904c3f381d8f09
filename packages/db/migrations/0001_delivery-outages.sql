CREATE TABLE "delivery_outages" (
	"started_at" timestamp (3) with time zone PRIMARY KEY NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE UNIQUE INDEX "delivery_outages_open_key" ON "delivery_outages" USING btree (("ended_at" is null)) WHERE "delivery_outages"."ended_at" is null;
