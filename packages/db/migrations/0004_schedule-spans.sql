CREATE TABLE "schedule_spans" (
	"monitor_id" uuid NOT NULL,
	"region" text NOT NULL,
	"starts_at" timestamp (3) with time zone DEFAULT date_trunc('milliseconds', clock_timestamp()) NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"interval_seconds" integer NOT NULL,
	"phase_ms" integer NOT NULL,
	CONSTRAINT "schedule_spans_monitor_id_region_starts_at_pk" PRIMARY KEY("monitor_id","region","starts_at")
);
--> statement-breakpoint
ALTER TABLE "schedule_spans" ADD CONSTRAINT "schedule_spans_monitor_id_monitors_id_fk" FOREIGN KEY ("monitor_id") REFERENCES "public"."monitors"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "schedule_spans_one_running_key" ON "schedule_spans" USING btree ("monitor_id","region") WHERE "schedule_spans"."ends_at" is null;