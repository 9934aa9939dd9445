ALTER TABLE "workspaces" ADD COLUMN "locale" text;--> statement-breakpoint
ALTER TABLE "contacts" ADD COLUMN "locale" text;--> statement-breakpoint
ALTER TABLE "lists" ADD COLUMN "locale" text;--> statement-breakpoint
ALTER TABLE "forms" ADD COLUMN "locale" text;