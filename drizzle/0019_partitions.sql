-- Events and deliveries become partitioned by their ids, which begin with a time. What is there stays as it is: it becomes
-- the one partition of all ids, which takes no look at its rows and a moment for any number of them. `migrate` and the
-- worker cut it where the weeks begin: see packages/core/src/partitions.ts.
ALTER TABLE "events" RENAME TO "events_past";--> statement-breakpoint
ALTER TABLE "events_past" RENAME CONSTRAINT "events_workspace_id_id_pk" TO "events_past_workspace_id_id_pk";--> statement-breakpoint
ALTER INDEX "events_created_index" RENAME TO "events_past_created_index";--> statement-breakpoint
ALTER INDEX "events_contact_index" RENAME TO "events_past_contact_index";--> statement-breakpoint
ALTER INDEX "events_feed_index" RENAME TO "events_past_feed_index";--> statement-breakpoint
CREATE TABLE "events" (LIKE "events_past" INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE ("id");--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_workspace_id_id_pk" PRIMARY KEY ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "events_created_index" ON "events" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "events_contact_index" ON "events" USING btree ("workspace_id","contact_id","created_at","id") WHERE "contact_id" is not null;--> statement-breakpoint
CREATE INDEX "events_feed_index" ON "events" USING btree ("workspace_id","transaction_id","id","type");--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_workspace_id_workspaces_id_fk" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE cascade;--> statement-breakpoint
ALTER TABLE "events" ATTACH PARTITION "events_past" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);--> statement-breakpoint
ALTER TABLE "deliveries" RENAME TO "deliveries_past";--> statement-breakpoint
ALTER TABLE "deliveries_past" RENAME CONSTRAINT "deliveries_workspace_id_id_pk" TO "deliveries_past_workspace_id_id_pk";--> statement-breakpoint
ALTER INDEX "deliveries_event_index" RENAME TO "deliveries_past_event_index";--> statement-breakpoint
ALTER INDEX "deliveries_worker_index" RENAME TO "deliveries_past_worker_index";--> statement-breakpoint
ALTER INDEX "deliveries_webhook_index" RENAME TO "deliveries_past_webhook_index";--> statement-breakpoint
CREATE TABLE "deliveries" (LIKE "deliveries_past" INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE ("id");--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_workspace_id_id_pk" PRIMARY KEY ("workspace_id","id");--> statement-breakpoint
CREATE INDEX "deliveries_event_index" ON "deliveries" USING btree ("workspace_id","event_id");--> statement-breakpoint
CREATE INDEX "deliveries_worker_index" ON "deliveries" USING btree ("worker_id") WHERE "status" = 'SENDING';--> statement-breakpoint
CREATE INDEX "deliveries_webhook_index" ON "deliveries" USING btree ("workspace_id","webhook_id","created_at","id","event_type","status");--> statement-breakpoint
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_webhook_fk" FOREIGN KEY ("workspace_id","webhook_id") REFERENCES "webhooks"("workspace_id","id") ON DELETE cascade;--> statement-breakpoint
ALTER TABLE "deliveries" ATTACH PARTITION "deliveries_past" FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
