CREATE TABLE "check_days" (
	"monitor_id" uuid NOT NULL,
	"day" timestamp (3) with time zone NOT NULL,
	"checks" integer NOT NULL,
	"failures" integer NOT NULL,
	"gaps" integer NOT NULL,
	CONSTRAINT "check_days_monitor_id_day_pk" PRIMARY KEY("monitor_id","day")
) PARTITION BY RANGE ("day");
--> statement-breakpoint
ALTER TABLE "check_rollup_state" ADD COLUMN "summed_until" timestamp (3) with time zone;