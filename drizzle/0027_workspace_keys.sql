ALTER TABLE "lists" DROP CONSTRAINT "lists_id_key";--> statement-breakpoint
ALTER TABLE "forms" DROP CONSTRAINT "forms_id_key";--> statement-breakpoint
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_pkey";--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_workspace_id_id_pk" PRIMARY KEY("workspace_id","id");--> statement-breakpoint
CREATE INDEX "lists_id_index" ON "lists" USING btree ("id");--> statement-breakpoint
CREATE INDEX "forms_id_index" ON "forms" USING btree ("id");