ALTER TABLE "incidents" DROP CONSTRAINT "incidents_monitor_id_monitors_id_fk";
