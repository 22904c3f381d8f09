LOCK TABLE "deliveries" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
LOCK TABLE "channels" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_channel_id_channels_id_fk";
