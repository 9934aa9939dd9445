DROP INDEX "deliveries_webhook_index";--> statement-breakpoint
DROP INDEX "outbox_waiting_index";--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "transaction_id" "xid8" DEFAULT pg_current_xact_id() NOT NULL;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "lane" uuid;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "former_secrets" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "deleted_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "events_feed_index" ON "events" USING btree ("workspace_id","transaction_id","id","type");--> statement-breakpoint
CREATE INDEX "outbox_lane_index" ON "outbox" USING btree ("lane","created_at","id") WHERE "outbox"."relayed_epoch" is null and "outbox"."lane" is not null;--> statement-breakpoint
CREATE INDEX "outbox_busy_index" ON "outbox" USING btree ("workspace_id","lane") WHERE "outbox"."relayed_epoch" is not null and "outbox"."lane" is not null;--> statement-breakpoint
CREATE INDEX "webhooks_deleted_index" ON "webhooks" USING btree ("deleted_at") WHERE "webhooks"."deleted_at" is not null;--> statement-breakpoint
CREATE INDEX "deliveries_webhook_index" ON "deliveries" USING btree ("workspace_id","webhook_id","created_at","id","event_type","status");--> statement-breakpoint
CREATE INDEX "outbox_waiting_index" ON "outbox" USING btree ("created_at") WHERE "outbox"."relayed_epoch" is null and "outbox"."lane" is null;