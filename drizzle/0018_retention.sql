-- First, and in the order in which requests take them, so that none waits for this in turn.
LOCK TABLE "workspaces", "webhooks", "events", "deliveries" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_event_fk";
