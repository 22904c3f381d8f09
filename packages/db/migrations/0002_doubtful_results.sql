ALTER TABLE "monitor_regions" ADD COLUMN "doubtful" boolean DEFAULT false NOT NULL;
