CREATE TABLE "silences" (
	"monitor_id" uuid NOT NULL,
	"starts_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "silences_monitor_id_starts_at_pk" PRIMARY KEY("monitor_id","starts_at")
);
